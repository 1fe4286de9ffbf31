import CImageCodecs
import Vitrine

/// Writes bitmaps as JPEG, PNG or WebP. A value without state: one may be used by any number of threads at once.
public struct ImageEncoder: Sendable {
  /// A format to write, with its quality.
  public enum Encoding: Sendable, Hashable {
    /// Quality is 0 to 1. Above 0.9 colours are kept at full resolution.
    case jpeg(quality: Double = 0.8)
    /// PNG, which keeps every pixel.
    case png
    /// Quality is 0 to 1.
    case webp(quality: Double = 0.8)
    /// WebP that keeps every pixel.
    case losslessWebP

    /// The format of the file.
    public var format: ImageFormat {
      switch self {
      case .jpeg: .jpeg
      case .png: .png
      case .webp, .losslessWebP: .webp
      }
    }
  }

  /// For bitmaps all of whose pixels are opaque, whatever their format has room for.
  public var opaque: Encoding
  /// For the others.
  public var transparent: Encoding

  /// Makes an encoder. Checks nothing; ``encode(_:)`` throws for a quality outside 0 to 1.
  public init(opaque: Encoding = .jpeg(), transparent: Encoding = .png) {
    self.opaque = opaque
    self.transparent = transparent
  }

  /// The bytes of a file, and what they are. Throws `cannotEncode` for sides that the format has not (65,500 pixels in
  /// JPEG, 16,383 in WebP), for transparent pixels as JPEG, and for a quality outside 0 to 1; `outOfMemory`.
  ///
  /// O(pixels); takes four bytes for each of them meanwhile. Blocks the thread that calls it.
  public func encode(_ bitmap: Bitmap) throws(ImageError) -> (bytes: [UInt8], format: ImageFormat) {
    let pixels = try StraightPixels(bitmap)
    let encoding = pixels.hasAlpha ? transparent : opaque
    return (try ImageEncoder.encode(pixels, as: encoding), encoding.format)
  }

  /// The same in a given encoding.
  public static func encode(_ bitmap: Bitmap, as encoding: Encoding) throws(ImageError) -> [UInt8] {
    try encode(StraightPixels(bitmap), as: encoding)
  }

  // MARK: Inside

  private static func encode(_ pixels: StraightPixels, as encoding: Encoding) throws(ImageError) -> [UInt8] {
    let rows = vitrine_image_pixels(pixels.memory.bytes, bytesPerRow: pixels.size.width * 4, pixels.size)
    var buffer = vitrine_image_buffer()
    defer { vitrine_image_buffer_free(&buffer) }
    var result = vitrine_image_result()
    switch encoding {
    case .jpeg(let quality):
      let percent = try percent(quality, .jpeg)
      if pixels.hasAlpha { throw .cannotEncode(.jpeg, reason: "it has no transparency, and some pixels do") }
      vitrine_jpeg_encode(rows, Int32(percent.rounded()), &buffer, &result)
    case .png:
      vitrine_png_encode(rows, pixels.hasAlpha, &buffer, &result)
    case .webp(let quality):
      vitrine_webp_encode(rows, pixels.hasAlpha, Float(try percent(quality, .webp)), &buffer, &result)
    case .losslessWebP:
      vitrine_webp_encode(rows, pixels.hasAlpha, -1, &buffer, &result)
    }
    withExtendedLifetime(pixels) {}
    switch result.status {
    case VITRINE_IMAGE_OK: return Array(UnsafeBufferPointer(start: buffer.bytes, count: buffer.count))
    case VITRINE_IMAGE_NO_MEMORY: throw .outOfMemory(byteCount: pixels.memory.bytes.count)
    default: throw .cannotEncode(encoding.format, reason: result.reason)
    }
  }

  private static func percent(_ quality: Double, _ format: ImageFormat) throws(ImageError) -> Double {
    guard (0...1).contains(quality) else {
      throw .cannotEncode(format, reason: "a quality is 0 to 1, not \(quality)")
    }
    return quality * 100
  }
}
