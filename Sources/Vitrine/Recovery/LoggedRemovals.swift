/// The records that readable frames of the log removed, and the records from which compaction had copied those. A
/// rebuild needs them, because the segments do not show which records were removed.
///
/// A removal counts only for records of its own or an earlier opening, since frames behind a cut are read too. The
/// log names a segment by its slot. If the segment was made after the log's beginning, the log has its number. The
/// number of an older segment is unknown. So a removal there counts for a record at the same offset of any older
/// segment, unless the log has put that record itself.
///
/// After a file that is missing or was cut, and after a rebuild, slots may have other segments. From there on, earlier
/// frames are forgotten, except that removals from segments of known numbers still count.
///
/// A removal of all entries counts only in front of a cut. It removes the records of earlier openings, and those of its
/// own opening that the log has put before it. Other records of its own opening may have been put later, by a
/// checkpoint without a frame.
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
  /// The newest opening that removed all entries.
  private var cleared: UInt64?
  /// The slots of old segments where the log removed or put a record of the key at the offset.
  private var oldSlots: [OldPlace: Set<Int>] = [:]

  init(_ scan: WALScan) {
    var end = (use: UInt64(0), offset: 0)
    let cuts = LoggedRemovals.cuts(scan)
    for file in scan.files.sorted(by: { $0.header?.use ?? 0 < $1.header?.use ?? 0 }) {
      guard let header = file.header else { continue }
      if header.predecessor != end.use || header.predecessorCut > end.offset || header.followsRebuild { forgetSlots() }
      end = (header.use, WALFileHeader.frameStart)
      LogWindow(file).forEachFrame(from: WALFileHeader.frameStart, seed: header.seed) { frame, bytes, offset in
        _ = Frame.forEachChange(bytes, at: offset, frame) { change in
          if change != .removeAll || offset < cuts[header.use] ?? 0 {
            note(change, opening: Sequence.opening(frame.sequence))
          }
          return true
        }
        end.offset = max(end.offset, offset + frame.byteCount)
      }
    }
    follow()
  }

  /// Where each use of a file on the newest chain ends. The cut of a file whose successor is missing is unknown: 0.
  private static func cuts(_ scan: WALScan) -> [UInt64: Int] {
    var cuts: [UInt64: Int] = [:]
    var successor: WALFileHeader?
    for header in scan.files.compactMap(\.header).sorted(by: { $0.use > $1.use }) {
      if let successor, header.use > successor.predecessor { continue }
      switch successor {
      case .some(let next) where next.followsRebuild || next.followsDamage: cuts[header.use] = .max
      case .some(let next): cuts[header.use] = next.predecessor == header.use ? next.predecessorCut : 0
      case nil: cuts[header.use] = .max
      }
      successor = header
    }
    return cuts
  }

  /// Reads parts of a log in their order, each with its changes in log order and their openings. Between two parts,
  /// changes are missing.
  init(_ parts: [[(change: Change, opening: UInt64)]]) {
    for part in parts {
      forgetSlots()
      for (change, opening) in part { note(change, opening: opening) }
    }
    follow()
  }

  private mutating func note(_ change: Change, opening: UInt64) {
    if case .segmentMade(let slot, let id, _) = change {
      ids[slot] = id
      made.insert(id)
    }
    if change == .removeAll { removeAll(opening) }
    if let key = change.key, let displaced = change.displaced {
      let record = removed(key, displaced.location)
      gone[record] = max(gone[record] ?? 0, opening)
      noteOld(record)
      entered[record] = nil
    }
    if case .put(let put) = change { enter(removed(put.hash, put.location), put.content) }
    if case .moved(let move) = change, let key = move.key {
      let original = removed(key, move.from)
      let copy = removed(key, move.to)
      origins[copy, default: []].insert(original)
      let content = entered.removeValue(forKey: original)
      if let content = move.content ?? content { enter(copy, content) }
    }
  }

  private mutating func removeAll(_ opening: UInt64) {
    for record in entered.keys {
      gone[record] = max(gone[record] ?? 0, opening)
      noteOld(record)
    }
    entered = [:]
    cleared = max(cleared ?? 0, opening)
  }

  private mutating func enter(_ record: Removed, _ content: ContentHash) {
    entered[record] = content
    noteOld(record)
  }

  /// Changes are missing from here on, so each slot may have another segment.
  private mutating func forgetSlots() {
    follow()
    func isKnown(_ record: Removed) -> Bool { if case .segment = record.segment { true } else { false } }
    gone = gone.filter { isKnown($0.key) }
    entered = entered.filter { isKnown($0.key) }
    origins = [:]
    ids = [:]
    made = []
    oldSlots = [:]
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
    func record(_ container: Container) -> Removed { Removed(key: key.stored, segment: container, offset: offset) }
    func isGone(_ container: Container) -> Bool { gone[record(container)].map { $0 >= opening } ?? false }
    func isEntered(_ container: Container) -> Bool { entered[record(container)] == content }
    let slots = made.contains(segment) ? [] : oldSlots[OldPlace(key: key.stored, offset: offset)] ?? []
    if slots.contains(where: { isEntered(.oldSegment(slot: $0)) }) { return false }
    if slots.contains(where: { isGone(.oldSegment(slot: $0)) }) { return true }
    if isEntered(.segment(segment)) { return false }
    if let cleared, opening < cleared { return true }
    return isGone(.segment(segment))
  }
}
