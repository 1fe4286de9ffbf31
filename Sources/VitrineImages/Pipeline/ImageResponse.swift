/// A picture that was asked for, and what it took.
public struct ImageResponse: Sendable {
  /// The place where the pixels were found.
  public enum Origin: String, Sendable, Hashable {
    /// Kept in memory.
    case memory
    /// Kept as the style has made it.
    case styled
    /// Made from the original that was kept.
    case original
    /// Made from what came over the network.
    case network
    /// Shown until the picture is there: of another size, or what the storage has for this.
    case placeholder
  }

  /// The pixels.
  public let bitmap: Bitmap
  /// The place where the pixels were found.
  public let origin: Origin
  /// To servers, redirects not counted; 0, as the bytes, where another's download served.
  public var requestCount = 0
  /// Bytes of bodies received from servers for this response; 0 where it shared the download of another.
  public var receivedByteCount = 0
  /// Pictures decoded for this one; 0 where another's work served, too.
  public var decodeCount = 0

  init(_ bitmap: Bitmap, _ origin: Origin) {
    self.bitmap = bitmap
    self.origin = origin
  }
}
