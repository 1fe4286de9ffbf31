/// The format of a picture file.
///
/// A program names formats of its own with ``init(_:mimeType:)``, and decodes them with a ``FormatDecoding``.
public struct ImageFormat: Sendable, Hashable, CustomStringConvertible {
  /// The name, such as `JPEG`.
  public let name: String
  /// The media type, such as `image/jpeg`.
  public let mimeType: String

  /// Creates a format. Two formats are equal if their names and media types are.
  public init(_ name: String, mimeType: String) {
    self.name = name
    self.mimeType = mimeType
  }

  /// JPEG, baseline or progressive.
  public static let jpeg = ImageFormat("JPEG", mimeType: "image/jpeg")
  /// PNG.
  public static let png = ImageFormat("PNG", mimeType: "image/png")
  /// WebP, lossy or lossless.
  public static let webp = ImageFormat("WebP", mimeType: "image/webp")
  /// GIF. Needs the package trait `MoreFormats`.
  public static let gif = ImageFormat("GIF", mimeType: "image/gif")
  /// AVIF. Needs the package trait `MoreFormats`.
  public static let avif = ImageFormat("AVIF", mimeType: "image/avif")
  /// HEIC. Needs the package trait `MoreFormats`.
  public static let heic = ImageFormat("HEIC", mimeType: "image/heic")
  /// JPEG XL. Needs the package trait `MoreFormats`.
  public static let jpegXL = ImageFormat("JPEG XL", mimeType: "image/jxl")
  /// TIFF. Needs the package trait `MoreFormats`.
  public static let tiff = ImageFormat("TIFF", mimeType: "image/tiff")
  /// BMP.
  public static let bmp = ImageFormat("BMP", mimeType: "image/bmp")
  /// ICO. The largest picture is decoded.
  public static let ico = ImageFormat("ICO", mimeType: "image/vnd.microsoft.icon")

  /// SVG. A ``ProcessDecoder`` or an ``SVGDecoder`` draws it, at the size of the style.
  public static let svg = ImageFormat("SVG", mimeType: "image/svg+xml")

  /// The formats of this build: those that ``ImageDecoder`` decodes, and ``svg``.
  public static var builtIn: [ImageFormat] { FormatCodec.all.map(\.format) }

  public var description: String { name }

  /// Detects a built-in format by the first bytes. Throws `unsupportedFormat`, with a description of the detected kind
  /// of data. O(1), since at most 64 KiB are read; thread-safe.
  public init(of bytes: RawSpan) throws(ImageError) {
    self = try bytes.withUnsafeBytes { bytes throws(ImageError) in try ImageFormat(PictureBytes(bytes)) }
  }

  init(_ bytes: PictureBytes) throws(ImageError) {
    guard let format = ImageFormat.signature(of: bytes), FormatCodec.of(format) != nil else {
      throw .unsupportedFormat(found: ForeignFormat.name(of: bytes))
    }
    self = format
  }

  /// A prefix that is too short to decide counts as the only format whose files can begin with it.
  private static func signature(of bytes: PictureBytes) -> ImageFormat? {
    if bytes.begins([0xFF, 0xD8, 0xFF]) || bytes.count == 2 && bytes.begins([0xFF, 0xD8]) { return .jpeg }
    if bytes.begins(pngSignature) || (2..<8).contains(bytes.count) && pngSignature.starts(with: bytes.prefix(8)) {
      return .png
    }
    if bytes.hasText("RIFF", at: 0) && (bytes.hasText("WEBP", at: 8) || bytes.count < 12) { return .webp }
    if bytes.hasText("GIF87a", at: 0) || bytes.hasText("GIF89a", at: 0) { return .gif }
    if (3..<6).contains(bytes.count), ["GIF87a", "GIF89a"].contains(where: { $0.utf8.starts(with: bytes.prefix(6)) }) {
      return .gif
    }
    if bytes.begins([0x49, 0x49, 0x2A, 0x00]) || bytes.begins([0x4D, 0x4D, 0x00, 0x2A]) { return .tiff }
    if bytes.hasText("BM", at: 0) && bytes.count > 5 && bmpHeaderLengths.contains(bytes[14] ?? 40) { return .bmp }
    if bytes.begins([0x00, 0x00, 0x01, 0x00]) { return .ico }
    if bytes.begins([0xFF, 0x0A]) || bytes.begins(jpegXLSignature) { return .jpegXL }
    if (5..<12).contains(bytes.count) && jpegXLSignature.starts(with: bytes.prefix(12)) { return .jpegXL }
    return isoMedia(bytes) ?? (SVGSignature.isSVG(bytes) ? .svg : nil)
  }

  private static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  /// The first box of a container. A bare codestream begins with two bytes of its own.
  private static let jpegXLSignature: [UInt8] = [0, 0, 0, 12] + "JXL ".utf8 + [0x0D, 0x0A, 0x87, 0x0A]

  /// The lengths of the headers after the file header. A file header of two letters is too short to identify a format.
  private static let bmpHeaderLengths: Set<UInt8> = [12, 40, 52, 56, 64, 108, 124]

  /// A file of boxes begins with `ftyp`: its length, its name, a brand, a version, and further brands.
  private static func isoMedia(_ bytes: PictureBytes) -> ImageFormat? {
    guard bytes.hasText("ftyp", at: 4), let length = bytes.integer(at: 0, byteCount: 4, isLittleEndian: false) else {
      return nil
    }
    let brands = ([8] + stride(from: 16, to: min(length, 256), by: 4)).compactMap { bytes.text($0..<$0 + 4) }
    if brands.contains("avif") || brands.contains("avis") { return .avif }
    return brands.contains { ["heic", "heix", "heim", "heis", "hevc", "hevx"].contains($0) } ? .heic : nil
  }
}
