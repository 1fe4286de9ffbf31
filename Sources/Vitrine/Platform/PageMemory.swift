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

/// Zeroed memory. If it is aligned or has more than two pages, it comes from the system. Such memory costs nothing
/// until it is touched, and returns to the system when it is freed. So a growing table stays within its bytes per
/// entry. Other memory comes from the allocator, because two system calls for each of a hundred small tables would be
/// most of the time to open a small store.
///
/// Invariant: `start` is valid for `byteCount` bytes until `free()`; the owner calls it once.
package struct PageMemory: @unchecked Sendable {
  package let start: UnsafeMutableRawPointer
  package let byteCount: Int
  private let isMapped: Bool

  private static let largestAllocated = 8192
  /// The largest memory whose pages are provided together. A damaged file may claim a larger size, so pages of larger
  /// memory are provided one by one.
  private static let mostProvided = 16 << 20

  /// Allocates memory. Returns nil if none is left. `isAligned`: the memory begins on a page, like that of a mapped
  /// file. `isExact`: a small size is not rounded up to a page. Use it for many small blocks.
  /// `isUsedWhole`: all pages will be used at once. The system then provides them together, instead of one at each
  /// first read and again at each first write.
  package init?(byteCount: Int, isAligned: Bool = true, isExact: Bool = false, isUsedWhole: Bool = false) {
    let isSmall = isExact && !isAligned && byteCount <= PageMemory.largestAllocated
    self.byteCount = roundUp(max(byteCount, 1), to: isSmall ? 16 : 4096)
    isMapped = isAligned || self.byteCount > PageMemory.largestAllocated
    if !isMapped {
      guard let memory = calloc(1, self.byteCount) else { return nil }
      start = memory
      return
    }
    #if os(Linux)
      let flags =
        MAP_PRIVATE | MAP_ANONYMOUS | Int32(MAP_NORESERVE)
        | (isUsedWhole && byteCount <= PageMemory.mostProvided ? Int32(MAP_POPULATE) : 0)
    #else
      let flags = MAP_PRIVATE | MAP_ANON
    #endif
    guard let memory = mmap(nil, self.byteCount, PROT_READ | PROT_WRITE, flags, -1, 0), memory != MAP_FAILED else {
      return nil
    }
    start = memory
  }

  package func free() {
    if isMapped { munmap(start, byteCount) } else { releaseAllocated(start) }
  }
}

/// Calls `free` of the C library, which the method of that name hides.
private func releaseAllocated(_ memory: UnsafeMutableRawPointer) { free(memory) }
