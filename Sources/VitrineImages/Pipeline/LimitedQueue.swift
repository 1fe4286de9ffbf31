/// Lets so many run at once, and of those who wait the one with the highest priority next; among equals the one that came
/// first.
///
/// What preheats has places of its own, so that it never takes one from a request, and gets one only while
/// ``setAdmitsPreheating(_:)`` lets it. Safe from any thread. What entering and leaving cost: see ``WaitingLines``.
final class LimitedQueue: Sendable {
  /// A place in the queue, kept by whoever wants to raise its priority while it waits.
  struct Ticket: Sendable, Hashable {
    fileprivate let number: UInt64
  }

  /// What somebody needs besides a place.
  enum Claim: Sendable, Hashable {
    case none
    /// That no other with this key runs meanwhile. Whoever waits for a key takes no place yet.
    case key(String)
    /// That nobody else runs at all. Who comes later waits for it.
    case all
  }

  private struct State {
    var places: QueuePlaces
    var nextNumber: UInt64 = 0
  }

  private let state: Locked<State>

  init(limit: Int, preheatingLimit: Int) {
    state = Locked(State(places: QueuePlaces(limit: limit, preheatingLimit: preheatingLimit)))
  }

  /// A ticket for ``run(_:_:)``, with which the priority can be raised from now on.
  func ticket(_ priority: ImageRequest.Priority, _ claim: Claim = .none) -> Ticket {
    state.withLock { state in
      state.nextNumber += 1
      state.places.waiting.append(state.nextNumber, priority, claim)
      return Ticket(number: state.nextNumber)
    }
  }

  /// Waits for a place, and runs `body` in it. Each ticket is used once. Throws `CancellationError` when the task is
  /// cancelled while it waits, and what `body` throws.
  func run<R: Sendable>(_ ticket: Ticket, _ body: () async throws -> sending R) async throws -> sending R {
    try await enter(ticket)
    defer { leave(ticket) }
    return try await body()
  }

  /// The same for somebody whose interest may change while they wait.
  func run<R: Sendable>(
    _ interest: Interest, _ claim: Claim = .none, _ body: () async throws -> sending R
  ) async throws -> sending R {
    let ticket = ticket(interest.priority, claim)
    follow(interest, ticket)
    return try await run(ticket, body)
  }

  /// Waits for a place, which is taken for as long as somebody holds on to what comes back.
  func place(_ interest: Interest) async throws -> Place {
    let ticket = ticket(interest.priority)
    follow(interest, ticket)
    try await enter(ticket)
    return Place(self, ticket)
  }

  final class Place: Sendable {
    private let queue: LimitedQueue
    private let ticket: Ticket

    fileprivate init(_ queue: LimitedQueue, _ ticket: Ticket) {
      self.queue = queue
      self.ticket = ticket
    }

    deinit { queue.leave(ticket) }

    /// Makes it one of preheating's places when nothing else is behind `interest`, now or later.
    func follow(_ interest: Interest) { queue.follow(interest, ticket) }
  }

  /// Changes the priority of one that waits. What has a place keeps it; as one of preheating's, once it is wanted by nothing
  /// else.
  func setPriority(_ priority: ImageRequest.Priority, of ticket: Ticket) {
    state.withLock { $0.places.setPriority(priority, of: ticket.number) }
    admit()
  }

  func setAdmitsPreheating(_ admits: Bool) {
    state.withLock { $0.places.admitsPreheating = admits }
    if admits { admit() }
  }

  /// How many have a ticket and no place; and how many of them have begun to wait.
  var waitingCount: Int { state.withLock { $0.places.waiting.count } }
  var begunWaitingCount: Int { state.withLock { $0.places.waiting.continuationCount } }
  var runningCount: Int { state.withLock { $0.places.heldCount } }

  private func follow(_ interest: Interest, _ ticket: Ticket) {
    interest.follow { interest in
      // Asked for with the lock held: of two changes at a time the later one may be told first.
      self.state.withLock { $0.places.setPriority(interest.priority, of: ticket.number) }
      self.admit()
    }
  }

  // MARK: Entering and leaving

  private func enter(_ ticket: Ticket) async throws {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isThere = state.withLock { $0.places.waiting.wait(ticket.number, continuation) }
        if isThere { admit() } else { continuation.resume(throwing: CancellationError()) }
      }
    } onCancel: {
      // Then others may enter whom it kept out.
      let waiter = state.withLock { $0.places.waiting.remove(ticket.number) }
      admit()
      waiter?.continuation?.resume(throwing: CancellationError())
    }
  }

  private func leave(_ ticket: Ticket) {
    state.withLock { $0.places.leave(ticket.number) }
    admit()
  }

  private func admit() {
    let admitted = state.withLock { $0.places.admit() }
    for continuation in admitted { continuation.resume() }
  }
}
