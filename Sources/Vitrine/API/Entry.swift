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
  /// How long the entry is given out after it was last used, in milliseconds, more than 0; nil for no such limit. Not
  /// together with ``expirationMilliseconds``. Where a store keeps no time of use, a put alone counts as one.
  public var slidingExpirationMilliseconds: Int64?
  /// What the value was made from. Default: the URL's original, if it is stored.
  public var source = SourceOption.automatic

  /// Makes options for a put. The put checks them, and throws ``StoreError/invalidArgument(_:)`` where they contradict
  /// each other.
  public init(
    metadata: [UInt8] = [], expirationMilliseconds: Int64? = nil, durability: Durability? = nil,
    layout: BitmapLayout? = nil, isPageAligned: Bool = false, slidingExpirationMilliseconds: Int64? = nil,
    source: SourceOption = .automatic
  ) {
    self.metadata = metadata
    self.expirationMilliseconds = expirationMilliseconds
    self.durability = durability
    self.layout = layout
    self.isPageAligned = isPageAligned
    self.slidingExpirationMilliseconds = slidingExpirationMilliseconds
    self.source = source
  }
}

/// An entry without its bytes.
public struct EntryInfo: Sendable, Hashable {
  /// The URL and the style.
  public let key: CacheKey
  /// The digest of the bytes that a get gives.
  public let digest: Digest
  /// How the store keeps the bytes.
  public let encoding: Encoding
  /// The layout of a bitmap; nil for any other value.
  public let layout: BitmapLayout?
  /// Bytes that a get gives.
  public let byteCount: Int
  /// Bytes that they take in a segment (compressed, and counted for each key that shares them).
  public let storedByteCount: Int
  /// The metadata of the put, or of the last change of metadata; up to 65,536 bytes.
  public let metadata: [UInt8]
  /// When the entry was put, in milliseconds since 1970.
  public let writtenMilliseconds: Int64
  /// When the entry expires, in milliseconds since 1970; nil for never, or when its expiry follows its use.
  public let expirationMilliseconds: Int64?
  /// How long it is given out after its last use.
  public let slidingExpirationMilliseconds: Int64?
  /// What it was made from.
  public let source: Source?
  /// The source was named by the put; without that, it is the digest of the URL's original.
  public let hasNamedSource: Bool
  /// When it was last used, in milliseconds since 1970: never earlier than it was, and exact to about a second lately, to a
  /// few parts in a hundred of how long ago it is before that. A put and a change of metadata are uses, too. A read-only
  /// opening tells what the writer's last checkpoint knew. Nil where no use is noted, as under `fifo`.
  public let lastUsedMilliseconds: Int64?
  /// True when this key's record points at a payload that another record carries.
  public let isShared: Bool
}

/// Why a key gives nothing, or what it gives.
public enum LookupResult: Sendable, Hashable {
  /// The key has an entry, which a get returns.
  case found(EntryInfo)
  /// The key has no entry.
  case missing
  /// Its expiry or the store's age limit has passed.
  case expired
  /// It was made from another source than the one asked for.
  case outdated
  /// The entry was there and failed its check (or a page of it could not be read); it has been dropped.
  case damaged
  /// The store is closed.
  case closed
}
