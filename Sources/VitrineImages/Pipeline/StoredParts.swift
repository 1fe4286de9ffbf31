/// The parts of a picture that the storage keeps.
public enum Keeping: Sendable, Hashable {
  /// Originals only. Each style is drawn again when it is wanted.
  case original
  /// Styled pictures only. Another style costs a download.
  case styled
  /// Originals and styled pictures.
  case both
  /// Styled pictures, and originals of at most 16 times their bytes. This leaves out camera pictures that are shown as
  /// thumbnails. An original downloaded for preheating is always stored, since its later styles are unknown; eviction
  /// removes it if the storage needs room.
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

/// The form of stored styled pictures.
public enum StyledForm: Sendable, Hashable {
  /// Pixels, shown from the store's memory without a copy.
  case pixels
  /// Encoded: about a twentieth of the space. Each showing that memory does not serve costs a decoding.
  case encoded
  /// Encoded at first, and as pixels after the second showing from the store.
  case automatic
}
