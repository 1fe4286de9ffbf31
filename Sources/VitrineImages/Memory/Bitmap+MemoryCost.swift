import Foundation

extension Bitmap {
  /// What holding it takes, in bytes, as a pipeline's memory cache counts it: its pixels; of a bitmap that is the store's
  /// memory, the whole pages that they lie on. Those pages are not copied: they are the system's own cache of the store's
  /// file, shared by all bitmaps on them, and it takes them back when memory gets short. They are counted in full all the
  /// same, because a bitmap that is held keeps its part of the file on the disk and mapped.
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
