/// Runs changes of the storage: a limited number at once, and the changes of one key one after another.
///
/// Each change decides and writes without another change of the key in between, such as an app that saves a picture
/// while an older download arrives. Preheating has one additional place. So it takes no place from a request, and
/// delays one only for the same key, by the time of one write. Thread-safe.
final class KeyedWrites: Sendable {
  private let queue: LimitedQueue

  init(limit: Int) { queue = LimitedQueue(limit: limit, preheatingLimit: 1) }

  /// The number of changes that wait.
  var waitingCount: Int { queue.waitingCount }

  /// Waits for its turn and runs `body`. The priority follows `interest` during the wait. Throws `CancellationError`
  /// if the task is canceled before `body` begins, and errors of `body`.
  func run<R: Sendable>(
    _ key: String, _ interest: Interest, _ body: () async throws -> sending R
  ) async throws -> sending R {
    try await queue.run(interest, .key(key), body)
  }

  /// Runs `body` with no other change under way.
  func runAlone<R: Sendable>(_ body: () async throws -> sending R) async throws -> sending R {
    try await queue.run(Interest(.high), .all, body)
  }
}
