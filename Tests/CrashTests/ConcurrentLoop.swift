import Glibc
import Synchronization

/// Repeats a closure on a separate thread until it is stopped.
final class ConcurrentLoop: Sendable {
  private let isStopped = Atomic<Bool>(false)
  private let hasEnded = Atomic<Bool>(false)
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) {
    self.body = body
    var thread = pthread_t()
    let context = Unmanaged.passRetained(self).toOpaque()
    let result = pthread_create(
      &thread, nil,
      { context in
        Unmanaged<ConcurrentLoop>.fromOpaque(context!).takeRetainedValue().run()
        return nil
      }, context)
    precondition(result == 0)
    pthread_detach(thread)
  }

  private func run() {
    while !isStopped.load(ordering: .relaxed) { body() }
    hasEnded.store(true, ordering: .releasing)
  }

  func stop() {
    isStopped.store(true, ordering: .relaxed)
    while !hasEnded.load(ordering: .acquiring) { usleep(1000) }
  }
}
