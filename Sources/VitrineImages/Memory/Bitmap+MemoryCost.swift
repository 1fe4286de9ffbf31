import Foundation

extension Bitmap {
  /// The memory that a retained bitmap costs in a pipeline's memory cache, in bytes. For pixels in memory it is their
  /// size. For pixels mapped from the store it is the whole pages that they lie on. Those pages are the system's cache
  /// of the store's file: they are shared by all bitmaps on them, and the system reclaims them when memory is short.
  /// They count in full nevertheless, since a retained bitmap keeps its part of the file on the disk and mapped.
  var memoryCost: Int {
    guard isMapped else { return layout.byteCount }
    return withPixels { span in
      span.withUnsafeBytes { bytes in
        let page = Bitmap.pageByteCount
        let start = UInt(bitPattern: bytes.baseAddress)
        let (first, end) = (start / page, (start + UInt(layout.byteCount) + page - 1) / page)
        return Int((end - first) * page)
      }
    }
  }

  private static let pageByteCount = UInt(max(1, sysconf(Int32(_SC_PAGESIZE))))
}
