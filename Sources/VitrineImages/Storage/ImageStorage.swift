import Vitrine

/// The storage of a pipeline's pictures: downloaded originals, and styled pictures. ``StoreStorage`` keeps them in a
/// `CacheStore`. An app with its own store, such as files or a database, conforms to this protocol.
///
/// Called from any thread, also concurrently. A call may take long, but must not block the thread pool of `async` code.
/// If an entry cannot be read, it counts as missing. Throw errors only for failed changes: the pipeline takes an error
/// of a read for a missing entry.
public protocol ImageStorage: Sendable {
  /// Returns the original of a key. Returns nil, and throws no error, if none is stored or if it cannot be read.
  func original(for key: String) async throws -> StoredOriginal?

  /// Stores an original, and replaces the earlier one. Pictures that styles made from a different original must become
  /// misses. Throws if the original cannot be stored.
  func saveOriginal(_ bytes: [UInt8], metadata: [UInt8], for key: String) async throws

  /// Changes the metadata of an original, but not its bytes. Does nothing if there is none. Throws if the change fails.
  func setMetadata(_ metadata: [UInt8], ofOriginalFor key: String) async throws

  /// Returns the picture of a style for a key. Returns nil, and throws no error, if none is stored or if it cannot be
  /// read.
  func styled(_ style: ImageStyle, for key: String) async throws -> StoredStyled?

  /// Returns the picture of a style if that needs no waiting, or else nil. May leave out encoded pictures. Called on
  /// the thread that draws, so it must be fast.
  func styledAtHand(_ style: ImageStyle, for key: String) -> StoredStyled?

  /// Stores pictures made from one original in one pass, all or none if possible. Returns the results of
  /// ``styled(_:for:)`` in the same order. `original` is the digest of the original's bytes. If another original is
  /// stored now, stores nothing and returns the given pictures. Throws if the pictures cannot be stored.
  func saveStyled(
    _ pictures: [StyledPicture], madeFrom original: Digest, for key: String
  ) async throws -> [StoredStyled]

  /// Changes the metadata of one styled picture that was made from the original with this digest, but not the picture.
  /// Does nothing if there is none. Throws if the change fails.
  func setMetadata(
    _ metadata: [UInt8], of style: ImageStyle, madeFrom original: Digest, for key: String
  ) async throws

  /// Stores the pixels of one styled picture without a copy: `draw` fills memory of the storage, zeroed and of
  /// `layout.byteCount` bytes. Otherwise as ``saveStyled(_:madeFrom:for:)``. Returns nil if nothing is stored, whether
  /// or not `draw` was called. Throws the errors of `draw`, and an error if the picture cannot be stored.
  func drawStyled(
    _ style: ImageStyle, layout: BitmapLayout, metadata: [UInt8], madeFrom original: Digest, for key: String,
    _ draw: @escaping @Sendable (inout MutableRawSpan) throws -> Void
  ) async throws -> StoredStyled?

  /// Records that an original with this digest has arrived and is not stored. Pictures of a different original must
  /// become misses. Throws if the change fails.
  func noteOriginal(_ digest: Digest, for key: String) async throws

  /// Returns a picture to show until the requested one is loaded, or nil. Must be fast. If it throws, the pipeline
  /// shows no placeholder.
  func placeholder(_ style: ImageStyle, for key: String) async throws -> StoredStyled?

  /// Removes all entries of some keys. Throws if entries may be left.
  func remove(_ keys: [String]) async throws

  /// Removes all keys except `keys`, or all keys with `prefix` except those. Throws if other entries may be left.
  func retain(only keys: [String], prefix: String?) async throws
}

extension ImageStorage {
  /// Returns nil, for a storage that cannot return pictures immediately.
  public func styledAtHand(_ style: ImageStyle, for key: String) -> StoredStyled? { nil }

  /// Returns nil, for a storage without placeholders. Never throws.
  public func placeholder(_ style: ImageStyle, for key: String) async throws -> StoredStyled? { nil }

  /// Saves the picture again, for a storage without a cheaper way. Throws the errors of ``styled(_:for:)`` and
  /// ``saveStyled(_:madeFrom:for:)``.
  public func setMetadata(
    _ metadata: [UInt8], of style: ImageStyle, madeFrom original: Digest, for key: String
  ) async throws {
    guard let kept = try await styled(style, for: key) else { return }
    _ = try await saveStyled(
      [StyledPicture(style, kept.content, metadata: metadata)], madeFrom: original, for: key)
  }

  /// Draws into memory, and saves the result. Throws the errors of `draw` and of ``saveStyled(_:madeFrom:for:)``, and
  /// `outOfMemory`.
  public func drawStyled(
    _ style: ImageStyle, layout: BitmapLayout, metadata: [UInt8], madeFrom original: Digest, for key: String,
    _ draw: @escaping @Sendable (inout MutableRawSpan) throws -> Void
  ) async throws -> StoredStyled? {
    let bitmap = try await WorkerThreads().run { try Bitmap(layout: layout, draw) }
    let picture = StyledPicture(style, .pixels(bitmap), metadata: metadata)
    return try await saveStyled([picture], madeFrom: original, for: key).first
  }

  /// Removes the key unless this original is stored. This is for a storage that does not record the originals of its
  /// styled pictures. Throws the errors of ``original(for:)`` and ``remove(_:)``.
  public func noteOriginal(_ digest: Digest, for key: String) async throws {
    if try await original(for: key)?.bytes.digest == digest { return }
    try await remove([key])
  }
}

/// A stored original.
public struct StoredOriginal: Sendable {
  /// The bytes of the file.
  public var bytes: StoredBytes
  /// The metadata from ``ImageStorage/saveOriginal(_:metadata:for:)``.
  public var metadata: [UInt8]

  /// Creates an original from its parts.
  public init(bytes: StoredBytes, metadata: [UInt8]) {
    self.bytes = bytes
    self.metadata = metadata
  }
}

/// Bytes in the memory of a store, or in an array.
public enum StoredBytes: Sendable {
  /// A value of a store. Keeps its segment on the disk and mapped.
  case blob(Blob)
  /// Bytes in an array.
  case array([UInt8])

  /// The number of bytes. O(1).
  public var count: Int {
    switch self {
    case .blob(let blob): blob.byteCount
    case .array(let bytes): bytes.count
    }
  }

  /// Calls `body` with the bytes, without a copy. The span is valid only during the call. Rethrows errors of `body`.
  public func withBytes<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    switch self {
    case .blob(let blob): try blob.withBytes(body)
    case .array(let bytes): try body(bytes.span.bytes)
    }
  }
}

/// A stored styled picture.
public struct StoredStyled: Sendable {
  /// The form of a stored styled picture.
  public enum Content: Sendable {
    /// Pixels, which can be shown without decoding.
    case pixels(Bitmap)
    /// An encoded picture, which must be decoded.
    case encoded(StoredBytes)
  }

  /// The picture.
  public var content: Content
  /// Bytes stored beside the picture.
  public var metadata: [UInt8]

  /// Creates a stored picture from its parts.
  public init(_ content: Content, metadata: [UInt8] = []) {
    self.content = content
    self.metadata = metadata
  }
}

/// A styled picture to store.
public struct StyledPicture: Sendable {
  /// The style of the picture.
  public var style: ImageStyle
  /// The picture.
  public var content: StoredStyled.Content
  /// Bytes to store beside the picture.
  public var metadata: [UInt8]

  /// Creates a picture from its parts.
  public init(_ style: ImageStyle, _ content: StoredStyled.Content, metadata: [UInt8] = []) {
    self.style = style
    self.content = content
    self.metadata = metadata
  }
}
