import Glibc
import Synchronization

/// SIGINT and SIGTERM as a request to stop early, for commands that can. A second signal ends the process as usual.
package enum Interruption {
  private static let hasBeenAsked = Atomic<Bool>(false)

  package static var isWanted: Bool { hasBeenAsked.load(ordering: .relaxed) || isPending }

  /// Whether one of the signals is pending and blocked on this thread. A server blocks both for its whole life.
  private static var isPending: Bool {
    var pending = sigset_t()
    return sigpending(&pending) == 0 && [SIGINT, SIGTERM].contains { sigismember(&pending, $0) == 1 }
  }

  /// Starts listening. A signal that was ignored, as with nohup, stays ignored.
  package static func listen() {
    // Initialized before the handler needs it: a lazy initializer must not run in a handler.
    hasBeenAsked.store(false, ordering: .relaxed)
    for number in [SIGINT, SIGTERM] {
      var current = sigaction()
      guard sigaction(number, nil, &current) == 0,
        unsafeBitCast(current.__sigaction_handler.sa_handler, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self)
      else { continue }
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { _ in Interruption.hasBeenAsked.store(true, ordering: .relaxed) }
      action.sa_flags = CInt(bitPattern: UInt32(SA_RESETHAND)) | SA_RESTART
      sigaction(number, &action, nil)
      // A parent that blocks signals on its thread passes that mask on to this process.
      var one = sigset_t()
      sigemptyset(&one)
      sigaddset(&one, number)
      pthread_sigmask(SIG_UNBLOCK, &one, nil)
    }
  }
}
