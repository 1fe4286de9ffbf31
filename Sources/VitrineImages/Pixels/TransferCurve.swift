import Foundation

/// The curve of sRGB (IEC 61966-2-1) between the bytes of a picture and the amounts of light that they stand for.
///
/// Both ways are tables. From light to byte it is rounded to the nearest byte, without exception: a table of 4096 buckets
/// gives the byte at a bucket's start, and one comparison tells whether the light is past the border to the next byte. A
/// bucket is narrower (0.000244) than any two borders are apart (0.000304, near black), so that it holds one at most.
///
/// Invariant: the memory is written in `init` alone and never freed; there is one for the process.
struct TransferCurve: @unchecked Sendable {
  static let sRGB = TransferCurve()
  private static let bucketCount = 4096

  /// The light of a byte, 0 to 1.
  let light: UnsafePointer<Float>
  /// The byte at each bucket's start; one more for the light 1.
  private let starts: UnsafePointer<UInt8>
  /// The light from which on it is the byte after this one.
  private let borders: UnsafePointer<Float>

  private init() {
    let light = UnsafeMutablePointer<Float>.allocate(capacity: 256)
    let borders = UnsafeMutablePointer<Float>.allocate(capacity: 256)
    let starts = UnsafeMutablePointer<UInt8>.allocate(capacity: TransferCurve.bucketCount + 1)
    for byte in 0..<256 {
      light[byte] = Float(TransferCurve.decoded(Double(byte) / 255))
      borders[byte] = byte == 255 ? .infinity : Float(TransferCurve.decoded((Double(byte) + 0.5) / 255))
    }
    var byte = 0
    for bucket in 0...TransferCurve.bucketCount {
      while borders[byte] <= Float(bucket) / Float(TransferCurve.bucketCount) { byte += 1 }
      starts[bucket] = UInt8(byte)
    }
    (self.light, self.borders, self.starts) = (UnsafePointer(light), UnsafePointer(borders), UnsafePointer(starts))
  }

  static func decoded(_ value: Double) -> Double {
    value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
  }

  /// The nearest byte. `light` is 0 to 1, which its callers have clamped it to.
  @inline(__always)
  func byte(_ light: Float) -> UInt32 {
    let start = UInt32(starts[Int(light * Float(TransferCurve.bucketCount))])
    return light >= borders[Int(start)] ? start + 1 : start
  }
}
