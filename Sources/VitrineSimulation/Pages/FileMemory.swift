import Vitrine

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Address space for one mapped file. It takes memory only where it is touched.
///
/// An explorer makes and drops thousands of disks a second, and unmapping stalls all threads, so regions are reused.
/// The caller of ``noteExtent(_:)`` holds the disk's lock, and stores lie inside the file.
///
/// Invariant: `start` stays valid for `byteCount` bytes until the last reference is released; the file and each of
/// its mappings hold one, so a mapping outlives the file's name and handle. Behind `extent` a reused region holds
/// zeros.
final class FileMemory: @unchecked Sendable {
  let start: UnsafeMutableRawPointer
  let byteCount: Int
  /// The offset up to which bytes may have been written. Under the disk's lock.
  private(set) var extent = 0
  private let isReused: Bool

  private static let kept = Guarded<[Int: [UnsafeMutableRawPointer]]>([:])
  private static let mostKept = 64
  /// A region with a larger extent is not kept, because zeroing it costs more than new pages do.
  private static let largestKeptExtent = 1 << 20

  /// Reserves the region. Returns nil if the address space is used up.
  init?(byteCount: Int, isReused: Bool) {
    self.byteCount = byteCount
    self.isReused = isReused
    if isReused, let start = FileMemory.kept.withLock({ $0[byteCount]?.popLast() }) {
      self.start = start
      return
    }
    #if os(Linux)
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    #else
      let flags = MAP_PRIVATE | MAP_ANON
    #endif
    guard byteCount > 0, let start = mmap(nil, byteCount, PROT_READ | PROT_WRITE, flags, -1, 0),
      start != MAP_FAILED
    else { return nil }
    self.start = start
  }

  func noteExtent(_ end: Int) { extent = min(max(extent, end), byteCount) }

  deinit {
    if isReused, extent <= FileMemory.largestKeptExtent {
      memset(start, 0, extent)
      let isKept = FileMemory.kept.withLock { kept in
        guard kept[byteCount, default: []].count < FileMemory.mostKept else { return false }
        kept[byteCount, default: []].append(start)
        return true
      }
      if isKept { return }
    }
    munmap(start, byteCount)
  }
}
