/// A value that takes its time: a body that arrives in pieces, or a bitmap that is being drawn.
///
/// Guarded by the store's commit lock.
final class UnfinishedBody: @unchecked Sendable {
  fileprivate let number: UInt64
  /// Its place in the order in which bodies got room; nil before the first bytes.
  fileprivate var turn: UInt64?
  /// Bytes of the disk that were admitted for it.
  fileprivate(set) var heldByteCount = 0
  /// The room of a segment that it fills.
  var room: Reservation?
  /// The file that it grows in, where its length is not known.
  var stagedFile: StagedFile?
  /// Everything was removed since it was begun.
  fileprivate(set) var isAborted = false
  /// The thread that alone has worked on it so far; nil when there were several.
  private var thread: ThreadContext.Token?

  fileprivate init(number: UInt64, isAnybodys: Bool) {
    self.number = number
    thread = isAnybodys ? nil : ThreadContext.current.token
  }

  /// Notes who works on it.
  func touch() {
    if !isOwn { thread = nil }
  }

  /// Whether only the calling thread can end it.
  fileprivate var isOwn: Bool { thread === ThreadContext.current.token }
}

/// All unfinished bodies of a store, and who of them may have room.
///
/// Together they hold at most an eighth of the budget, however many stall; but the one that got room first may always
/// have what it needs, so that two which grow cannot wait for each other for ever. What counts is what cannot be given
/// back: a body's room, and, once its segment is closed to others, all of that segment. Ordinary puts hold room for
/// microseconds and are neither counted nor made to wait. Guarded by the store's commit lock.
struct UnfinishedBodies {
  private var bodies: [UInt64: UnfinishedBody] = [:]
  private var nextNumber: UInt64 = 1

  mutating func begin(isAnybodys: Bool) -> UnfinishedBody {
    defer { nextNumber += 1 }
    let body = UnfinishedBody(number: nextNumber, isAnybodys: isAnybodys)
    bodies[body.number] = body
    return body
  }

  mutating func end(_ body: UnfinishedBody) { bodies[body.number] = nil }

  var all: some Collection<UnfinishedBody> { bodies.values }

  func abortAll() {
    for body in bodies.values { body.isAborted = true }
  }

  private var holders: some Collection<UnfinishedBody> { bodies.values.lazy.filter { $0.heldByteCount > 0 } }

  /// O(bodies).
  var heldByteCount: Int {
    var closing: Set<Int> = []
    var held = 0
    for body in holders {
      if let segment = body.room?.segment, segment.state != .open {
        if closing.insert(segment.slot).inserted { held += segment.byteCount }
      } else {
        held += body.heldByteCount
      }
    }
    return held
  }

  /// Enters `byteCount` more for a body; false where the cap forbids it.
  mutating func admit(_ body: UnfinishedBody, _ byteCount: Int, cap: Int) -> Bool {
    let isFirst = holders.allSatisfy { $0 === body || $0.turn ?? .max > body.turn ?? .max }
    guard isFirst || heldByteCount + byteCount <= cap else { return false }
    if body.turn == nil {
      body.turn = nextNumber
      nextNumber += 1
    }
    body.heldByteCount += byteCount
    return true
  }

  /// Takes back what was admitted and could not be had.
  func dismiss(_ body: UnfinishedBody, _ byteCount: Int) { body.heldByteCount -= byteCount }

  /// Whether only the calling thread could make room, which it will not while it waits.
  var areOwn: Bool { holders.allSatisfy(\.isOwn) }
}

extension StoreCore {
  /// `isAnybodys` when calls about it come from threads that nobody chose.
  func begin(isAnybodys: Bool) throws(StoreError) -> UnfinishedBody {
    try locked { () throws(StoreError) in
      try requireWritable()
      return unfinished.begin(isAnybodys: isAnybodys)
    }
  }

  /// Committed or abandoned: its room is given back, or dead. A forked child leaves the parent's alone.
  func end(_ body: UnfinishedBody) {
    if isForkedChild { return }
    let (staged, isDead) = locked { () -> (StagedFile?, Bool) in
      let segment = body.room?.segment
      segment?.endLending()
      body.room = nil
      defer { body.stagedFile = nil }
      unfinished.end(body)
      return (body.stagedFile, segment?.isDead ?? false)
    }
    if let staged { drop(staged) }
    if isDead { wake() }
  }

  /// Enters `byteCount` more for a body under the cap, waiting for others to end. False where that would mean to wait and
  /// `waits` forbids it.
  func admit(_ body: UnfinishedBody, _ byteCount: Int, waits: Bool) throws(StoreError) -> Bool {
    let pause = 2
    var waited = 0
    while true {
      let isAdmitted = try locked { () throws(StoreError) in
        try requireWritable()
        if body.isAborted { throw .aborted }
        if unfinished.admit(body, byteCount, cap: ledger.budget / 8) { return true }
        if waits, waited >= StoreCore.longestWaitMilliseconds || unfinished.areOwn { throw .noSpace }
        return false
      }
      if isAdmitted || !waits { return isAdmitted }
      environment.clock.sleep(milliseconds: pause)
      waited += pause
    }
  }

  /// Lends room for a payload of known length to a body. False where that would mean to wait and `waits` forbids it.
  func lend(_ target: BodyTarget, byteCount: Int, to body: UnfinishedBody, waits: Bool) throws(StoreError) -> Bool {
    let (stream, headByteCount) = try target.withPut(self) { put in
      (put.stream, put.headByteCount(storedByteCount: byteCount))
    }
    guard try admit(body, headByteCount + byteCount, waits: waits) else { return false }
    do throws(StoreError) {
      let (reservation, _) = try reserve(
        stream, headByteCount: headByteCount, payloadByteCount: byteCount, pageAligned: target.options.isPageAligned)
      locked {
        reservation.segment.lend(reservation)
        body.room = reservation
      }
    } catch {
      locked { unfinished.dismiss(body, headByteCount + byteCount) }
      throw error
    }
    return true
  }

  /// Lent room whose payload is there is about to get its head: a number for the record, which is as new as its commit,
  /// and whether the segment has to be synced before a frame names it. The pending count is the commit's to settle.
  func takeBack(_ room: Reservation) throws(StoreError) -> (sequence: UInt64, isPassed: Bool) {
    try locked { () throws(StoreError) in
      try requireWritable()
      room.segment.pendingCount += 1
      return (takeRecordNumber(), room.segment.takeBack(room))
    }
  }
}
