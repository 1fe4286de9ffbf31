/// Limits how many tasks run at once. The next waiter is the one with the highest priority, and among equals the
/// first.
///
/// Preheating has its own places, so it never takes one from a request. It gets one only while
/// ``setAdmitsPreheating(_:)`` allows it. Thread-safe. For the cost of entering and leaving, see ``WaitingLines``.
final class LimitedQueue: Sendable {
  /// A position in the queue. Its holder can change the priority during the wait.
  struct Ticket: Sendable, Hashable {
    fileprivate let number: UInt64
  }

  /// A condition that a waiter needs besides a place.
  enum Claim: Sendable, Hashable {
    case none
    /// No other task with this key runs at the same time. While it waits for the key, it takes no place.
    case key(String)
    /// No other task runs at the same time. Later waiters wait for this one.
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

  /// Returns a ticket for ``run(_:_:)``. Its priority can be changed from now on.
  func ticket(_ priority: PictureRequest.Priority, _ claim: Claim = .none) -> Ticket {
    state.withLock { state in
      state.nextNumber += 1
      state.places.waiting.append(state.nextNumber, priority, claim)
      return Ticket(number: state.nextNumber)
    }
  }

  /// Waits for a place and runs `body` in it. A ticket is used once. Throws `CancellationError` if the task is
  /// canceled during the wait, and errors of `body`.
  func run<R: Sendable>(_ ticket: Ticket, _ body: () async throws -> sending R) async throws -> sending R {
    try await enter(ticket)
    defer { leave(ticket) }
    return try await body()
  }

  /// Waits for a place with the priority of `interest`, which may change during the wait, and runs `body`.
  func run<R: Sendable>(
    _ interest: Interest, _ claim: Claim = .none, _ body: () async throws -> sending R
  ) async throws -> sending R {
    let ticket = ticket(interest.priority, claim)
    follow(interest, ticket)
    return try await run(ticket, body)
  }

  /// Waits for a place, and returns it. The place is free again once the returned object is released.
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

    /// Turns the place into a preheating place once only preheating is interested, through `interest` and all others.
    func follow(_ interest: Interest) { queue.follow(interest, ticket) }
  }

  /// Changes the priority of a waiter. A task that already has a place keeps it; if only preheating still wants it,
  /// the place becomes a preheating place.
  func setPriority(_ priority: PictureRequest.Priority, of ticket: Ticket) {
    state.withLock { $0.places.setPriority(priority, of: ticket.number) }
    admit()
  }

  func setAdmitsPreheating(_ admits: Bool) {
    state.withLock { $0.places.admitsPreheating = admits }
    if admits { admit() }
  }

  /// The number of tickets without a place, and the number of these that are suspended.
  var waitingCount: Int { state.withLock { $0.places.waiting.count } }
  var begunWaitingCount: Int { state.withLock { $0.places.waiting.continuationCount } }
  var runningCount: Int { state.withLock { $0.places.heldCount } }

  private func follow(_ interest: Interest, _ ticket: Ticket) {
    interest.follow { interest in
      // Reads the priority under the lock, because the calls for two concurrent changes may arrive in either order.
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
      // The removed waiter may have blocked others.
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
