import Vitrine

/// Where a pipeline keeps its pictures: originals as they came, and what styles have made of them. ``StoreStorage`` keeps
/// them in a ``CacheStore``; whoever has a store of their own (files, a database) conforms to this.
///
/// Called from any thread, several calls at once. A call may take its time, but waits off the pool of threads that runs
/// `async` code. What cannot be read counts as not there; an error is for what could not be done.
public protocol ImageStorage: Sendable {
  /// Returns the original of a key; nil where none is kept.
  func original(for key: String) async throws -> StoredOriginal?

  /// Keeps an original in place of what the key had. What styles made of another one must not be found any more.
  func saveOriginal(_ bytes: [UInt8], metadata: [UInt8], for key: String) async throws

  /// Changes what is known of an original and not the original; nothing where there is none.
  func setMetadata(_ metadata: [UInt8], ofOriginalFor key: String) async throws

  /// Returns the picture of a style for a key; nil where none is kept.
  func styled(_ style: ImageStyle, for key: String) async throws -> StoredStyled?

  /// The same where it can be given in this moment: nil for what would have to be waited for, and what would have to be
  /// decoded need not come. Called on the thread that draws, and must be quick.
  func styledAtHand(_ style: ImageStyle, for key: String) -> StoredStyled?

  /// Keeps what was made from one original in one pass, all or nothing where that can be, and answers what
  /// ``styled(_:for:)`` would give, in the same order. `original` is the digest of the bytes that it was made from: where
  /// another original is kept by now, nothing of this is, and what was given comes back.
  func saveStyled(
    _ pictures: [StyledPicture], madeFrom original: Digest, for key: String
  ) async throws -> [StoredStyled]

  /// Changes the metadata of one styled picture that was made from the original with this digest, and not the picture;
  /// nothing where there is none.
  func setMetadata(
    _ metadata: [UInt8], of style: ImageStyle, madeFrom original: Digest, for key: String
  ) async throws

  /// Keeps the pixels of one styled picture, which `draw` makes in memory that the storage provides, zeroed and of
  /// `layout.byteCount` bytes: nothing need be copied. Otherwise as ``saveStyled(_:madeFrom:for:)``; nil, whether or not
  /// `draw` was called, where nothing is kept.
  func drawStyled(
    _ style: ImageStyle, layout: BitmapLayout, metadata: [UInt8], madeFrom original: Digest, for key: String,
    _ draw: @escaping @Sendable (inout MutableRawSpan) throws -> Void
  ) async throws -> StoredStyled?

  /// An original has come that is not kept itself, with this digest: what there is of another one must not be found any
  /// more.
  func noteOriginal(_ digest: Digest, for key: String) async throws

  /// Something to show until the picture is there; nil for nothing. Must be quick.
  func placeholder(_ style: ImageStyle, for key: String) async throws -> StoredStyled?

  /// Forgets all that there is of some keys.
  func remove(_ keys: [String]) async throws

  /// Forgets all keys but these, or all with a prefix but these.
  func retain(only keys: [String], prefix: String?) async throws
}

extension ImageStorage {
  /// Returns nil: a storage that never has a picture at hand needs no other.
  public func styledAtHand(_ style: ImageStyle, for key: String) -> StoredStyled? { nil }

  /// Returns nil: a storage without placeholders needs no other.
  public func placeholder(_ style: ImageStyle, for key: String) async throws -> StoredStyled? { nil }

  /// Saves the picture again: for a storage that has no cheaper way.
  public func setMetadata(
    _ metadata: [UInt8], of style: ImageStyle, madeFrom original: Digest, for key: String
  ) async throws {
    guard let kept = try await styled(style, for: key) else { return }
    _ = try await saveStyled(
      [StyledPicture(style, kept.content, metadata: metadata)], madeFrom: original, for: key)
  }

  /// Draws into memory, and saves that.
  public func drawStyled(
    _ style: ImageStyle, layout: BitmapLayout, metadata: [UInt8], madeFrom original: Digest, for key: String,
    _ draw: @escaping @Sendable (inout MutableRawSpan) throws -> Void
  ) async throws -> StoredStyled? {
    let bitmap = try await WorkerThreads().run { try Bitmap(layout: layout, draw) }
    let picture = StyledPicture(style, .pixels(bitmap), metadata: metadata)
    return try await saveStyled([picture], madeFrom: original, for: key).first
  }

  /// Forgets the key unless that very original is kept: what a storage does that does not tell what its styled pictures
  /// were made from.
  public func noteOriginal(_ digest: Digest, for key: String) async throws {
    if try await original(for: key)?.bytes.digest == digest { return }
    try await remove([key])
  }
}

/// A picture as it came.
public struct StoredOriginal: Sendable {
  /// The bytes of the file.
  public var bytes: StoredBytes
  /// What was kept with it: see ``ImageStorage/saveOriginal(_:metadata:for:)``.
  public var metadata: [UInt8]

  /// Makes an original of its parts.
  public init(bytes: StoredBytes, metadata: [UInt8]) {
    self.bytes = bytes
    self.metadata = metadata
  }
}

/// Bytes in a store's memory or in memory of their own.
public enum StoredBytes: Sendable {
  /// A value of a store. It keeps its segment on the disk and mapped.
  case blob(Blob)
  /// Bytes in memory.
  case array([UInt8])

  /// The number of bytes. O(1).
  public var count: Int {
    switch self {
    case .blob(let blob): blob.byteCount
    case .array(let bytes): bytes.count
    }
  }

  /// Lends the bytes to `body`, without a copy. Rethrows its error.
  public func withBytes<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    switch self {
    case .blob(let blob): try blob.withBytes(body)
    case .array(let bytes): try body(bytes.span.bytes)
    }
  }
}

/// What a style has made of a picture, as it is kept.
public struct StoredStyled: Sendable {
  /// The form in which a styled picture is kept.
  public enum Content: Sendable {
    /// To be shown as it is.
    case pixels(Bitmap)
    /// To be decoded first.
    case encoded(StoredBytes)
  }

  /// The picture.
  public var content: Content
  /// Bytes kept beside the picture.
  public var metadata: [UInt8]

  /// Makes a styled picture of its parts.
  public init(_ content: Content, metadata: [UInt8] = []) {
    self.content = content
    self.metadata = metadata
  }
}

/// What a style has made of a picture, to be kept.
public struct StyledPicture: Sendable {
  /// The style that made the picture.
  public var style: ImageStyle
  /// The picture.
  public var content: StoredStyled.Content
  /// Bytes to keep beside the picture.
  public var metadata: [UInt8]

  /// Makes a styled picture of its parts.
  public init(_ style: ImageStyle, _ content: StoredStyled.Content, metadata: [UInt8] = []) {
    self.style = style
    self.content = content
    self.metadata = metadata
  }
}
