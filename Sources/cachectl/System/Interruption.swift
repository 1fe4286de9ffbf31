import Glibc
import Synchronization

/// SIGINT and SIGTERM as a wish to stop early, for commands that can. A second one ends the process as ever.
enum Interruption {
  private static let hasBeenAsked = Atomic<Bool>(false)

  static var isWanted: Bool { hasBeenAsked.load(ordering: .relaxed) }

  /// From here on. A signal that was ignored, as with nohup, stays so.
  static func listen() {
    // Before a handler needs it: what is made on first use must not be made in one.
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
      // A parent that blocks signals on the thread it starts us from hands that down.
      var one = sigset_t()
      sigemptyset(&one)
      sigaddset(&one, number)
      pthread_sigmask(SIG_UNBLOCK, &one, nil)
    }
  }
}
