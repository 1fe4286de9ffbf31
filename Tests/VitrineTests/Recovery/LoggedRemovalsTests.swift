import Testing

@testable import Vitrine

/// A rebuild looks up in the log which of the found records were removed.
@Suite struct LoggedRemovalsTests {
  private let key = KeyHash(bits: 0x1234_5678_9ABC_0001)
  private let one = ContentHash(bits: 1 << 60)
  private let other = ContentHash(bits: 2 << 60)

  private func displaced(_ location: Location) -> Change.Displaced {
    Change.Displaced(
      location: location, headUnits: 2, logicalByteCount: 100, content: one, contentLocation: location, payloadUnits: 2)
  }

  private func put(at location: Location, _ content: ContentHash, in place: Location? = nil) -> Change {
    .put(
      Change.Put(
        hash: key, location: location, headUnits: 2, payloadUnits: 2, logicalByteCount: 100, content: content,
        contentLocation: location, displaced: place.map(displaced)))
  }

  private func moved(_ from: Location, _ to: Location) -> Change {
    .moved(
      Change.Move(from: from, to: to, key: key, content: one, headUnits: 2, copiedHeadUnits: 2, payloadUnits: 2))
  }

  private func made(_ slot: Int, _ id: UInt64) -> Change { .segmentMade(slot: slot, id: id, byteCount: 1 << 16) }

  private func isGone(
    _ changes: [Change], segment: UInt64, offset: Int, opening: UInt64 = 5, _ content: ContentHash? = nil
  ) -> Bool {
    isGone([changes], segment: segment, offset: offset, opening: opening, content)
  }

  private func isGone(
    _ parts: [[Change]], segment: UInt64, offset: Int, opening: UInt64 = 5, _ content: ContentHash? = nil
  ) -> Bool {
    LoggedRemovals(parts.map { $0.map { ($0, 5) } })
      .contains(key, segment: segment, offset: offset, opening: opening, content: content ?? one)
  }

  @Test func onlyRemovedOrOverwrittenRecordsAreGone() {
    let place = Location(slot: 0, offset: 4096)
    let removal = [made(0, 7), put(at: place, one), .remove(key, displaced(place))]
    #expect(isGone(removal, segment: 7, offset: 4096))
    #expect(
      !isGone(removal, segment: 7, offset: 8192)
        && !isGone([made(0, 7), put(at: place, one)], segment: 7, offset: 4096))
    let next = Location(slot: 0, offset: 8192)
    let overwriting = [made(0, 7), put(at: place, one), put(at: next, other, in: place)]
    #expect(isGone(overwriting, segment: 7, offset: 4096) && !isGone(overwriting, segment: 7, offset: 8192, other))
  }

  /// The log names a slot, which one segment leaves to the next.
  @Test func theSamePlaceOfAnotherSegmentIsAnotherRecord() {
    let place = Location(slot: 0, offset: 4096)
    let changes = [
      made(0, 7), .remove(key, displaced(place)), made(0, 8), moved(Location(slot: 1, offset: 128), place),
    ]
    #expect(isGone(changes, segment: 7, offset: 4096) && !isGone(changes, segment: 8, offset: 4096))
    // The log tells only the place of a segment that is older than the log.
    #expect(isGone([.remove(key, displaced(place))], segment: 3, offset: 4096))
    #expect(!isGone([.remove(key, displaced(place)), made(0, 8)], segment: 8, offset: 4096))
  }

  @Test func recordPutAgainAtTheSamePlaceIsNotGone() {
    let place = Location(slot: 0, offset: 4096)
    let changes = [.remove(key, displaced(place)), put(at: place, other)]
    #expect(!isGone(changes, segment: 3, offset: 4096, other))
    #expect(isGone(changes, segment: 3, offset: 4096, one))
    #expect(isGone(changes + [.remove(key, displaced(place))], segment: 3, offset: 4096, other))
  }

  @Test func removedCopyRemovesItsOriginalToo() {
    let places = (0..<3).map { Location(slot: $0, offset: 4096 * ($0 + 1)) }
    let changes =
      (0..<3).map { made($0, 7 + UInt64($0)) } + [
        moved(places[0], places[1]), moved(places[1], places[2]), .remove(key, displaced(places[2])),
      ]
    for (index, place) in places.enumerated() {
      #expect(isGone(changes, segment: 7 + UInt64(index), offset: place.offset))
      #expect(!isGone(Array(changes.dropLast()), segment: 7 + UInt64(index), offset: place.offset))
    }
  }

  /// Frames behind a cut are read too, and a later opening may have used their segment numbers again.
  @Test func aRecordOfALaterOpeningWasNotRemovedByAnEarlierOne() {
    let place = Location(slot: 0, offset: 4096)
    let changes = [made(0, 7), .remove(key, displaced(place))]
    #expect(isGone(changes, segment: 7, offset: 4096, opening: 4))
    #expect(!isGone(changes, segment: 7, offset: 4096, opening: 6))
  }

  /// The removed record and the live one have the same offset in two segments that are older than the log.
  @Test func theLiveRecordOfAKeyInAnotherOldSegmentIsNotGone() {
    let (old, new) = (Location(slot: 0, offset: 4096), Location(slot: 1, offset: 4096))
    let overwriting = put(at: new, other, in: old)
    #expect(!isGone([overwriting], segment: 8, offset: 4096, other))
    #expect(isGone([overwriting], segment: 7, offset: 4096, one))
    #expect(isGone([overwriting, .remove(key, displaced(new))], segment: 8, offset: 4096, other))
    // Compaction has copied the live record into an old segment.
    let place = Location(slot: 2, offset: 8192)
    let copied = [.remove(key, displaced(Location(slot: 3, offset: 8192))), put(at: old, one), moved(old, place)]
    #expect(!isGone(copied, segment: 9, offset: 8192, one))
    #expect(isGone(copied + [.remove(key, displaced(place))], segment: 9, offset: 8192, one))
  }

  @Test func aRemovalOfAllEntriesRemovesEarlierPuts() {
    let (old, new) = (Location(slot: 0, offset: 4096), Location(slot: 1, offset: 8192))
    let clearing = [put(at: old, one), .removeAll, made(1, 8), put(at: new, other)]
    #expect(isGone(clearing, segment: 3, offset: 4096) && !isGone(clearing, segment: 8, offset: 8192, other))
    // The log tells nothing of this record. One of the same opening may have been put later, without a frame.
    #expect(isGone(clearing, segment: 3, offset: 128, opening: 4))
    #expect(!isGone(clearing, segment: 3, offset: 128) && !isGone(clearing, segment: 3, offset: 128, opening: 6))
    #expect(isGone([[made(0, 7)] + clearing, [made(2, 9)]], segment: 7, offset: 4096))
  }

  @Test func aSlotMayHaveAnotherSegmentBehindMissingChanges() {
    let place = Location(slot: 0, offset: 4096)
    let parts = [[made(0, 7), put(at: place, one)], [.remove(key, displaced(place))]]
    // The slot is that of segment 7 or of a segment that the missing changes made.
    #expect(isGone(parts, segment: 7, offset: 4096) && isGone(parts, segment: 8, offset: 4096))
    #expect(isGone([parts[0] + parts[1], [made(0, 8)]], segment: 7, offset: 4096))
    // An old segment without a number was in the slot before, so its removal tells nothing of those of later parts.
    #expect(!isGone([parts[1], [made(0, 8)]], segment: 8, offset: 4096))
    #expect(!isGone([parts[1], []], segment: 8, offset: 4096))
  }
}
