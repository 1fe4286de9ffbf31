#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Claims that a body takes little address space. The limits of libFuzzer count only allocated or touched memory, so
/// they miss a table that is mapped for 2^40 entries and never filled.
package enum AddressSpace {
  package static let mostMebibytes = 128

  package static func limited(_ body: () -> Void) {
    let before = peakKibibytes()
    body()
    let grown = peakKibibytes() - before
    claim(grown < mostMebibytes << 10, "address space grew by \(grown >> 10) MiB")
  }

  /// Over the whole life of the process; 0 if the system does not report it.
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
