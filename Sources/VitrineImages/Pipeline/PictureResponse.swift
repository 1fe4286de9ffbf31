/// A requested picture, with the work that it took.
public struct PictureResponse: Sendable {
  /// The source of the pixels.
  public enum Origin: String, Sendable, Hashable {
    /// From memory.
    case memory
    /// From a stored picture in the request's style.
    case styled
    /// Drawn from a stored original.
    case original
    /// Drawn from a download.
    case network
    /// A placeholder until the picture is loaded: another size of the picture, the storage's placeholder, or one drawn
    /// from a ``PlaceholderHash``.
    case placeholder
    /// Drawn from the scans of a progressive JPEG that have arrived (``PicturePipeline/updates(for:)``).
    case partial
  }

  /// The pixels.
  public let bitmap: Bitmap
  /// The source of the pixels.
  public let origin: Origin
  /// The number of requests to servers, without redirects; 0 if the response shared another download.
  public var requestCount = 0
  /// The bytes of bodies received for this response; 0 if it shared another download.
  public var receivedByteCount = 0
  /// The number of pictures decoded for this response; 0 if it shared another decoding.
  public var decodeCount = 0

  init(_ bitmap: Bitmap, _ origin: Origin) {
    self.bitmap = bitmap
    self.origin = origin
  }
}
