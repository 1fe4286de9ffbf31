/// The records that readable frames of the log removed, and the records from which compaction had copied those. For
/// a rebuild: the segments themselves do not tell which records were removed.
///
/// A removal counts only for records of its own or an earlier opening, since frames behind a cut are read too. The
/// log names a segment by its slot. If the segment was made after the log's beginning, the log tells its number. The
/// number of an older one is unknown. If the log says that such a segment was retired, its removals do not count: its
/// file is gone, and another old segment may have a live record of the same key at the same offset.
///
/// Only the newest unbroken part of the log counts. Behind a file that is missing or was cut, slots may have other
/// segments.
struct LoggedRemovals {
  private enum Container: Hashable {
    case segment(UInt64)
    case oldSegment(slot: Int)
  }

  private struct Removed: Hashable {
    let key: KeyHash
    let segment: Container
    let offset: Int
  }

  private struct OldPlace: Hashable {
    let key: KeyHash
    let offset: Int
  }

  /// Removed records, by the newest opening that removed them.
  private var gone: [Removed: UInt64] = [:]
  /// The content that was put last at the place of a removed record.
  private var entered: [Removed: ContentHash] = [:]
  private var origins: [Removed: Set<Removed>] = [:]
  private var ids: [Int: UInt64] = [:]
  private var made: Set<UInt64> = []
  /// The slots of old segments with a removed record of the key at the offset.
  private var oldSlots: [OldPlace: Set<Int>] = [:]
  private var retiredSlots: Set<Int> = []

  init(_ scan: WALScan) {
    var end = (use: UInt64(0), offset: 0)
    for file in scan.files.sorted(by: { $0.header?.use ?? 0 < $1.header?.use ?? 0 }) {
      guard let header = file.header else { continue }
      if header.predecessor != end.use || header.predecessorCut > end.offset { self = LoggedRemovals([]) }
      end = (header.use, WALFileHeader.frameStart)
      LogWindow(file).forEachFrame(from: WALFileHeader.frameStart, seed: header.seed) { frame, bytes, offset in
        _ = Frame.forEachChange(bytes, at: offset, frame) { change in
          note(change, opening: Sequence.opening(frame.sequence))
          return true
        }
        end.offset = max(end.offset, offset + frame.byteCount)
      }
    }
    follow()
  }

  /// Reads changes in log order, each with its opening.
  init(_ changes: [(change: Change, opening: UInt64)]) {
    for (change, opening) in changes { note(change, opening: opening) }
    follow()
  }

  private mutating func note(_ change: Change, opening: UInt64) {
    if case .segmentMade(let slot, let id, _) = change {
      ids[slot] = id
      made.insert(id)
    }
    if case .segmentRetired(let slot) = change, ids[slot] == nil { retiredSlots.insert(slot) }
    if let key = change.key, let displaced = change.displaced {
      let record = removed(key, displaced.location)
      gone[record] = max(gone[record] ?? 0, opening)
      noteOld(record)
      entered[record] = nil
    }
    if case .put(let put) = change { entered[removed(put.hash, put.location)] = put.content }
    if case .moved(let move) = change, let key = move.key {
      origins[removed(key, move.to), default: []].insert(removed(key, move.from))
    }
  }

  private func removed(_ key: KeyHash, _ location: Location) -> Removed {
    Removed(
      key: key.stored, segment: ids[location.slot].map { .segment($0) } ?? .oldSegment(slot: location.slot),
      offset: location.offset)
  }

  private mutating func noteOld(_ record: Removed) {
    guard case .oldSegment(let slot) = record.segment else { return }
    oldSlots[OldPlace(key: record.key, offset: record.offset), default: []].insert(slot)
  }

  /// Also marks the originals of removed copies as removed.
  private mutating func follow() {
    var found = Array(gone)
    while let (record, opening) = found.popLast() {
      for origin in origins[record] ?? [] where gone[origin] ?? 0 < opening {
        gone[origin] = opening
        noteOld(origin)
        found.append((origin, opening))
      }
    }
  }

  /// Returns whether the record was removed. Two old segments may be confused: then the cache is smaller, never
  /// wrong. A record is not removed if the log has put the same content there since.
  func contains(
    _ key: KeyHash, segment: UInt64, offset: Int, opening: UInt64, content: ContentHash
  ) -> Bool {
    func isGone(_ container: Container) -> Bool {
      let record = Removed(key: key.stored, segment: container, offset: offset)
      return entered[record] != content && gone[record].map { $0 >= opening } ?? false
    }
    if made.contains(segment) { return isGone(.segment(segment)) }
    let slots = oldSlots[OldPlace(key: key.stored, offset: offset)] ?? []
    return slots.contains { !retiredSlots.contains($0) && isGone(.oldSegment(slot: $0)) }
  }
}
