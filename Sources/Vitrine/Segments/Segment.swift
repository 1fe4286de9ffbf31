/// One segment file, as the writer knows it. Everything that changes is guarded by the store's commit lock; what
/// readers need is in the ``SegmentTable``.
package final class Segment: @unchecked Sendable {
  package enum State: Sendable, Equatable {
    /// Made and empty.
    case spare
    /// Takes reservations.
    case open
    /// Takes no more.
    case sealed
    /// Nothing in it is needed; its file is about to go.
    case retired
  }

  package let id: UInt64
  package let slot: Int
  /// Nil when the file is missing, and while recovery has not come to it yet.
  @exclusivity(unchecked) package private(set) var storage: SegmentStorage?

  /// Whether there is a file at all.
  package var isAttached: Bool { storage != nil }

  /// Nil also when it cannot be opened now.
  package var file: (any File)? { try? storage?.openFile() }

  /// The same for those to whom the reason matters: nothing may count as synced, say, because no descriptor was left.
  package func openFile() throws(SystemError) -> (any File)? { try storage?.openFile() }

  /// The same, where a segment without a file is an error.
  package func requireFile() throws(SystemError) -> any File {
    guard let file = try openFile() else {
      throw SystemError(code: SystemError.missing, operation: "open", path: fileName)
    }
    return file
  }

  /// Whether zeros stand in place of some page of its mapping: then nothing more is to be written into it.
  @inline(__always)
  package var hasDamagedPages: Bool { BusErrors.haveHappened && storage?.hasDamagedPages ?? false }

  /// Held from before a sync of its file until what came of it is known to the store.
  package let syncLock = RawLock()
  /// Where its file system allows; set before the segment takes records, and closed when it takes no more.
  @exclusivity(unchecked) package var window: FillWindow?
  /// Bytes that the file has room for.
  @exclusivity(unchecked) package var byteCount: Int
  /// Bytes of the disk that it takes, as the ledger counts them.
  package var allocatedByteCount = 0
  package var stream: StreamKind
  @exclusivity(unchecked) package var state: State { didSet { if state != oldValue { keepFile() } } }
  /// Where the next reservation begins.
  @exclusivity(unchecked) package var tail: Int
  @exclusivity(unchecked) package var liveUnits = 0
  /// Key records plus payloads that are needed.
  @exclusivity(unchecked) package var liveCount = 0
  /// Heads of records that were copied here for a payload which others use, and whose own keys had gone: dead, and bound to
  /// those payloads, so that no compaction gains them. Not kept from one opening to the next.
  @exclusivity(unchecked) package var boundUnits = 0
  /// Offsets of reservations that are not filled yet.
  @exclusivity(unchecked) package var unfilled: [Int] = []
  /// Reservations that are neither committed nor abandoned yet.
  @exclusivity(unchecked) package var pendingCount = 0 {
    didSet { if state == .sealed, (pendingCount == 0) != (oldValue == 0) { keepFile() } }
  }
  /// Of the pending ones, those that are filled over a longer time, by a body in pieces or a drawing.
  package private(set) var lentCount = 0
  /// The highest mark that was taken; see ``takeMark()``.
  private var passedUpTo = 0
  /// Written to since its last sync.
  @exclusivity(unchecked) package var isDirty = false { didSet { if isDirty != oldValue { keepFile() } } }
  /// A flush has taken its debt over and has not synced it yet: until then it is as unsynced as before.
  @exclusivity(unchecked) package var isBeingFlushed = false {
    didSet { if isBeingFlushed != oldValue { keepFile() } }
  }
  /// Written to since its last sync with something that no frame of the log carries.
  @exclusivity(unchecked) package var owesSync = false
  /// The last frame that took a record of it away, or moved one (rule 5).
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

  /// While it takes records its file stays open, so that they need no descriptor. Such segments are few.
  private func keepFile() {
    guard let storage, storage.access == .readWrite else { return }
    storage.keepFile(
      state == .open || state == .spare, isUnsynced: isDirty || isBeingFlushed || pendingCount > 0)
  }

  /// Opens its file, and maps it when `maps`, as far as the file goes and the segment may. Where the process has no
  /// mapping left, it is as one that is not to be mapped.
  package func open(
    in folders: StoreFolders, access: FileAccess, maps: Bool, account: StorageAccount
  ) throws(SystemError) {
    let file = try folders.segments.openFile(fileName, access)
    let status = try file.status()
    let readable = min(status.byteCount, byteCount)
    attach(
      file: folders.cached(file, segment: id, access: access),
      mapping: maps && readable > 0 ? try Segment.map(file, byteCount: readable) : nil, byteCount: readable,
      allocatedByteCount: status.chargedByteCount(atMost: byteCount), account: account, access: access)
  }

  /// Nil where the process has no mapping left.
  package static func map(_ file: any File, byteCount: Int) throws(SystemError) -> Mapping? {
    do throws(SystemError) {
      return try file.map(byteCount: byteCount, writable: false)
    } catch {
      guard error.code == SystemError.noMemory else { throw error }
      return nil
    }
  }

  /// Bytes of its file that may be read.
  package var readableByteCount: Int { storage?.byteCount ?? 0 }

  /// The same segment in another slot of another table.
  convenience init(_ other: Segment, slot: Int) {
    self.init(
      id: other.id, slot: slot, byteCount: other.byteCount, stream: other.stream, state: other.state, tail: other.tail)
    storage = other.storage
    takeState(of: other)
  }

  /// What may change of a segment, as another table knows it.
  func takeState(of other: Segment) {
    (byteCount, tail, stream, state) = (other.byteCount, other.tail, other.stream, other.state)
    (liveUnits, liveCount, lastKill) = (other.liveUnits, other.liveCount, other.lastKill)
    allocatedByteCount = other.allocatedByteCount
  }

  package var fileName: String { SegmentHeader.fileName(id) }

  /// Everything before this offset has been filled.
  package var filledUpTo: Int { unfilled.min() ?? tail }

  /// Places a record with a head of `headByteCount` bytes and `payloadByteCount` bytes behind it; nil when it does not
  /// fit. A ``filled(_:isCarried:)`` must follow for each.
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

  /// Nothing in it is needed, and nothing is on its way into it.
  package var isDead: Bool { state == .sealed && liveCount == 0 && pendingCount == 0 && unfilled.isEmpty }

  /// Up to where all of the segment is filled, but for lent room: below it, records are vouched for once the segment
  /// was synced after this call.
  package func takeMark() -> Int {
    passedUpTo = max(passedUpTo, filledUpTo)
    return filledUpTo
  }

  /// From here on the reservation may take its time: marks pass it, so that nobody behind it waits, least of all the
  /// log's files (rule 6). No entry names it yet, so a mark says nothing about it.
  package func lend(_ reservation: Reservation) {
    take(reservation)
    lentCount += 1
  }

  /// The head is about to be written, and a ``filled(_:isCarried:)`` follows: no mark passes any more. True when one has: it says
  /// that the record is on the disk, so the segment must be synced before a frame names the record (rule 4).
  package func takeBack(_ reservation: Reservation) -> Bool {
    unfilled.append(reservation.offset)
    return passedUpTo > reservation.offset
  }

  /// Lent room was committed, or is dead.
  package func endLending() {
    lentCount -= 1
    pendingCount -= 1
  }

  package func filled(_ reservation: Reservation, isCarried: Bool) {
    take(reservation)
    isDirty = true
    if !isCarried { owesSync = true }
  }

  private func take(_ reservation: Reservation) {
    if let index = unfilled.firstIndex(of: reservation.offset) { unfilled.swapAt(index, unfilled.count - 1) }
    _ = unfilled.popLast()
  }
}

/// Room in an open segment: reserved, then filled, then committed by a frame that names it, or abandoned: then nothing
/// names it, and it is dead space.
///
/// Invariant: the segment stays in its table, and its window with it, until the reservation was filled and committed or
/// abandoned; so nothing here needs to count references.
package struct Reservation: @unchecked Sendable {
  package unowned(unsafe) let segment: Segment
  package unowned(unsafe) let window: FillWindow?
  package let offset: Int
  /// From the record's start.
  package let payloadOffset: Int
  package let endOffset: Int

  package var location: Location { Location(slot: segment.slot, offset: offset) }
}
