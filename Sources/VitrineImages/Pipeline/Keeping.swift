/// What of a picture is kept in the storage.
public enum Keeping: Sendable, Hashable {
  /// As it came: each style is made anew when it is wanted.
  case original
  /// What styles made: another style costs a download.
  case styled
  /// Originals and styled pictures.
  case both
  /// Both, but for originals of more than 16 times the bytes of what was made from them: pictures from a camera, of which
  /// thumbnails are shown. What was downloaded for preheating is kept whatever its size, since nobody knows yet in which
  /// styles it will be asked for; it goes when the storage needs room for what is used more.
  case automatic

  func keepsOriginal(_ byteCount: Int, madeOf styledByteCount: Int, isPreheating: Bool = false) -> Bool {
    switch self {
    case .original, .both: true
    case .styled: styledByteCount == 0
    case .automatic: isPreheating || styledByteCount == 0 || byteCount / 16 <= styledByteCount
    }
  }

  var keepsStyled: Bool { self != .original }
}

/// How what a style made is kept.
public enum StyledForm: Sendable, Hashable {
  /// Pixels: shown from the store's memory as they are.
  case pixels
  /// Encoded: about a twentieth of the space, and decoded for each showing that memory does not serve.
  case encoded
  /// Encoded at first; as pixels once it was shown a second time from the store.
  case automatic
}
