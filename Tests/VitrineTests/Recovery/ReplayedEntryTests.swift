import Testing

@testable import Vitrine

/// The entries of replayed puts, at their current places.
@Suite struct ReplayedEntryTests {
  private let content = ContentHash(bits: 1 << 60)

  private func put(_ offset: Int, payload: Location) -> Change.Put {
    Change.Put(
      hash: KeyHash(bits: 0x1234_5678_9ABC_0001), location: Location(slot: 1, offset: offset), headUnits: 1,
      payloadUnits: 2,
      logicalByteCount: 90, content: content, contentLocation: payload, displaced: nil)
  }

  private func move(_ from: Location, _ to: Location) -> Change.Move {
    Change.Move(from: from, to: to, key: nil, content: content, headUnits: 1, copiedHeadUnits: 1, payloadUnits: 2)
  }

  @Test func aPayloadIsWhereItWasMovedToSinceThePut() {
    let (first, second, third) = (
      Location(slot: 2, offset: 128), Location(slot: 3, offset: 256), Location(slot: 4, offset: 512)
    )
    var entries = ReplayedEntries()
    // The move of another payload, which had the place before.
    entries.note(move(first, third))
    entries.note(put(64, payload: first))
    #expect(entries.entry(at: Location(slot: 1, offset: 64))?.contentLocation == first)
    entries.note(move(first, second))
    #expect(entries.entry(at: Location(slot: 1, offset: 64))?.contentLocation == second)
    entries.note(move(second, third))
    #expect(entries.entry(at: Location(slot: 1, offset: 64))?.contentLocation == third)
    #expect(entries.entry(at: first) == nil)
  }

  /// A record moved to the place has another size than the one that was put there in the slot's earlier segment.
  @Test func anEntryOfTheSlotsEarlierSegmentIsForgotten() {
    let (place, other) = (Location(slot: 1, offset: 64), Location(slot: 1, offset: 640))
    var entries = ReplayedEntries()
    entries.note(put(64, payload: place))
    #expect(entries.entry(at: place) != nil && entries.leastOffsets() == [1: 64])
    entries.noteSegment(slot: 1)
    #expect(entries.entry(at: place) == nil && entries.leastOffsets() == [:])
    entries.note(put(640, payload: other))
    #expect(entries.entry(at: other) != nil && entries.entry(at: place) == nil)
    #expect(entries.leastOffsets() == [1: 640])
  }
}
