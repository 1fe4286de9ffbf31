#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Address space for one mapped file. It takes memory only where it is touched.
///
/// Invariant: `start` stays valid for `byteCount` bytes until the last reference goes; the file and each of its
/// mappings hold one, so a mapping outlives the file's name and handle.
final class FileMemory: @unchecked Sendable {
  let start: UnsafeMutableRawPointer
  let byteCount: Int

  /// Nil when the address space is used up.
  init?(byteCount: Int) {
    #if os(Linux)
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    #else
      let flags = MAP_PRIVATE | MAP_ANON
    #endif
    guard byteCount > 0, let start = mmap(nil, byteCount, PROT_READ | PROT_WRITE, flags, -1, 0),
      start != MAP_FAILED
    else { return nil }
    self.start = start
    self.byteCount = byteCount
  }

  deinit { munmap(start, byteCount) }
}
