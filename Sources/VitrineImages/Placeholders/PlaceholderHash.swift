import Foundation
import Vitrine

/// A short text from which a blurred preview of a picture is drawn, until the picture is loaded.
///
/// A pipeline computes one for each stored original (``PicturePipeline/Configuration/placeholders``). An app whose
/// server sends such texts passes them by ``PictureRequest/placeholder``.
public struct PlaceholderHash: Sendable, Hashable, CustomStringConvertible {
  /// The algorithms.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// BlurHash, by Wolt. It holds neither transparency nor the shape of the picture. 28 characters if computed here,
    /// at most 166 from elsewhere.
    case blurHash
    /// ThumbHash, by Evan Wallace. It also holds transparency and the approximate shape of the picture. At most 25
    /// bytes, which are 36 characters of Base64.
    case thumbHash
  }

  /// The algorithm.
  public let kind: Kind
  /// The text of a BlurHash, or the bytes of a ThumbHash in Base64.
  public let text: String

  /// Checks a text. Base64 may lack its padding. Throws `invalidArgument` if the text is not of this kind.
  public init(_ kind: Kind, _ text: String) throws(ImageError) {
    self.kind = kind
    switch kind {
    case .blurHash:
      guard BlurHash.isValid(text) else { throw .invalidArgument("the text is not a BlurHash") }
      self.text = text
    case .thumbHash:
      guard let bytes = PlaceholderHash.decoded(text), ThumbHash.isValid(bytes) else {
        throw .invalidArgument("the text is not a ThumbHash in Base64")
      }
      self.text = Data(bytes).base64EncodedString()
    }
  }

  /// Computes the hash of a decoded picture. Costs less than a millisecond at any size.
  public init(_ kind: Kind, of image: DecodedImage) {
    self.init(kind, image.withRows { SmallPicture($0, image.orientation) })
  }

  /// Computes the hash of a bitmap. Costs a pass over the pixels. Throws `outOfMemory`.
  public init(_ kind: Kind, of bitmap: Bitmap) throws(ImageError) {
    let pixels = try StraightPixels(bitmap)
    defer { withExtendedLifetime(pixels) {} }
    let rows = PixelRows(
      UnsafeRawBufferPointer(pixels.memory.bytes).bytes, width: bitmap.width, height: bitmap.height,
      bytesPerRow: bitmap.width * 4, hasAlpha: pixels.hasAlpha)
    self.init(kind, SmallPicture(rows, .upright))
  }

  private init(_ kind: Kind, _ picture: SmallPicture) {
    self.kind = kind
    text =
      switch kind {
      case .blurHash: BlurHash.text(of: picture)
      case .thumbHash: Data(ThumbHash.bytes(of: picture)).base64EncodedString()
      }
  }

  /// Draws the preview in a style. A style that never enlarges pictures, or one without a size, gets at most 32 pixels
  /// a side. A BlurHash is stretched to the shape of the style. Takes about a millisecond for a small style. Throws
  /// `invalidArgument` for a free form, and `outOfMemory`.
  public func bitmap(_ style: ImageStyle = .original) throws -> Bitmap {
    if case .free = style.shape { throw ImageError.invalidArgument("a placeholder has no free form") }
    let picture =
      switch kind {
      case .blurHash: BlurHash.picture(text, size: PlaceholderHash.size(style))
      case .thumbHash: PlaceholderHash.decoded(text).flatMap(ThumbHash.picture)
      }
    guard let picture else { throw ImageError.invalidArgument("the text is not a \(kind.rawValue)") }
    return try picture.bitmap(style)
  }

  public var description: String { text }

  /// The size in which a hash without a shape is drawn for a style.
  private static func size(_ style: ImageStyle) -> PixelSize {
    let longestSide = SmallPicture.longestSide
    guard let wanted = style.pixelSize else { return PixelSize(width: longestSide, height: longestSide) }
    let longest = max(wanted.width, wanted.height, 1)
    func side(_ side: Int) -> Int { min(max(side * longestSide / longest, 1), longestSide) }
    return PixelSize(width: side(wanted.width), height: side(wanted.height))
  }

  private static func decoded(_ text: String) -> [UInt8]? {
    guard text.utf8.count <= 64 else { return nil }
    let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    return Data(base64Encoded: text + padding).map(Array.init)
  }
}

// MARK: As metadata

extension PlaceholderHash {
  /// The text in the metadata of an original: a letter for the kind, and the text. At most 37 bytes if computed here.
  var stored: String { (kind == .blurHash ? "b" : "t") + text }

  /// Reads the text in the metadata of an original. Returns nil for any other text.
  init?(stored: String) {
    let kinds: [Character: Kind] = ["b": .blurHash, "t": .thumbHash]
    guard let kind = stored.first.flatMap({ kinds[$0] }),
      let hash = try? PlaceholderHash(kind, String(stored.dropFirst()))
    else { return nil }
    self = hash
  }
}
