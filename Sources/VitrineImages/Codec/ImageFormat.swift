/// The format of a picture file.
public enum ImageFormat: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  /// JPEG, baseline or progressive.
  case jpeg = "JPEG"
  /// PNG.
  case png = "PNG"
  /// WebP, lossy or lossless.
  case webp = "WebP"

  public var description: String { rawValue }

  /// The media type, such as `image/jpeg`.
  public var mimeType: String { "image/\(rawValue.lowercased())" }

  /// Detects the format by the first bytes. Throws `unsupportedFormat`, with a description of the detected kind of
  /// data. O(1); thread-safe.
  public init(of bytes: RawSpan) throws(ImageError) {
    self = try bytes.withUnsafeBytes { bytes throws(ImageError) in try ImageFormat(PictureBytes(bytes)) }
  }

  /// A prefix too short to decide counts as the only format that it can begin.
  init(_ bytes: PictureBytes) throws(ImageError) {
    if bytes.begins([0xFF, 0xD8, 0xFF]) || bytes.count == 2 && bytes.begins([0xFF, 0xD8]) {
      self = .jpeg
    } else if bytes.begins(ImageFormat.pngSignature)
      || (2..<8).contains(bytes.count) && ImageFormat.pngSignature.starts(with: bytes.prefix(8))
    {
      self = .png
    } else if bytes.hasText("RIFF", at: 0) && (bytes.hasText("WEBP", at: 8) || bytes.count < 12) {
      self = .webp
    } else {
      throw .unsupportedFormat(found: ForeignFormat.name(of: bytes))
    }
  }

  private static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
}
