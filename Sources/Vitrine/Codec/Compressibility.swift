/// A cheap test for bytes that zstd would not shrink.
enum Compressibility {
  /// The fewest bytes that are worth compressing. Records take units of 64 bytes, so compressing fewer saves at most
  /// two units.
  static let smallest = 192

  private static let sampleByteCount = 128
  /// 128 random bytes have 101 different values, give or take 5; text has some 45, pixels of a drawing fewer.
  private static let mostValues = 84

  /// Returns whether compressing is worth a try. False for compressed formats, by their first bytes, and if a
  /// sample has almost as many different values as random bytes. O(1): reads 128 bytes.
  static func isWorthTrying(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count >= smallest, let start = bytes.baseAddress else { return false }
    if hasCompressedSignature(start) { return false }
    return differentValues(start, bytes.count) <= mostValues
  }

  private static func hasCompressedSignature(_ p: UnsafeRawPointer) -> Bool {
    let first = p.u32(0)
    switch first {
    case 0x474E_5089, 0x3846_4947, 0xFD2F_B528, 0x0403_4B50: return true  // PNG, GIF8, zstd, zip
    case 0x4646_4952: return p.u32(8) == 0x5042_4557  // RIFF … WEBP
    default: break
    }
    if first & 0xFF_FFFF == 0xFF_D8FF { return true }  // JPEG
    if first & 0xFFFF == 0x8B1F { return true }  // gzip
    return p.u32(4) == 0x7079_7466  // … ftyp: HEIC, AVIF, MP4
  }

  /// Returns the number of different values among 128 bytes taken from four places.
  private static func differentValues(_ p: UnsafeRawPointer, _ count: Int) -> Int {
    let stretch = sampleByteCount / 4
    var seen: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    return withUnsafeMutableBytes(of: &seen) { seen in
      let words = seen.baseAddress!.assumingMemoryBound(to: UInt64.self)
      for part in 0..<4 {
        let start = p + part * ((count - stretch) / 3)
        for index in 0..<stretch {
          let byte = Int(start.u8(index))
          words[byte >> 6] |= 1 << UInt64(byte & 63)
        }
      }
      return words[0].nonzeroBitCount + words[1].nonzeroBitCount + words[2].nonzeroBitCount
        + words[3].nonzeroBitCount
    }
  }
}
