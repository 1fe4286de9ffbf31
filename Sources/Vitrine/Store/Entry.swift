/// What goes with a value besides its bytes.
public struct PutOptions: Sendable {
  /// Up to 65,536 bytes kept beside the value, such as its content type or validator.
  public var metadata: [UInt8] = []
  /// When the entry stops being given out, in milliseconds since 1970; nil for never.
  public var expirationMilliseconds: Int64?
  /// Nil for the store's own.
  public var durability: Durability?
  /// Given for a bitmap: its bytes must be ``BitmapLayout/byteCount`` many, and are never compressed.
  public var layout: BitmapLayout?
  /// The value's first byte lies at a multiple of a page (GPU use) instead of 64 bytes.
  public var isPageAligned = false

  public init(
    metadata: [UInt8] = [], expirationMilliseconds: Int64? = nil, durability: Durability? = nil,
    layout: BitmapLayout? = nil, isPageAligned: Bool = false
  ) {
    self.metadata = metadata
    self.expirationMilliseconds = expirationMilliseconds
    self.durability = durability
    self.layout = layout
    self.isPageAligned = isPageAligned
  }
}

/// An entry without its bytes.
public struct EntryInfo: Sendable, Hashable {
  public let key: CacheKey
  public let digest: Digest
  public let encoding: Encoding
  public let layout: BitmapLayout?
  /// Bytes that a get gives.
  public let byteCount: Int
  /// Bytes that they take in a segment (compressed, and counted for each key that shares them).
  public let storedByteCount: Int
  public let metadata: [UInt8]
  /// When the entry was put, in milliseconds since 1970.
  public let writtenMilliseconds: Int64
  public let expirationMilliseconds: Int64?
  /// True when this key's record points at a payload that another record carries.
  public let isShared: Bool
}

/// Why a key gives nothing, or what it gives.
public enum LookupResult: Sendable, Hashable {
  case found(EntryInfo)
  case missing
  case expired
  /// The entry was there and failed its check (or a page of it could not be read); it has been dropped.
  case damaged
  case closed
}
