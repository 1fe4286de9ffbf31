import Vitrine

/// Why there is no picture.
public enum ImageError: Error, Sendable, Hashable {
  /// The bytes are of no kind that is decoded here. `found` says what they look like, where that is known.
  case unsupportedFormat(found: String)
  /// The bytes end before the picture does.
  case truncated(ImageFormat)
  /// The bytes break the rules of their format.
  case corrupt(ImageFormat, reason: String)
  /// The header claims more than the limits allow; nothing was decoded.
  case tooLarge(width: Int, height: Int, limit: String)
  /// Decoding took longer than the limits allow.
  case tookTooLong(milliseconds: Int)
  /// The pixels need so many bytes, which cannot be allocated.
  case outOfMemory(byteCount: Int)
  /// The process that decodes pictures has died over this one, or answered what cannot be.
  case decoderDied(reason: String)
  /// No process that decodes can be started.
  case noDecoder(reason: String)
  /// A style whose parts contradict each other, or whose name is not one.
  case invalidStyle(String, reason: String)
  /// A free-form style was read from its name, and nobody has said how to draw it.
  case noTransform(name: String, version: Int)
  /// The picture cannot be written in that format.
  case cannotEncode(ImageFormat, reason: String)
  /// An argument is outside its limits.
  case invalidArgument(String)
}

extension ImageError {
  /// Whether the bytes are to blame, and would be again. What was lacking otherwise says nothing of a picture.
  var condemnsPicture: Bool {
    switch self {
    case .unsupportedFormat, .truncated, .corrupt, .tooLarge, .tookTooLong, .decoderDied: true
    case .noDecoder, .outOfMemory, .invalidStyle, .noTransform, .cannotEncode, .invalidArgument: false
    }
  }
}

extension ImageError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unsupportedFormat(let found): "not a picture that can be decoded: \(found)"
    case .truncated(let format): "the \(format) ends before the picture does"
    case .corrupt(let format, let reason): "the \(format) is damaged: \(reason)"
    case .tooLarge(let width, let height, let limit): "a picture of \(width) by \(height) pixels is above \(limit)"
    case .tookTooLong(let milliseconds): "decoding was given up after \(milliseconds) ms"
    case .outOfMemory(let byteCount): "no memory for \(byteCount) bytes of pixels"
    case .decoderDied(let reason): "the decoder \(reason)"
    case .noDecoder(let reason): "no decoder can be started: \(reason)"
    case .invalidStyle(let name, let reason): "'\(name)' is not a style: \(reason)"
    case .noTransform(let name, let version): "nobody has said how free-\(name).v\(version) is drawn"
    case .cannotEncode(let format, let reason): "cannot write this as \(format): \(reason)"
    case .invalidArgument(let reason): reason
    }
  }
}
