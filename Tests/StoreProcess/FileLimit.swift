import Glibc

/// The limit of this process's open files.
enum FileLimit {
  /// Lowers the limit of open files. Returns false if the system refuses.
  static func lower(to count: Int) -> Bool {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = min(limit.rlim_cur, rlim_t(count))
    return setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
  }
}
