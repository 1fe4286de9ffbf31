#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A range of memory that shows a file.
///
/// Invariants: `start` is valid for `byteCount` bytes until the mapping is released, which happens when the last
/// reference goes; what the release closure captures stays alive until then. Only the engine's record views read
/// through `start`, and they check every range against `byteCount` first.
package final class Mapping: @unchecked Sendable {
  package let start: UnsafeMutableRawPointer
  package let byteCount: Int
  private let release: @Sendable () -> Void

  package init(start: UnsafeMutableRawPointer, byteCount: Int, release: @escaping @Sendable () -> Void) {
    self.start = start
    self.byteCount = byteCount
    self.release = release
  }

  /// Brings the pages of a range of a writable mapping in, ready to be stored to. False when one cannot be had; true
  /// where the system has no way to ask.
  package func populate(_ range: Range<Int>) -> Bool {
    #if os(Linux)
      let from = range.lowerBound & ~4095
      let count = roundUp(range.upperBound, to: 4096) - from
      // MADV_POPULATE_WRITE, since Linux 5.14.
      if madvise(start + from, min(count, roundUp(byteCount, to: 4096) - from), 23) == 0 { return true }
      return errno == EINVAL
    #else
      return true
    #endif
  }

  deinit { release() }
}
