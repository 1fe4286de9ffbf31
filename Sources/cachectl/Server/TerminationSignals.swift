import Glibc

/// SIGTERM and SIGINT, taken by one thread at a point of its own. They are blocked on all threads that are started later.
struct TerminationSignals {
  private let set: sigset_t

  /// Blocks the signals on this thread.
  static func block() -> TerminationSignals {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGTERM)
    sigaddset(&set, SIGINT)
    pthread_sigmask(SIG_BLOCK, &set, nil)
    return TerminationSignals(set: set)
  }

  /// Waits for one of them. A second one then ends the process as usual.
  func wait() {
    var set = set
    var number: Int32 = 0
    while sigwait(&set, &number) != 0 {}
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
  }
}

/// The number of files that this process may open.
enum DescriptorLimit {
  /// Raises the limit as far as the system allows.
  static func raise() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max else {
      return
    }
    limit.rlim_cur = min(limit.rlim_max, 1 << 20)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
