import Vitrine

/// Errors about a picture.
public enum ImageError: Error, Sendable, Hashable {
  /// The bytes are not in a supported format. `found` describes the detected format, if known.
  case unsupportedFormat(found: String)
  /// The bytes end before the end of the picture.
  case truncated(ImageFormat)
  /// The bytes violate the rules of their format.
  case corrupt(ImageFormat, reason: String)
  /// The header claims a size above the limits. Nothing was decoded.
  case tooLarge(width: Int, height: Int, limit: String)
  /// Decoding exceeded the time limit.
  case tookTooLong(milliseconds: Int)
  /// The memory for the pixels cannot be allocated.
  case outOfMemory(byteCount: Int)
  /// The decoder process terminated during this decoding, or sent an invalid answer.
  case decoderDied(reason: String)
  /// The decoder process cannot be started.
  case noDecoder(reason: String)
  /// The parts of a style contradict each other, or a name is not that of a style.
  case invalidStyle(String, reason: String)
  /// A free form that was read from its name has no closure to draw it.
  case noTransform(name: String, version: Int)
  /// The picture cannot be encoded in this format.
  case cannotEncode(ImageFormat, reason: String)
  /// An argument is outside its limits.
  case invalidArgument(String)
}

extension ImageError {
  /// Whether the bytes cause the error, so that it would occur again. Other errors say nothing about the picture.
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
    case .truncated(let format): "the \(format) ends before the picture is complete"
    case .corrupt(let format, let reason): "the \(format) is damaged: \(reason)"
    case .tooLarge(let width, let height, let limit): "a picture of \(width) by \(height) pixels exceeds \(limit)"
    case .tookTooLong(let milliseconds): "decoding was stopped after \(milliseconds) ms"
    case .outOfMemory(let byteCount): "cannot allocate \(byteCount) bytes for pixels"
    case .decoderDied(let reason): "the decoder \(reason)"
    case .noDecoder(let reason): "the decoder cannot be started: \(reason)"
    case .invalidStyle(let name, let reason): "'\(name)' is not a style: \(reason)"
    case .noTransform(let name, let version): "no closure is given that draws free-\(name).v\(version)"
    case .cannotEncode(let format, let reason): "cannot encode the picture as \(format): \(reason)"
    case .invalidArgument(let reason): reason
    }
  }
}
