import CImageCodecs

/// The library behind a built-in format.
struct FormatCodec: Sendable {
  typealias ReadInfo =
    @Sendable (
      PictureBytes, UnsafeMutablePointer<vitrine_image_info>, UnsafeMutablePointer<vitrine_image_result>
    ) -> Void
  typealias Decode =
    @Sendable (
      PictureBytes, DecodingPlan, vitrine_image_limits, vitrine_image_pixels,
      UnsafeMutablePointer<vitrine_image_result>
    ) -> Void

  let format: ImageFormat
  /// The longest side in pixels that a header of the format can declare.
  let longestSide: Int64
  /// The number of bytes per pixel that the library keeps for a whole picture, besides the decoded pixels.
  let keptBytesPerPixel: @Sendable (ImageInfo) -> Int
  /// Whether only decoder processes decode the format. Its library must be confined in memory and in time.
  var needsProcess = false
  let readInfo: ReadInfo
  let decode: Decode

  static func of(_ format: ImageFormat) -> FormatCodec? { all.first { $0.format == format } }

  /// All formats of this build. ``DecoderFrame`` identifies a format by its index here.
  static let all: [FormatCodec] = basic + more + [svg]

  private static let svg = FormatCodec(
    format: .svg, longestSide: 1 << 31 - 1,
    // The address space of the process bounds the memory of the library.
    keptBytesPerPixel: { _ in 0 }, needsProcess: true,
    readInfo: { vitrine_svg_info($0.pointer, $0.count, $1, $2) },
    decode: { vitrine_svg_decode($0.pointer, $0.count, $3, $4) })

  private static let basic = [
    FormatCodec(
      format: .jpeg, longestSide: 65_535,
      // libjpeg counts its own memory.
      keptBytesPerPixel: { _ in 0 },
      readInfo: { vitrine_jpeg_info($0.pointer, $0.count, $1, $2) },
      decode: { vitrine_jpeg_decode($0.pointer, $0.count, $1.scale.eighths, $2, $3, $4) }),
    FormatCodec(
      format: .png, longestSide: 1 << 31 - 1,
      // libpng keeps two rows.
      keptBytesPerPixel: { _ in 0 },
      readInfo: { vitrine_png_info($0.pointer, $0.count, $1, $2) },
      decode: { vitrine_png_decode($0.pointer, $0.count, $2, $3, $4) }),
    FormatCodec(
      format: .webp, longestSide: 1 << 24,
      // A second copy of lossless pixels. For lossy pictures, the alpha, which is lossless. The header of an animation
      // does not say which of the two a frame has.
      keptBytesPerPixel: { $0.isAnimated || $0.hasAlpha && !$0.isLossless ? 5 : $0.isLossless ? 4 : 0 },
      readInfo: { vitrine_webp_info($0.pointer, $0.count, $1, $2) },
      decode: { vitrine_webp_decode($0.pointer, $0.count, $2, $3, $4) }),
    FormatCodec(
      format: .bmp, longestSide: 1 << 31 - 1,
      keptBytesPerPixel: { _ in 0 },
      readInfo: { vitrine_bmp_info($0.pointer, $0.count, $1, $2) },
      decode: { vitrine_bmp_decode($0.pointer, $0.count, $2, $3, $4) }),
    FormatCodec(
      format: .ico, longestSide: 1 << 31 - 1,
      keptBytesPerPixel: { _ in 0 },
      readInfo: { vitrine_ico_info($0.pointer, $0.count, $1, $2) },
      decode: { vitrine_ico_decode($0.pointer, $0.count, $2, $3, $4) }),
  ]

  #if MoreFormats
    private static let more = [
      FormatCodec(
        format: .gif, longestSide: 1 << 17,
        // giflib keeps a row.
        keptBytesPerPixel: { _ in 0 },
        readInfo: { vitrine_gif_info($0.pointer, $0.count, $1, $2) },
        decode: { vitrine_gif_decode($0.pointer, $0.count, $2, $3, $4) }),
      FormatCodec(
        format: .avif, longestSide: 65_536,
        // Three planes and alpha, two bytes each above 8 bits, once in the decoder and once for a grid of pictures.
        keptBytesPerPixel: { $0.bitsPerChannel > 8 ? 16 : 8 },
        readInfo: { vitrine_avif_info($0.pointer, $0.count, $1, $2) },
        decode: { vitrine_avif_decode($0.pointer, $0.count, $2, $3, $4) }),
      FormatCodec(
        format: .heic, longestSide: 1 << 31 - 1,
        // As for AVIF, and pixels of four bytes.
        keptBytesPerPixel: { $0.bitsPerChannel > 8 ? 20 : 12 },
        readInfo: { vitrine_heif_info($0.pointer, $0.count, $1, $2) },
        decode: { vitrine_heif_decode($0.pointer, $0.count, $2, $3, $4) }),
      FormatCodec(
        format: .tiff, longestSide: 1 << 32 - 1,
        // Pixels of four bytes. The library limits the memory of a strip.
        keptBytesPerPixel: { _ in 4 },
        readInfo: { vitrine_tiff_info($0.pointer, $0.count, $1, $2) },
        decode: { vitrine_tiff_decode($0.pointer, $0.count, $2, $3, $4) }),
      FormatCodec(
        format: .jpegXL, longestSide: 1 << 30,
        // Measured with files of each kind of coding, progressive ones included.
        keptBytesPerPixel: { $0.hasAlpha ? 56 : 40 },
        readInfo: { vitrine_jxl_info($0.pointer, $0.count, $1, $2) },
        decode: { vitrine_jxl_decode($0.pointer, $0.count, $2, $3, $4) }),
    ]
  #else
    private static let more: [FormatCodec] = []
  #endif
}
