/// One segment file, as the writer knows it. All mutable state is guarded by the store's commit lock; readers use
/// the ``SegmentTable``.
package final class Segment: @unchecked Sendable {
  package enum State: Sendable, Equatable {
    /// Made and empty.
    case spare
    /// Takes reservations.
    case open
    /// Takes no more.
    case sealed
    /// No record in it is live; its file is about to be unlinked.
    case retired
  }

  package let id: UInt64
  package let slot: Int
  /// Nil if the file is missing, and until recovery has opened it.
  @exclusivity(unchecked) package private(set) var storage: SegmentStorage?

  /// Whether the file exists.
  package var isAttached: Bool { storage != nil }

  /// Also nil if it cannot be opened now.
  package var file: (any File)? { try? storage?.openFile() }

  /// Throws if it cannot be opened now: a segment must not count as synced because no descriptor was left, for
  /// example.
  package func openFile() throws(SystemError) -> (any File)? { try storage?.openFile() }

  /// A missing file is an error here.
  package func requireFile() throws(SystemError) -> any File {
    guard let file = try openFile() else {
      throw SystemError(code: SystemError.missing, operation: "open", path: fileName)
    }
    return file
  }

  /// Whether zeros replace a page of its mapping: then no record may be written into it any more.
  @inline(__always)
  package var hasDamagedPages: Bool { BusErrors.haveHappened && storage?.hasDamagedPages ?? false }

  /// Held from before a sync of its file until the store has noted the result.
  package let syncLock = RawLock()
  /// Nil where the file system does not allow it. Set before the segment takes records, closed when it takes no
  /// more.
  @exclusivity(unchecked) package var window: FillWindow?
  /// The capacity of the file in bytes.
  @exclusivity(unchecked) package var byteCount: Int
  /// Bytes of disk space that the ledger counts for it.
  package var allocatedByteCount = 0
  package var stream: StreamKind
  @exclusivity(unchecked) package var state: State { didSet { if state != oldValue { keepFile() } } }
  /// The offset of the next reservation.
  @exclusivity(unchecked) package var tail: Int
  @exclusivity(unchecked) package var liveUnits = 0
  /// Live key records plus live payloads.
  @exclusivity(unchecked) package var liveCount = 0
  /// Heads that compaction copied here for a payload that other keys use, after their own keys were gone. They are
  /// dead but bound to those payloads, so no compaction gains their space. Not kept from one opening to the next.
  @exclusivity(unchecked) package var boundUnits = 0
  /// Offsets of reservations that are not filled yet.
  @exclusivity(unchecked) package var unfilled: [Int] = []
  /// Reservations that are neither committed nor abandoned yet.
  @exclusivity(unchecked) package var pendingCount = 0 {
    didSet { if state == .sealed, (pendingCount == 0) != (oldValue == 0) { keepFile() } }
  }
  /// Pending reservations that are filled over a longer time: a body in pieces or a drawing.
  package private(set) var lentCount = 0
  /// The highest mark that ``takeMark()`` has returned.
  private var passedUpTo = 0
  /// Written to since its last sync.
  @exclusivity(unchecked) package var isDirty = false { didSet { if isDirty != oldValue { keepFile() } } }
  /// A flush has taken over the sync that the segment owes, and has not synced it yet: it still counts as unsynced.
  @exclusivity(unchecked) package var isBeingFlushed = false {
    didSet { if isBeingFlushed != oldValue { keepFile() } }
  }
  /// Written to since its last sync with a record that no frame carries inline.
  @exclusivity(unchecked) package var owesSync = false
  /// The last frame that removed or moved one of its records (rule 5).
  @exclusivity(unchecked) package var lastKill: UInt64 = 0

  package init(id: UInt64, slot: Int, byteCount: Int, stream: StreamKind, state: State, tail: Int) {
    self.id = id
    self.slot = slot
    self.byteCount = byteCount
    self.stream = stream
    self.state = state
    self.tail = tail
  }

  deinit { syncLock.destroy() }

  package func attach(
    file: CachedFile, mapping: Mapping?, byteCount: Int, allocatedByteCount: Int, account: StorageAccount,
    access: FileAccess
  ) {
    storage = SegmentStorage(file: file, access: access, mapping: mapping, byteCount: byteCount, account: account)
    self.allocatedByteCount = allocatedByteCount
    keepFile()
  }

  /// A segment that takes records keeps its file open, so that they need no descriptor. Such segments are few.
  private func keepFile() {
    guard let storage, storage.access == .readWrite else { return }
    storage.keepFile(
      state == .open || state == .spare, isUnsynced: isDirty || isBeingFlushed || pendingCount > 0)
  }

  /// Returns nil if the process has no mapping left.
  package static func map(_ file: any File, byteCount: Int) throws(SystemError) -> Mapping? {
    do throws(SystemError) {
      return try file.map(byteCount: byteCount, writable: false)
    } catch {
      guard error.code == SystemError.noMemory else { throw error }
      return nil
    }
  }

  /// The readable bytes of its file.
  package var readableByteCount: Int { storage?.byteCount ?? 0 }

  /// The same segment, for another slot of another table.
  convenience init(_ other: Segment, slot: Int) {
    self.init(
      id: other.id, slot: slot, byteCount: other.byteCount, stream: other.stream, state: other.state, tail: other.tail)
    storage = other.storage
    takeState(of: other)
  }

  /// Takes over the mutable state that another table has for this segment.
  func takeState(of other: Segment) {
    (byteCount, tail, stream, state) = (other.byteCount, other.tail, other.stream, other.state)
    (liveUnits, liveCount, lastKill) = (other.liveUnits, other.liveCount, other.lastKill)
    allocatedByteCount = other.allocatedByteCount
  }

  package var fileName: String { SegmentHeader.fileName(id) }

  /// Everything before this offset has been filled.
  package var filledUpTo: Int { unfilled.min() ?? tail }

  /// Places a record with a head of `headByteCount` bytes and `payloadByteCount` bytes behind it. Returns nil if it
  /// does not fit. A ``filled(_:isCarried:)`` must follow for each.
  package func reserve(headByteCount: Int, payloadByteCount: Int, pageAligned: Bool) -> Reservation? {
    let payload = RecordHeader.payloadPosition(
      offset: tail, headByteCount: headByteCount, pageAligned: pageAligned)
    let end = roundUp(payload + payloadByteCount, to: Unit.byteCount)
    guard state == .open, end <= byteCount, tail < Location.offsetLimit else { return nil }
    let reservation = Reservation(
      segment: self, window: window, offset: tail, payloadOffset: payload - tail, endOffset: end)
    unfilled.append(tail)
    pendingCount += 1
    tail = end
    return reservation
  }

  /// Whether no record in it is live and no reservation is pending.
  package var isDead: Bool { state == .sealed && liveCount == 0 && pendingCount == 0 && unfilled.isEmpty }

  /// Returns the offset up to which the segment is filled, except for reservations passed to ``lend(_:)``. Once the
  /// segment was synced after this call, records below the offset are vouched for.
  package func takeMark() -> Int {
    passedUpTo = max(passedUpTo, filledUpTo)
    return filledUpTo
  }

  /// Allows the reservation to take its time: marks pass it, so no record behind it waits, and no log file (rule
  /// 6). No entry names it yet, so a mark says nothing about it.
  package func lend(_ reservation: Reservation) {
    take(reservation)
    lentCount += 1
  }

  /// Revokes ``lend(_:)``: the head is about to be written, a ``filled(_:isCarried:)`` follows, and no
  /// mark passes any more. Returns true if one has passed. It says that the record is durable, so the segment must
  /// be synced before a frame names the record (rule 4).
  package func takeBack(_ reservation: Reservation) -> Bool {
    unfilled.append(reservation.offset)
    return passedUpTo > reservation.offset
  }

  /// The reservation of ``lend(_:)`` was committed, or is dead.
  package func endLending() {
    lentCount -= 1
    pendingCount -= 1
  }

  /// Notes that the reservation holds its record. Does nothing if that was noted before.
  package func filled(_ reservation: Reservation, isCarried: Bool) {
    guard take(reservation) else { return }
    isDirty = true
    if !isCarried { owesSync = true }
  }

  @discardableResult
  private func take(_ reservation: Reservation) -> Bool {
    guard let index = unfilled.firstIndex(of: reservation.offset) else { return false }
    unfilled.swapAt(index, unfilled.count - 1)
    unfilled.removeLast()
    return true
  }
}

/// A range of an open segment: reserved, then filled, then committed by a frame that names it. An abandoned one is
/// dead space that nothing names.
///
/// Invariant: the segment and its window stay in their table until the reservation was filled and committed or
/// abandoned, so no reference is counted here.
package struct Reservation: @unchecked Sendable {
  package unowned(unsafe) let segment: Segment
  package unowned(unsafe) let window: FillWindow?
  package let offset: Int
  /// From the record's start.
  package let payloadOffset: Int
  package let endOffset: Int

  package var location: Location { Location(slot: segment.slot, offset: offset) }
}
