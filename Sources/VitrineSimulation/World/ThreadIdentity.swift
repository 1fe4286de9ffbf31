#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Identifies a thread.
///
/// Invariant: `thread` is compared and never used to reach the thread.
struct ThreadIdentity: Equatable, @unchecked Sendable {
  private let thread: pthread_t

  static var current: ThreadIdentity { ThreadIdentity(thread: pthread_self()) }

  static func == (first: ThreadIdentity, second: ThreadIdentity) -> Bool {
    pthread_equal(first.thread, second.thread) != 0
  }
}

/// The system's status of a thread, read from the thread's files in `/proc`, which Linux has.
struct ThreadStatus: Sendable {
  private let path: String?

  /// The status of the calling thread.
  init() {
    var link = [UInt8](repeating: 0, count: 64)
    let count = link.withUnsafeMutableBytes { bytes in
      bytes.withMemoryRebound(to: CChar.self) { readlink("/proc/thread-self", $0.baseAddress!, $0.count) }
    }
    path = count > 0 && count < link.count ? "/proc/\(String(decoding: link[..<count], as: UTF8.self))/stat" : nil
  }

  /// Whether it waits for something other than a processor or a disk. False if unknown.
  var isAsleep: Bool {
    guard let path else { return false }
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return false }
    defer { close(file) }
    var text = [UInt8](repeating: 0, count: 256)
    let count = text.withUnsafeMutableBytes { read(file, $0.baseAddress, $0.count) }
    // Its state follows its name, which may have any characters.
    guard count > 0, let end = text[..<count].lastIndex(of: UInt8(ascii: ")")), end + 2 < count else { return false }
    return text[end + 2] == UInt8(ascii: "S")
  }
}
