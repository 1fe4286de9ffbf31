#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

@inline(__always)
func memcmp(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer, _ count: Int) -> Int32 {
  #if canImport(Glibc)
    Glibc.memcmp(a, b, count)
  #elseif canImport(Musl)
    Musl.memcmp(a, b, count)
  #else
    Darwin.memcmp(a, b, count)
  #endif
}

@inline(__always)
package func zeroMemory(_ start: UnsafeMutableRawPointer, _ count: Int) {
  #if canImport(Glibc)
    _ = Glibc.memset(start, 0, count)
  #elseif canImport(Musl)
    _ = Musl.memset(start, 0, count)
  #else
    _ = Darwin.memset(start, 0, count)
  #endif
}

/// Zeroed pages straight from the system: they cost nothing until touched and go back when freed, which a growing
/// table needs to stay within its bytes an entry.
///
/// Invariant: `start` is valid for `byteCount` bytes until `free()`; the owner calls it once.
package struct PageMemory: @unchecked Sendable {
  package let start: UnsafeMutableRawPointer
  package let byteCount: Int

  /// Nil when the system has no memory left.
  package init?(byteCount: Int) {
    let rounded = roundUp(max(byteCount, 1), to: 4096)
    #if os(Linux)
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | Int32(MAP_NORESERVE)
    #else
      let flags = MAP_PRIVATE | MAP_ANON
    #endif
    guard let memory = mmap(nil, rounded, PROT_READ | PROT_WRITE, flags, -1, 0), memory != MAP_FAILED else {
      return nil
    }
    start = memory
    self.byteCount = rounded
  }

  package func free() { munmap(start, byteCount) }
}
