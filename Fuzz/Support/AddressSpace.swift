#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Claims that a body takes little address space. The limits of libFuzzer count only allocated or touched memory, so
/// they miss a table that is mapped for 2^40 entries and never filled.
///
/// The system reports the highest size of the process's life. If a body raises it, the body has grown from its first
/// size to there. A body that stays below an earlier peak shows nothing.
package enum AddressSpace {
  package static let mostMebibytes = 128

  package static func limited(_ body: () -> Void) {
    let before = kibibytes()
    body()
    let after = kibibytes()
    let grown = after.peak > before.peak ? after.peak - before.now : 0
    claim(grown < mostMebibytes << 10, "address space grew by \(grown >> 10) MiB")
  }

  /// The size of the process now, and its highest size so far; 0 if the system does not report them.
  private static func kibibytes() -> (now: Int, peak: Int) {
    #if os(Linux)
      let file = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
      guard file >= 0 else { return (0, 0) }
      defer { close(file) }
      return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { text in
        let count = max(0, read(file, text.baseAddress!, text.count - 1))
        text[count] = 0
        func value(_ name: String) -> Int {
          guard let found = strstr(text.baseAddress!, name) else { return 0 }
          return atol(found + name.utf8.count)
        }
        return (value("VmSize:"), value("VmPeak:"))
      }
    #else
      return (0, 0)
    #endif
  }
}
