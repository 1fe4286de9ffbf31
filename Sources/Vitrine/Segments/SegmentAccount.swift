/// The facts about a segment that change with its records.
package struct SegmentAccount {
  /// The capacity of the file in bytes.
  package private(set) var byteCount: Int
  /// Bytes of disk space that the ledger counts for it.
  package private(set) var allocatedByteCount = 0
  package private(set) var stream: StreamKind
  package private(set) var state: Segment.State
  package var fill: SegmentFill
  package var live = SegmentLive()
  package var sync = SegmentSync()

  package init(byteCount: Int, stream: StreamKind, state: Segment.State, tail: Int) {
    self.byteCount = byteCount
    self.stream = stream
    self.state = state
    fill = SegmentFill(tail: tail)
  }

  /// Whether no record in it is live and no reservation is pending.
  package var isDead: Bool { live.count == 0 && isSettled }

  /// Whether it takes no records and no reservation is pending.
  package var isSettled: Bool { state == .sealed && fill.pendingCount == 0 && fill.unfilled.isEmpty }

  /// Whether it takes no records and everything in it was synced.
  var isAtRest: Bool { isSettled && !sync.isDirty && !sync.isBeingFlushed }

  /// Whether it holds dead records.
  package var holdsDeadRecords: Bool {
    guard state == .open || state == .sealed else { return false }
    return fill.tail - SegmentHeader.byteCount > (live.units + live.boundUnits) * Unit.byteCount
  }

  enum FileUse { case kept, unsynced, idle }

  /// A segment that takes records keeps its file open, so that they need no descriptor. Such segments are few.
  var fileUse: FileUse {
    if state == .open || state == .spare { return .kept }
    return sync.isDirty || sync.isBeingFlushed || fill.pendingCount > 0 ? .unsynced : .idle
  }

  /// Notes that the reservation holds its record. Does nothing if that was noted before.
  package mutating func filled(_ reservation: Reservation, isCarried: Bool) {
    guard fill.take(reservation) else { return }
    sync.note(isCarried: isCarried)
  }

  /// Opens the segment for records of a stream.
  mutating func open(_ stream: StreamKind) {
    self.stream = stream
    state = .open
  }

  /// Seals the segment. Its capacity is `byteCount`.
  mutating func seal(byteCount: Int? = nil) {
    state = .sealed
    if let byteCount { self.byteCount = byteCount }
  }

  /// Notes that the records belong to another stream by now.
  mutating func set(stream: StreamKind) { self.stream = stream }

  mutating func retire() { state = .retired }

  /// Notes the capacity of a file that is shorter than in the log.
  mutating func set(byteCount: Int) { self.byteCount = byteCount }

  /// Notes the bytes of the disk that the file takes, and its capacity if that changed.
  mutating func set(allocatedByteCount: Int, byteCount: Int? = nil) {
    self.allocatedByteCount = allocatedByteCount
    if let byteCount { self.byteCount = byteCount }
  }

  /// Takes over the account that another table has for this segment.
  mutating func take(_ other: SegmentAccount) {
    (byteCount, allocatedByteCount) = (other.byteCount, other.allocatedByteCount)
    (stream, state) = (other.stream, other.state)
    fill.set(tail: other.fill.tail)
    live.take(other.live)
  }
}

/// The live records of a segment.
package struct SegmentLive {
  package private(set) var units = 0
  /// Live key records plus live payloads.
  package private(set) var count = 0
  /// Units of bound heads: dead heads before payloads that other keys use. A copy of such a payload takes the head
  /// along, so no copy frees the head.
  package private(set) var boundUnits = 0
  /// Whether ``boundUnits`` counts all bound heads. Those of earlier openings do not count until a
  /// ``LiveRecordFinder`` has found them.
  package private(set) var knowsBoundHeads = true
  /// Raised with each head that is bound or free.
  package private(set) var bindingCount: UInt32 = 0
  /// The last frame that removed or moved one of its records (rule 5).
  package private(set) var lastKill: UInt64 = 0

  package init(units: Int = 0, count: Int = 0) {
    self.units = units
    self.count = count
  }

  /// Enters a live key record or a live payload.
  mutating func add(units: Int) {
    self.units += units
    count += 1
  }

  /// Notes that the frame `sequence` has removed or moved a key record or a payload. The size of a damaged record is
  /// unknown, so ``units`` may be too high until no record of the segment is live.
  mutating func kill(units: Int, sequence: UInt64) {
    count = max(0, count - 1)
    self.units = max(0, self.units - units)
    if count == 0 { (self.units, boundUnits) = (0, 0) }
    lastKill = max(lastKill, sequence)
  }

  /// Marks all records as killed by the frame `sequence`.
  mutating func killAll(sequence: UInt64) {
    (units, count, boundUnits) = (0, 0, 0)
    lastKill = sequence
  }

  mutating func bind(units: Int) {
    boundUnits += units
    bindingCount &+= 1
  }

  /// Notes that a head has left the segment, or that its payload has died.
  mutating func unbind(units: Int) {
    boundUnits = max(0, boundUnits - units)
    bindingCount &+= 1
  }

  /// Notes the bound heads that a ``LiveRecordFinder`` has found. `count` is ``bindingCount`` from before the search. If
  /// a change has bound or freed a head since then, a number that was unknown stays so: too low a number makes copies
  /// that free little, and too high a number would hide dead heads.
  mutating func set(boundUnits: Int, asOf count: UInt32) {
    if count == bindingCount {
      (self.boundUnits, knowsBoundHeads) = (boundUnits, true)
    } else if !knowsBoundHeads {
      forgetBoundHeads()
    }
  }

  mutating func forgetBoundHeads() { (boundUnits, knowsBoundHeads) = (0, false) }

  /// Takes over the live records that another table has for the segment.
  mutating func take(_ other: SegmentLive) {
    (units, count, lastKill) = (other.units, other.count, other.lastKill)
    forgetBoundHeads()
  }
}

/// The writes of a segment that its file may not hold durably yet.
package struct SegmentSync {
  /// Written to since its last flush began.
  package private(set) var isDirty = false
  /// A flush has taken over the sync that the segment owes, and has not synced it yet: it still counts as unsynced.
  package private(set) var isBeingFlushed = false
  /// Written to since its last flush began, with a record that no frame carries inline.
  package private(set) var owesSync = false

  /// Notes bytes that no frame carries.
  package mutating func owe() { note(isCarried: false) }

  /// Notes a record, which a frame may carry too.
  mutating func note(isCarried: Bool) {
    isDirty = true
    if !isCarried { owesSync = true }
  }

  /// A flush takes over the sync. ``endFlush()`` follows, and ``owe()`` before it if the sync failed.
  mutating func beginFlush() {
    isBeingFlushed = true
    isDirty = false
    owesSync = false
  }

  mutating func endFlush() { isBeingFlushed = false }
}

/// The reservations of a segment.
package struct SegmentFill {
  /// The offset of the next reservation.
  package private(set) var tail: Int
  /// Offsets of unfilled reservations, except exempt ones.
  package private(set) var unfilled: [Int] = []
  /// Reservations that are neither committed nor abandoned yet.
  package private(set) var pendingCount = 0
  /// Pending reservations that are filled over a longer time: a body that arrives in chunks, or a drawing.
  package private(set) var exemptCount = 0
  /// The highest mark that ``takeMark()`` has returned.
  private var passedUpTo = 0

  init(tail: Int) { self.tail = tail }

  /// Everything before this offset is filled or exempt.
  package var filledUpTo: Int { unfilled.min() ?? tail }

  /// Sets the offset of the next reservation.
  mutating func set(tail: Int) { self.tail = tail }
  /// Raises the tail to `end`.
  mutating func raiseTail(to end: Int) { tail = max(tail, end) }
  /// Ends a reservation, which was committed or abandoned.
  package mutating func endReservation() { pendingCount -= 1 }

  mutating func add(_ reservation: Reservation) {
    unfilled.append(reservation.offset)
    pendingCount += 1
    tail = reservation.endOffset
  }

  /// Returns the offset up to which the segment is filled, except for reservations passed to ``exempt(_:)``. Once the
  /// segment was synced after this call, records below the offset are vouched for.
  package mutating func takeMark() -> Int {
    passedUpTo = max(passedUpTo, filledUpTo)
    return filledUpTo
  }

  /// Lets marks pass the reservation, because filling it may take long. So later records of the segment do not wait
  /// for it, nor do the log files that carry them (rule 6). This is safe because no entry names the reservation yet.
  package mutating func exempt(_ reservation: Reservation) {
    take(reservation)
    exemptCount += 1
  }

  /// Revokes ``exempt(_:)`` before the head is written. No further mark passes the reservation. The caller then calls
  /// ``SegmentAccount/filled(_:isCarried:)``. The reservation counts twice as pending, for ``dropExemption()`` and for
  /// the commit. Returns true if a mark has passed the reservation. Such a mark vouches for the record as soon as a
  /// frame names it, so the segment must be synced before the frame is stored (rule 4).
  package mutating func endExemption(_ reservation: Reservation) -> Bool {
    unfilled.append(reservation.offset)
    pendingCount += 1
    return passedUpTo > reservation.offset
  }

  /// Ends a reservation of ``exempt(_:)``, which was committed or is dead.
  package mutating func dropExemption() {
    exemptCount -= 1
    pendingCount -= 1
  }

  @discardableResult
  mutating func take(_ reservation: Reservation) -> Bool {
    guard let index = unfilled.firstIndex(of: reservation.offset) else { return false }
    unfilled.swapAt(index, unfilled.count - 1)
    unfilled.removeLast()
    return true
  }
}
