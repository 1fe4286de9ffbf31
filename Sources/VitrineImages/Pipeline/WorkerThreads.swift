import Dispatch

/// Runs work that keeps a processor busy, or waits for the disk, outside the thread pool of `async` code.
struct WorkerThreads: Sendable {
  private let queue = DispatchQueue(label: "vitrine.images", attributes: .concurrent)

  func run<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try body() }) }
    }
  }
}
