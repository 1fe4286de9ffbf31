/// The places that one download takes: among the loads while a try is under way, and not while it waits for the next, so that
/// a host that does not answer keeps nobody from another; and one for its body, from before the first byte comes until
/// whoever asked for it lets go of it.
///
/// For one task.
final class DownloadPlaces {
  private let loads: LimitedQueue
  private let bodies: LimitedQueue
  private let interest: Interest
  private(set) var body: LimitedQueue.Place?

  init(loads: LimitedQueue, bodies: LimitedQueue, _ interest: Interest) {
    self.loads = loads
    self.bodies = bodies
    self.interest = interest
  }

  /// Throws `CancellationError` when the task is cancelled while it waits, and what `attempt` throws.
  func run<R: Sendable>(_ attempt: () async throws -> sending R) async throws -> sending R {
    if body == nil { body = try await bodies.place(interest) }
    return try await loads.run(interest, .none, attempt)
  }

  /// Between two tries, where nothing has come that is gone on from.
  func leaveBody() { body = nil }
}
