import Vitrine

/// Makes the pictures of `/image/STYLE/URL`, for ``ServerOptions/pictures``. Thread-safe.
public protocol PictureMaking: Sendable {
  /// Makes a picture, or tells why there is none. Must return within a bounded time, because a connection waits for it,
  /// and must check the URL and the style: both come from a client. The task is canceled if the client leaves or the
  /// server stops.
  func picture(_ query: PictureQuery) async -> PictureAnswer
}

/// The picture that a client asks for.
public struct PictureQuery: Sendable, Hashable {
  /// The name of the style, 1 to 255 bytes of printable ASCII.
  public let style: String
  /// The URL of the original.
  public let url: String

  /// Creates a query.
  public init(style: String, url: String) {
    self.style = style
    self.url = url
  }
}

/// The file of a picture.
public struct PictureFile: Sendable {
  /// The bytes of a file.
  public enum Content: Sendable {
    /// A value of a store, which is sent from its mapped segment.
    case value(Blob)
    /// Bytes that were made for the answer.
    case bytes([UInt8])
  }

  /// The bytes of the file.
  public let content: Content
  /// The media type of the file.
  public let mediaType: String
  /// The seconds for which clients may keep the picture without asking again; at most a year counts.
  public let freshSeconds: Int64
  /// Whether clients and proxies must not keep the picture.
  public let isNoStore: Bool

  /// Creates a file. Negative seconds count as 0. A media type that is empty or has other characters than those of
  /// printable ASCII counts as `application/octet-stream`.
  public init(_ content: Content, mediaType: String, freshSeconds: Int64 = 0, isNoStore: Bool = false) {
    self.content = content
    let isText = !mediaType.isEmpty && mediaType.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
    self.mediaType = isText ? mediaType : "application/octet-stream"
    self.freshSeconds = min(max(freshSeconds, 0), 365 * 86_400)
    self.isNoStore = isNoStore
  }
}

/// The answer to a ``PictureQuery``.
public enum PictureAnswer: Sendable {
  /// The picture.
  case picture(PictureFile)
  /// There is no picture, for a reason in words.
  case refused(Refusal, String)

  /// The kinds of refusals, each with an HTTP status.
  public enum Refusal: Sendable {
    /// The style or the URL is not one (400).
    case malformed
    /// The style, or the server of the URL, is not allowed (403).
    case forbidden
    /// The server of the URL has no such resource (404).
    case notFound
    /// The resource is not a picture that can be decoded (415).
    case noPicture
    /// The picture cannot be made here (500).
    case failed
    /// The server of the URL failed or cannot be reached (502).
    case originFailed
    /// Too many pictures are being made (503).
    case overloaded
    /// The time limit has passed (504).
    case timedOut
  }
}

extension HTTPStatus {
  init(_ refusal: PictureAnswer.Refusal) {
    self =
      switch refusal {
      case .malformed: .badRequest
      case .forbidden: .forbidden
      case .notFound: .notFound
      case .noPicture: .unsupportedMediaType
      case .failed: .internalServerError
      case .originFailed: .badGateway
      case .overloaded: .serviceUnavailable
      case .timedOut: .gatewayTimeout
      }
  }
}
