/// Bodies, batches and large puts that are in flight: the room that they hold, and the order in which others get it.
///
/// A request is admitted before it takes its first byte, so no entry is evicted for a request that waits. Bodies
/// together hold at most an eighth of the budget. The body that got room first may have more, so two bodies that grow
/// do not wait for each other without end. Bodies, batches and large puts together hold at most the room beside the
/// open segments. Other requests wait, first in, first out, and the end of a body or put admits them: no thread polls.
/// `Docs/Budget.md` argues why each wait ends. Guarded by the store's commit lock.
struct Admissions {
  struct Limits {
    /// Bytes that all bodies together may hold; the first of them may hold more.
    let bodies: Int
    /// Bytes that everything in flight may hold outside the open segments.
    let all: Int
    /// The most bytes that one request can ever get: no eviction reclaims segments that `Blob`s hold.
    let each: Int
  }

  private var held = HeldRoom()
  /// Bodies that hold room, in the order in which they got it.
  private var holders = NumberedLine<UnfinishedBody>()
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
  /// How often room may have been freed. A change that was refused before the last time is tried again at once.
  private(set) var freeingCount = 0
  /// How often requests were examined, each look at a waiting request included. Tests read it.
  private(set) var lookCount = 0

  var waiterCount: Int { bodies.count + growing.count + placements.count + retries.count }
  var heldByteCount: Int { mutating get { held.byteCounts().all } }

  // MARK: Bodies

  /// Admits `byteCount` more bytes for a body. Returns nil if they were admitted, else the waiter that was lined up.
  ///
  /// `sleeper` is the thread that will wait; nil means that a task will. Throws `noSpace` if only that thread could end
  /// the wait, or if a body can never get so many bytes.
  mutating func admit(
    _ body: UnfinishedBody, _ byteCount: Int, _ limits: Limits, sleeper: ThreadContext.Token?
  ) throws(StoreError) -> RoomWaiter? {
    // The bytes were admitted while the body waited.
    if body.unusedByteCount >= byteCount {
      body.unusedByteCount -= byteCount
      return nil
    }
    let byteCount = byteCount - body.unusedByteCount
    if body.heldByteCount + byteCount > limits.each { throw .noSpace }
    let current = ObjectIdentifier(ThreadContext.current.token)
    let holdsRoom = body.heldByteCount > 0 || holderCounts[current] != nil
    if holdsRoom || bodies.isEmpty, fits(body, byteCount, limits) {
      enter(body, byteCount)
      body.unusedByteCount = 0
      return nil
    }
    if let sleeper, canOnlyEnd(sleeper) { throw .noSpace }
    let waiter = RoomWaiter(byteCount, body: body, thread: sleeper, line: holdsRoom ? .holders : .bodies)
    lineUp(waiter)
    body.waiter = waiter
    return waiter
  }

  private mutating func fits(_ body: UnfinishedBody, _ byteCount: Int, _ limits: Limits) -> Bool {
    lookCount += 1
    let counts = held.byteCounts()
    let isFirst = holders.first.map { $0 === body } ?? true
    guard isFirst || counts.all + byteCount <= limits.bodies else { return false }
    // A body alone may try any length: the ledger decides.
    if isFirst, holders.count == (body.heldByteCount > 0 ? 1 : 0), placing.isEmpty { return true }
    return counts.outsideOpen + placingByteCount + byteCount <= limits.all
  }

  private mutating func enter(_ body: UnfinishedBody, _ byteCount: Int) {
    if body.heldByteCount == 0 {
      body.turn = holders.append(body)
      holderCounts[body.threadID, default: 0] += 1
    }
    body.heldByteCount += byteCount
    held.add(byteCount)
  }

  /// Takes back admitted bytes that could not be allocated.
  mutating func dismiss(_ body: UnfinishedBody, _ byteCount: Int) {
    body.heldByteCount -= byteCount
    held.add(-byteCount)
    if body.heldByteCount == 0 { forget(body) }
  }

  private mutating func forget(_ body: UnfinishedBody) {
    holders.remove(body.turn)
    uncount(body)
  }

  private mutating func uncount(_ body: UnfinishedBody) {
    let count = (holderCounts[body.threadID] ?? 1) - 1
    holderCounts[body.threadID] = count > 0 ? count : nil
  }

  /// Notes that the bytes admitted for a body lie in a segment from now on.
  mutating func lend(_ room: Reservation, to body: UnfinishedBody) {
    body.room = room
    held.lend(room.segment, body.heldByteCount)
  }

  /// Ends a body: it no longer holds or awaits any room.
  mutating func end(_ body: UnfinishedBody) {
    if let waiter = body.waiter {
      withdraw(waiter)
      waiter.end(.refused(.aborted))
    }
    guard body.heldByteCount > 0 else { return }
    if let room = body.room { held.end(room.segment, body.heldByteCount) } else { held.add(-body.heldByteCount) }
    body.heldByteCount = 0
    forget(body)
  }

  /// Notes that the calling thread works on a body. With `takesOver`, this thread alone does so from now on; without
  /// it, a second thread makes the body one that any thread may end.
  mutating func touch(_ body: UnfinishedBody, takesOver: Bool = false) {
    let current = ThreadContext.current.token
    let thread = takesOver || body.thread === current ? current : nil
    if body.thread === thread { return }
    if body.heldByteCount > 0 { uncount(body) }
    body.thread = thread
    if body.heldByteCount > 0 { holderCounts[body.threadID, default: 0] += 1 }
  }

  mutating func noteLength(of segment: Segment) { held.noteLength(of: segment) }

  // MARK: Batches and large puts

  /// Admits `byteCount` bytes of records that the calling thread is about to place. Returns nil if they were admitted,
  /// else the waiter that was lined up. Throws `noSpace` if only the thread itself could end the wait, or if a request
  /// can never get so many bytes.
  mutating func beginPlacing(_ byteCount: Int, _ limits: Limits) throws(StoreError) -> RoomWaiter? {
    if byteCount > limits.each { throw .noSpace }
    let thread = ThreadContext.current.token
    let holdsRoom = holderCounts[ObjectIdentifier(thread)] != nil
    if holdsRoom || placements.isEmpty, fits(byteCount, limits) {
      enterPlacing(byteCount, thread)
      return nil
    }
    if canOnlyEnd(thread) { throw .noSpace }
    let waiter = RoomWaiter(byteCount, body: nil, thread: thread, line: .placements)
    lineUp(waiter)
    return waiter
  }

  private mutating func fits(_ byteCount: Int, _ limits: Limits) -> Bool {
    lookCount += 1
    let inFlight = held.byteCounts().outsideOpen + placingByteCount
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

  private mutating func lineUp(_ waiter: RoomWaiter) {
    switch waiter.line {
    case .bodies: waiter.number = bodies.append(waiter)
    case .holders: waiter.number = growing.append(waiter)
    case .placements: waiter.number = placements.append(waiter)
    case .retries: waiter.number = retries.append(waiter)
    }
  }

  mutating func withdraw(_ waiter: RoomWaiter) {
    if let body = waiter.body, body.waiter === waiter { body.waiter = nil }
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
    let waiter = RoomWaiter(0, body: nil, thread: ThreadContext.current.token, line: .retries)
    lineUp(waiter)
    return waiter
  }

  private mutating func admit(_ waiter: RoomWaiter, _ limits: Limits) -> Bool {
    if let body = waiter.body {
      guard fits(body, waiter.byteCount, limits) else { return false }
      enter(body, waiter.byteCount)
      body.unusedByteCount += waiter.byteCount
    } else if let thread = waiter.thread {
      guard fits(waiter.byteCount, limits) else { return false }
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

  /// Admits the waiting requests that fit now, in their order. Refuses those that wait only for their own threads by
  /// now.
  mutating func admitNext(_ limits: Limits) {
    wakeRetries()
    if waiterCount == 0 { return }
    // Each growing body is tried, because other requests may wait for it.
    for waiter in Array(growing.all) { _ = admit(waiter, limits) }
    while let waiter = placements.first, admit(waiter, limits) {}
    while let waiter = bodies.first, admit(waiter, limits) {}
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
