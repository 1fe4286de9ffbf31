import Glibc

/// SIGTERM, SIGINT and, if requested, SIGHUP. One thread blocks these signals, and waits for them. Threads that are
/// started later inherit the mask.
struct TerminationSignals {
  private let set: sigset_t

  /// Blocks the signals on this thread.
  static func block(withHangup: Bool) -> TerminationSignals {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGTERM)
    sigaddset(&set, SIGINT)
    if withHangup { sigaddset(&set, SIGHUP) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
    return TerminationSignals(set: set)
  }

  /// Waits for SIGTERM or SIGINT, and calls a function at each SIGHUP. A second SIGTERM then ends the process as usual.
  func wait(onHangup: () -> Void) {
    var set = set
    var number: Int32 = 0
    while sigwait(&set, &number) != 0 || number == SIGHUP {
      if number == SIGHUP { onHangup() }
      number = 0
    }
    // A SIGHUP while the store is being closed must not end the process.
    sigdelset(&set, SIGHUP)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
  }
}

/// The number of files that this process may open.
enum DescriptorLimit {
  /// Raises the limit to the most that the system allows, up to 1,048,576.
  static func raise() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max else {
      return
    }
    limit.rlim_cur = min(limit.rlim_max, 1 << 20)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
