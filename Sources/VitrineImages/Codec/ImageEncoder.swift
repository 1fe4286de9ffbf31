import CImageCodecs
import Vitrine

/// Encodes bitmaps as JPEG, PNG or WebP. A stateless value, which several threads may use at once.
public struct ImageEncoder: Sendable {
  /// A format to write, with its quality.
  public enum Encoding: Sendable, Hashable {
    /// JPEG, with a quality of 0 to 1. Above 0.9 colors keep their full resolution.
    case jpeg(quality: Double = 0.8)
    /// PNG, which is lossless.
    case png
    /// WebP, with a quality of 0 to 1.
    case webp(quality: Double = 0.8)
    /// Lossless WebP.
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

  /// The encoding of bitmaps whose pixels are all opaque, even if their format has alpha.
  public var opaque: Encoding
  /// The encoding of all other bitmaps.
  public var transparent: Encoding

  /// Creates an encoder. Checks nothing; ``encode(_:)`` throws for a quality outside 0 to 1.
  public init(opaque: Encoding = .jpeg(), transparent: Encoding = .png) {
    self.opaque = opaque
    self.transparent = transparent
  }

  /// Returns the bytes of a file, and its format. Throws `cannotEncode` for sides beyond the format's maximum (65,500
  /// pixels in JPEG, 16,383 in WebP), for transparent pixels as JPEG, and for a quality outside 0 to 1. Throws
  /// `outOfMemory` if memory is short.
  ///
  /// O(pixels). Takes 4 bytes of temporary memory for each pixel. Blocks the calling thread.
  public func encode(_ bitmap: Bitmap) throws(ImageError) -> (bytes: [UInt8], format: ImageFormat) {
    let pixels = try StraightPixels(bitmap)
    let encoding = pixels.hasAlpha ? transparent : opaque
    return (try ImageEncoder.encode(pixels, as: encoding), encoding.format)
  }

  /// Returns the bytes of a file in a given encoding. Throws as ``encode(_:)`` does.
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
      if pixels.hasAlpha {
        throw .cannotEncode(.jpeg, reason: "the format has no transparency, and some pixels are transparent")
      }
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
      throw .cannotEncode(format, reason: "the quality must be 0 to 1, not \(quality)")
    }
    return quality * 100
  }
}
