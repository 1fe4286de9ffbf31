#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Limits the address space of a body. libFuzzer's limits see allocated or touched memory; a table that is mapped
/// for 2^40 entries and never filled is neither.
package enum AddressSpace {
  package static let mostMebibytes = 128

  package static func limited(_ body: () -> Void) {
    let before = peakKibibytes()
    body()
    let grown = peakKibibytes() - before
    claim(grown < mostMebibytes << 10, "address space grew by \(grown >> 10) MiB")
  }

  /// Over the whole life of the process; 0 if the system does not tell.
  private static func peakKibibytes() -> Int {
    #if os(Linux)
      let file = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
      guard file >= 0 else { return 0 }
      defer { close(file) }
      return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { text in
        let count = max(0, read(file, text.baseAddress!, text.count - 1))
        text[count] = 0
        guard let found = strstr(text.baseAddress!, "VmPeak:") else { return 0 }
        return atol(found + "VmPeak:".utf8.count)
      }
    #else
      return 0
    #endif
  }
}
