#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A thread that no other thread waits for.
final class DetachedThread: Sendable {
  private let body: @Sendable () -> Void

  private init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  /// Starts a thread that runs `body`. Returns the error of the system; 0 if there is none.
  static func start(_ body: @escaping @Sendable () -> Void) -> Int32 { DetachedThread(body).start() }

  private func start() -> Int32 {
    let context = Unmanaged.passRetained(self)
    #if os(Linux)
      var thread = pthread_t()
      let code = pthread_create(&thread, nil, { DetachedThread.main($0) }, context.toOpaque())
    #else
      var created: pthread_t?
      let code = pthread_create(&created, nil, { DetachedThread.main($0) }, context.toOpaque())
      let thread = created ?? pthread_self()
    #endif
    guard code == 0 else {
      context.release()
      return code
    }
    pthread_detach(thread)
    return 0
  }

  /// Leaves signals to the embedding program's own threads. Call on a started thread. Faults stay unblocked: a blocked
  /// fault ends the process.
  static func blockSignals() {
    var all = sigset_t()
    sigfillset(&all)
    for number in [SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP] { sigdelset(&all, number) }
    pthread_sigmask(SIG_BLOCK, &all, nil)
  }

  private static func main(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { Unmanaged<DetachedThread>.fromOpaque(context).takeRetainedValue().body() }
    return nil
  }
}
