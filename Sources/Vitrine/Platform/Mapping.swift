import CVitrineSystem

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A range of memory that shows a file.
///
/// Invariants: `start` is valid for `byteCount` bytes until the mapping is released, with the last reference to it.
/// Objects that the release closure captures live until then. Code that reads or stores through `start` first checks
/// its range against `byteCount`. `range` is set before another thread knows the mapping.
package final class Mapping: @unchecked Sendable {
  package let start: UnsafeMutableRawPointer
  package let byteCount: Int
  private let showsPageCache: Bool
  private let release: @Sendable () -> Void
  private var range: OpaquePointer?

  /// `showsPageCache`: the memory is the system's pages of the file itself, so dropping it loses nothing.
  package init(
    start: UnsafeMutableRawPointer, byteCount: Int, showsPageCache: Bool = false,
    release: @escaping @Sendable () -> Void
  ) {
    self.start = start
    self.byteCount = byteCount
    self.showsPageCache = showsPageCache
    self.release = release
  }

  /// Registers the mapping with the bus error guard (``BusErrors``); a second call does nothing. The owner calls it
  /// before other code sees the mapping, and calls ``isDamaged(_:)`` after each read or store.
  package func guardPages(isWritable: Bool) {
    if showsPageCache, range == nil { range = vitrine_range_add(start, byteCount, isWritable) }
  }

  /// Returns the offset of an address within the mapping, nil for any other address.
  func offset(of address: UnsafeRawPointer) -> Int? {
    let offset = address - UnsafeRawPointer(start)
    return offset >= 0 && offset < byteCount ? offset : nil
  }

  /// Returns whether zeros replace a page under `bytes`, which lie within the mapping. O(1) before the process's
  /// first bus error.
  @inline(__always)
  package func isDamaged(_ bytes: UnsafeRawBufferPointer) -> Bool {
    BusErrors.haveHappened && vitrine_range_is_damaged(range, bytes.baseAddress, bytes.count)
  }

  /// The bytes of a page of the system: 4096, or more on some ARM machines.
  private static let pageByteCount = max(4096, sysconf(Int32(_SC_PAGESIZE)))

  /// Populates the pages of a range of a writable mapping, ready for stores. Returns false if a page cannot be had;
  /// true if the system has no such call.
  package func populate(_ range: Range<Int>) -> Bool {
    #if os(Linux)
      let page = Mapping.pageByteCount
      let from = range.lowerBound & ~(page - 1)
      let end = roundUp(min(range.upperBound, byteCount), to: page)
      // MADV_POPULATE_WRITE, since Linux 5.14.
      if madvise(start + from, max(0, end - from), 23) == 0 { return true }
      return errno == EINVAL
    #else
      return true
    #endif
  }

  /// Unmaps the pages of a populated range: the stored bytes stay in the file, and the next store has to populate
  /// it again. A sync revokes the right to write from every mapped page, with an interrupt of the other cores for
  /// each; this does it for all of them at once.
  /// - Parameter keepsLast: Whether a page stays of which the range has only the beginning.
  package func retreat(_ range: Range<Int>, keepsLast: Bool) {
    #if os(Linux)
      let page = Mapping.pageByteCount
      let from = range.lowerBound & ~(page - 1)
      let end = keepsLast ? range.upperBound & ~(page - 1) : roundUp(min(range.upperBound, byteCount), to: page)
      if showsPageCache, from < end { madvise(start + from, end - from, Int32(MADV_DONTNEED)) }
    #endif
  }

  deinit {
    vitrine_range_remove(range)
    release()
  }
}
