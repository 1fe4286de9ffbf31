/// Bodies, batches and large puts that are in flight: the room that they hold, and the order in which others get it.
///
/// A request is admitted before it takes its first byte, so no entry is evicted for a request that waits. Bodies
/// together hold at most an eighth of the budget. The body that got room first may have more, so two bodies that grow
/// do not wait for each other without end. Bodies, batches and large puts together hold at most the room beside the
/// open segments. Other requests wait, first in, first out, and the end of a body or put admits them: no thread polls.
/// `Docs/Budget.md` argues why each wait ends.
struct Admissions {
  struct Limits {
    /// Bytes that all bodies together may hold; the first of them may hold more.
    let bodies: Int
    /// Bytes that everything in flight may hold outside the open segments.
    let all: Int
    /// The most bytes that one request can ever get. Eviction frees neither segments that `Blob`s hold nor pinned
    /// entries.
    let each: Int
  }

  /// The room of an unfinished body, and its wait for more.
  private struct Claim {
    /// The only thread that works on the body; nil if several threads do, or if the owner of the body does not choose
    /// its threads.
    var thread: ThreadContext.Token?
    /// The place of the body in the order in which bodies got room. Valid while the body holds room.
    var turn: UInt64 = 0
    /// Bytes of the disk that were admitted for the body.
    var heldByteCount = 0
    /// The held bytes that were admitted while the body waited and that it has not asked for again yet.
    var unusedByteCount = 0
    /// The waiting request for more room.
    var waiter: RoomWaiter?
    /// The room in a segment that the body fills.
    var room: Reservation?

    var threadID: ObjectIdentifier? { thread.map { ObjectIdentifier($0) } }
  }

  private var held = HeldRoom()
  /// By the numbers of their bodies.
  private var claims: [UInt64: Claim] = [:]
  /// Numbers of the bodies that hold room, in the order in which they got it.
  private var holders = NumberedLine<UInt64>()
  /// How many of the holders each thread alone can end; under nil, those that any thread may end.
  private var holderCounts: [ObjectIdentifier?: Int] = [:]
  /// Batches and large puts in flight, counted by thread.
  private var placing: [ObjectIdentifier: Int] = [:]
  private var placingByteCount = 0

  private var bodies = NumberedLine<RoomWaiter>()
  private var growing = NumberedLine<RoomWaiter>()
  private var placements = NumberedLine<RoomWaiter>()
  /// Changes that the ledger has refused. They are tried again when anything ends.
  private var retries = NumberedLine<RoomWaiter>()
  /// The number of times that room may have been freed. If this number has risen since the ledger refused a change, the
  /// change is tried again at once.
  private(set) var freeingCount = 0
  /// How often requests were examined, each look at a waiting request included. Tests read it.
  private(set) var lookCount = 0

  var waiterCount: Int { bodies.count + growing.count + placements.count + retries.count }
  mutating func heldByteCount(_ segments: borrowing SegmentAccounts) -> Int { held.byteCounts(segments).all }

  // MARK: Bodies

  /// Begins a body. With `isTiedToThread`, the calling thread alone works on it until another one does.
  mutating func begin(_ body: UnfinishedBody, isTiedToThread: Bool) {
    claims[body.number] = Claim(thread: isTiedToThread ? ThreadContext.current.token : nil)
  }

  /// The room in a segment that a body fills.
  func room(of body: UnfinishedBody) -> Reservation? { claims[body.number]?.room }

  /// Bytes of the disk that were admitted for a body.
  func heldByteCount(of body: UnfinishedBody) -> Int { claims[body.number]?.heldByteCount ?? 0 }

  /// Admits `byteCount` more bytes for a body. Returns nil if they were admitted, else the waiter that was lined up.
  ///
  /// `sleeper` is the thread that will wait; nil means that a task will. Throws `noSpace` if only that thread could end
  /// the wait, or if a body can never get so many bytes.
  mutating func admit(
    _ body: UnfinishedBody, _ byteCount: Int, _ segments: borrowing SegmentAccounts, _ limits: Limits,
    sleeper: ThreadContext.Token?
  ) throws(StoreError) -> RoomWaiter? {
    guard let claim = claims[body.number] else { throw .closed }
    // The bytes were admitted while the body waited.
    if claim.unusedByteCount >= byteCount {
      claims[body.number]?.unusedByteCount -= byteCount
      return nil
    }
    let byteCount = byteCount - claim.unusedByteCount
    if claim.heldByteCount + byteCount > limits.each { throw .noSpace }
    let current = ObjectIdentifier(ThreadContext.current.token)
    let holdsRoom = claim.heldByteCount > 0 || holderCounts[current] != nil
    if holdsRoom || bodies.isEmpty, fits(body, byteCount, segments, limits) {
      enter(body, byteCount)
      claims[body.number]?.unusedByteCount = 0
      return nil
    }
    if let sleeper, canOnlyEnd(sleeper) { throw .noSpace }
    let waiter = lineUp(byteCount, body: body, thread: sleeper, holdsRoom ? .holders : .bodies)
    claims[body.number]?.waiter = waiter
    return waiter
  }

  private mutating func fits(
    _ body: UnfinishedBody, _ byteCount: Int, _ segments: borrowing SegmentAccounts, _ limits: Limits
  ) -> Bool {
    lookCount += 1
    let counts = held.byteCounts(segments)
    let isFirst = holders.first.map { $0 == body.number } ?? true
    guard isFirst || counts.all + byteCount <= limits.bodies else { return false }
    // A body alone may try any length: the ledger decides.
    if isFirst, holders.count == (heldByteCount(of: body) > 0 ? 1 : 0), placing.isEmpty { return true }
    return counts.outsideOpen + placingByteCount + byteCount <= limits.all
  }

  private mutating func enter(_ body: UnfinishedBody, _ byteCount: Int) {
    guard var claim = claims[body.number] else { return }
    if claim.heldByteCount == 0 {
      claim.turn = holders.append(body.number)
      holderCounts[claim.threadID, default: 0] += 1
    }
    claim.heldByteCount += byteCount
    claims[body.number] = claim
    held.add(byteCount)
  }

  /// Takes back admitted bytes that could not be allocated.
  mutating func dismiss(_ body: UnfinishedBody, _ byteCount: Int) {
    guard var claim = claims[body.number] else { return }
    claim.heldByteCount -= byteCount
    claims[body.number] = claim
    held.add(-byteCount)
    if claim.heldByteCount == 0 { forget(claim) }
  }

  private mutating func forget(_ claim: Claim) {
    holders.remove(claim.turn)
    uncount(claim)
  }

  private mutating func uncount(_ claim: Claim) {
    let count = (holderCounts[claim.threadID] ?? 1) - 1
    holderCounts[claim.threadID] = count > 0 ? count : nil
  }

  /// Notes that the bytes admitted for a body lie in a segment from now on.
  mutating func assign(_ room: Reservation, to body: UnfinishedBody) {
    claims[body.number]?.room = room
    held.add(room.segment, heldByteCount(of: body))
  }

  /// Ends the wait of an aborted body.
  mutating func abort(_ body: UnfinishedBody) {
    guard let waiter = claims[body.number]?.waiter else { return }
    withdraw(waiter)
    waiter.end(.refused(.aborted))
  }

  /// Ends a body: it no longer holds or awaits any room. Returns its room in a segment.
  mutating func end(_ body: UnfinishedBody) -> Reservation? {
    abort(body)
    guard let claim = claims.removeValue(forKey: body.number) else { return nil }
    guard claim.heldByteCount > 0 else { return claim.room }
    if let room = claim.room { held.end(room.segment, claim.heldByteCount) } else { held.add(-claim.heldByteCount) }
    forget(claim)
    return claim.room
  }

  /// Notes that the calling thread works on a body. With `takesOver`, this thread alone does so from now on; without
  /// it, a second thread makes the body one that any thread may end.
  mutating func touch(_ body: UnfinishedBody, takesOver: Bool = false) {
    guard var claim = claims[body.number] else { return }
    let current = ThreadContext.current.token
    let thread = takesOver || claim.thread === current ? current : nil
    if claim.thread === thread { return }
    if claim.heldByteCount > 0 { uncount(claim) }
    claim.thread = thread
    claims[body.number] = claim
    if claim.heldByteCount > 0 { holderCounts[claim.threadID, default: 0] += 1 }
  }

  mutating func noteLength(of segment: Segment, _ byteCount: Int) { held.noteLength(of: segment, byteCount) }

  // MARK: Batches and large puts

  /// Admits `byteCount` bytes of records that the calling thread is about to place. Returns nil if they were admitted,
  /// else the waiter that was lined up. Throws `noSpace` if only the thread itself could end the wait, or if a request
  /// can never get so many bytes.
  mutating func beginPlacing(
    _ byteCount: Int, _ segments: borrowing SegmentAccounts, _ limits: Limits
  ) throws(StoreError) -> RoomWaiter? {
    if byteCount > limits.each { throw .noSpace }
    let thread = ThreadContext.current.token
    let holdsRoom = holderCounts[ObjectIdentifier(thread)] != nil
    if holdsRoom || placements.isEmpty, fits(byteCount, segments, limits) {
      enterPlacing(byteCount, thread)
      return nil
    }
    if canOnlyEnd(thread) { throw .noSpace }
    return lineUp(byteCount, thread: thread, .placements)
  }

  private mutating func fits(
    _ byteCount: Int, _ segments: borrowing SegmentAccounts, _ limits: Limits
  ) -> Bool {
    lookCount += 1
    let inFlight = held.byteCounts(segments).outsideOpen + placingByteCount
    return inFlight == 0 || inFlight + byteCount <= limits.all
  }

  private mutating func enterPlacing(_ byteCount: Int, _ thread: ThreadContext.Token) {
    placing[ObjectIdentifier(thread), default: 0] += 1
    placingByteCount += byteCount
  }

  /// Ends the placing of records that were committed or are dead.
  mutating func endPlacing(_ byteCount: Int) {
    let current = ObjectIdentifier(ThreadContext.current.token)
    let count = (placing[current] ?? 1) - 1
    placing[current] = count > 0 ? count : nil
    placingByteCount -= byteCount
  }

  /// Whether all room in flight belongs to the calling thread.
  var areOwn: Bool { canOnlyEnd(ThreadContext.current.token) }

  /// Whether no other thread could end anything that is in flight.
  private func canOnlyEnd(_ thread: ThreadContext.Token) -> Bool {
    let thread = ObjectIdentifier(thread)
    return placing.count == (placing[thread] == nil ? 0 : 1)
      && holderCounts.count == (holderCounts[thread] == nil ? 0 : 1)
  }

  // MARK: Waiting

  private mutating func lineUp(
    _ byteCount: Int, body: UnfinishedBody? = nil, thread: ThreadContext.Token?, _ line: RoomWaiter.Line
  ) -> RoomWaiter {
    func make(_ number: UInt64) -> RoomWaiter {
      RoomWaiter(number, byteCount, body: body, thread: thread, line: line)
    }
    switch line {
    case .bodies: return bodies.append(make)
    case .holders: return growing.append(make)
    case .placements: return placements.append(make)
    case .retries: return retries.append(make)
    }
  }

  mutating func withdraw(_ waiter: RoomWaiter) {
    if let body = waiter.body, claims[body.number]?.waiter === waiter { claims[body.number]?.waiter = nil }
    switch waiter.line {
    case .bodies: bodies.remove(waiter.number)
    case .holders: growing.remove(waiter.number)
    case .placements: placements.remove(waiter.number)
    case .retries: retries.remove(waiter.number)
    }
  }

  /// Lines up a change that the ledger has refused. Returns nil if room may have been freed since the count was
  /// `freeingCount`.
  mutating func lineUpRetry(since freeingCount: Int) -> RoomWaiter? {
    guard freeingCount == self.freeingCount else { return nil }
    return lineUp(0, thread: ThreadContext.current.token, .retries)
  }

  private mutating func admit(
    _ waiter: RoomWaiter, _ segments: borrowing SegmentAccounts, _ limits: Limits
  ) -> Bool {
    if let body = waiter.body {
      guard fits(body, waiter.byteCount, segments, limits) else { return false }
      enter(body, waiter.byteCount)
      claims[body.number]?.unusedByteCount += waiter.byteCount
    } else if let thread = waiter.thread {
      guard fits(waiter.byteCount, segments, limits) else { return false }
      enterPlacing(waiter.byteCount, thread)
    }
    withdraw(waiter)
    waiter.end(.admitted)
    return true
  }

  /// Notes that room may have been freed, and wakes the changes that the ledger has refused.
  mutating func wakeRetries() {
    freeingCount &+= 1
    for waiter in Array(retries.all) {
      withdraw(waiter)
      waiter.end(.admitted)
    }
  }

  /// Admits the waiting requests that fit now, in their order. Refuses those that now wait only for their own threads.
  mutating func admitNext(_ segments: borrowing SegmentAccounts, _ limits: Limits) {
    wakeRetries()
    if waiterCount == 0 { return }
    // Each growing body is tried, because other requests may wait for it.
    for waiter in Array(growing.all) { _ = admit(waiter, segments, limits) }
    while let waiter = placements.first, admit(waiter, segments, limits) {}
    while let waiter = bodies.first, admit(waiter, segments, limits) {}
    guard placing.isEmpty, holderCounts.count == 1, case let thread?? = holderCounts.keys.first else { return }
    for waiter in Array(growing.all) + Array(placements.all)
    where waiter.thread.map({ ObjectIdentifier($0) == thread }) ?? false {
      withdraw(waiter)
      waiter.end(.refused(.noSpace))
    }
  }

  mutating func refuseAll(_ error: StoreError) {
    for waiter in Array(growing.all) + Array(placements.all) + Array(bodies.all) + Array(retries.all) {
      withdraw(waiter)
      waiter.end(.refused(error))
    }
  }
}
