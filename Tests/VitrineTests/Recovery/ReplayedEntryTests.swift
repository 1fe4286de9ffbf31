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

  /// A replayed frame gives the slot of a retired segment to a new one.
  @Test func aSegmentMadeByAReplayedFrameHasNoEntriesOfTheRetiredOne() throws {
    let index = try LoadedIndex.empty()
    let place = Location(slot: 1, offset: 128)
    func make(_ id: UInt64) -> [Change] {
      [
        .segmentMade(slot: 1, id: id, byteCount: 1 << 16),
        .segmentOpened(slot: 1, stream: .originals, firstSequence: 0),
      ]
    }
    index.writer.isReplaying = true
    #expect(index.apply(make(1), sequence: 1))
    #expect(index.apply([.put(put(128, payload: place))], sequence: 2))
    let told = index.writer.leastReplayedOffsets()
    #expect(told == [1: 128])
    #expect(index.apply([.removeAll, .segmentSealed(slot: 1, byteCount: 1 << 16)], sequence: 3))
    #expect(index.apply([.segmentRetired(slot: 1)], sequence: 4))
    #expect(index.apply(make(2), sequence: 5))
    let toldLater = index.writer.leastReplayedOffsets()
    #expect(toldLater == [:])
    // The size of a record at that place is unknown.
    let displaced = index.writer.displaced(at: place)
    #expect(displaced.headUnits == 0)
  }
}
