/// Tells cheaply what zstd would not shrink.
enum Compressibility {
  /// Below this nothing is saved: records come in units of 64 bytes.
  static let smallest = 192

  /// True when compressing is worth a try: not for what already is compressed, by its first bytes, nor for bytes whose
  /// sample is spread almost evenly. O(1): looks at no more than 1 KiB.
  static func isWorthTrying(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count >= smallest && !hasCompressedSignature(bytes) && entropy(bytes) < 7.2
  }

  private static func hasCompressedSignature(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let p = bytes.baseAddress!
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

  /// Bits a byte (Shannon) of up to 1024 bytes taken from four places.
  private static func entropy(_ bytes: UnsafeRawBufferPointer) -> Double {
    withUnsafeTemporaryAllocation(of: UInt16.self, capacity: 256) { histogram in
      histogram.initialize(repeating: 0)
      let stretch = min(256, bytes.count / 4)
      let total = stretch * 4
      for part in 0..<4 {
        let start = part * (bytes.count - stretch) / 3
        for index in start..<start + stretch { histogram[Int(bytes[index])] += 1 }
      }
      var sum = 0.0
      for count in histogram where count > 0 { sum += Double(count) * log2Table[Int(count)] }
      // H = log2(n) - sum(c log2 c) / n. A short sample of even bytes cannot reach 8, so it is measured against the
      // most it could have.
      let most = log2Table[min(total, 256)]
      return (log2Table[total] - sum / Double(total)) * 8 / most
    }
  }

  private static let log2Table: [Double] = {
    var table = [Double](repeating: 0, count: 1025)
    for n in 1...1024 {
      // log2 without a math library: integer part from the bits, fraction by squaring.
      var value = Double(n)
      var result = 0.0
      while value >= 2 {
        value /= 2
        result += 1
      }
      var bit = 0.5
      for _ in 0..<24 {
        value *= value
        if value >= 2 {
          value /= 2
          result += bit
        }
        bit /= 2
      }
      table[n] = result
    }
    return table
  }()
}
