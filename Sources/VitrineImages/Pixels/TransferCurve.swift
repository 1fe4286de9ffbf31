import Foundation

/// The curve of sRGB (IEC 61966-2-1) between the bytes of a picture and amounts of light.
///
/// Both directions use tables. The conversion from light to byte always rounds to the nearest byte: a table of 4096
/// buckets gives the byte at a bucket's start, and one comparison decides whether the light is past the border to the
/// next byte. A bucket (0.000244) is narrower than the smallest distance of two borders (0.000304, near black), so it
/// contains at most one.
///
/// Invariant: the memory is written only in `init` and never freed. The process has a single instance.
struct TransferCurve: @unchecked Sendable {
  static let sRGB = TransferCurve()
  private static let bucketCount = 4096

  /// The light of a byte, 0 to 1.
  let light: UnsafePointer<Float>
  /// The byte at each bucket's start, with one more entry for the light 1.
  private let starts: UnsafePointer<UInt8>
  /// For each byte, the light from which the next byte begins.
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

  static func encoded(_ light: Double) -> Double {
    light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
  }

  /// Returns the nearest byte. `light` must be 0 to 1; the callers clamp it.
  @inline(__always)
  func byte(_ light: Float) -> UInt32 {
    let start = UInt32(starts[Int(light * Float(TransferCurve.bucketCount))])
    return light >= borders[Int(start)] ? start + 1 : start
  }
}
