#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Which thread it was.
struct ThreadIdentity: Equatable, @unchecked Sendable {
  private let thread: pthread_t

  static var current: ThreadIdentity { ThreadIdentity(thread: pthread_self()) }

  static func == (first: ThreadIdentity, second: ThreadIdentity) -> Bool {
    pthread_equal(first.thread, second.thread) != 0
  }
}
