#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The errnos to which the store reacts in a way of its own.
enum SystemCode {
  /// Whether resources ran short: nothing was written, and a retry may succeed.
  static func isShortage(_ code: Int32) -> Bool { code == ENOMEM || code == ENFILE || code == EMFILE }
  static func isNoSpace(_ code: Int32) -> Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }
}
