/// Changes of the storage: so many at once, and those of one key one after another.
///
/// What is written of a key is decided and done with nothing of that key in between, such as a picture that an app saves
/// while an older download comes in. What preheats writes beside the others, one at a time: it takes no place from a request,
/// and keeps none waiting but for the same key, and that no longer than its own write takes. Safe from any thread.
final class KeyedWrites: Sendable {
  private let queue: LimitedQueue

  init(limit: Int) { queue = LimitedQueue(limit: limit, preheatingLimit: 1) }

  /// How many changes wait for others.
  var waitingCount: Int { queue.waitingCount }

  /// Waits for its turn with the priority that `interest` has meanwhile. Throws `CancellationError` when the task is
  /// cancelled before `body` begins, and what `body` throws.
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
