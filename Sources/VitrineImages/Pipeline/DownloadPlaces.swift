/// The places of one download. It has a place among the loads only during an attempt, not during the pause before the
/// next one, so a host that does not answer does not delay other downloads. It has one place for its body, from before
/// the first byte until the request releases the body.
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

  /// Throws `CancellationError` if the task is canceled while it waits, and errors of `attempt`.
  func run<R: Sendable>(_ attempt: () async throws -> sending R) async throws -> sending R {
    if body == nil { body = try await bodies.place(interest) }
    return try await loads.run(interest, .none, attempt)
  }

  /// Releases the body's place between two attempts, if no received bytes are to be continued.
  func leaveBody() { body = nil }
}
