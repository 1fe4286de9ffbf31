/// The options of a put: metadata, expiry, durability, layout and source.
public struct PutOptions: Sendable {
  /// Up to 65,536 bytes stored with the value, such as its content type or validator.
  public var metadata: [UInt8] = []
  /// The time from which gets no longer return the entry, in milliseconds since 1970; nil for never.
  public var expirationMilliseconds: Int64?
  /// The durability of this put; nil for the store's own.
  public var durability: Durability?
  /// The layout of a bitmap. The value must have ``BitmapLayout/byteCount`` bytes, and is never compressed.
  public var layout: BitmapLayout?
  /// Whether the value begins at a multiple of 4 KiB (for GPU use) instead of 64 bytes.
  public var isPageAligned = false
  /// Milliseconds for which gets return the entry after its last use, more than 0; nil for no such limit. Excludes
  /// ``expirationMilliseconds``. Under `fifo`, gets do not count as uses.
  public var slidingExpirationMilliseconds: Int64?
  /// The source that the value was made from. Default: the URL's original, if it is stored.
  public var source = SourceOption.automatic
  /// Whether the put pins its entry (``CacheStore/pin(_:durability:)``). Nil keeps the pin of the entry that the put
  /// replaces; without such an entry, the new one is not pinned.
  public var isPinned: Bool?

  /// Makes options for a put. The put checks them and throws ``StoreError/invalidArgument(_:)`` if any is invalid.
  public init(
    metadata: [UInt8] = [], expirationMilliseconds: Int64? = nil, durability: Durability? = nil,
    layout: BitmapLayout? = nil, isPageAligned: Bool = false, slidingExpirationMilliseconds: Int64? = nil,
    source: SourceOption = .automatic, isPinned: Bool? = nil
  ) {
    self.metadata = metadata
    self.expirationMilliseconds = expirationMilliseconds
    self.durability = durability
    self.layout = layout
    self.isPageAligned = isPageAligned
    self.slidingExpirationMilliseconds = slidingExpirationMilliseconds
    self.source = source
    self.isPinned = isPinned
  }
}

/// An entry without its bytes.
public struct EntryInfo: Sendable, Hashable {
  /// The URL and the style.
  public let key: CacheKey
  /// The digest of the bytes that a get returns.
  public let digest: Digest
  /// The encoding of the bytes in the store.
  public let encoding: Encoding
  /// The layout of a bitmap; nil for any other value.
  public let layout: BitmapLayout?
  /// Number of bytes that a get returns.
  public let byteCount: Int
  /// Number of stored payload bytes, compressed or not. Each key that shares them counts them.
  public let storedByteCount: Int
  /// The metadata of the put, or of the last metadata change; at most 65,536 bytes.
  public let metadata: [UInt8]
  /// The time of the put, in milliseconds since 1970.
  public let writtenMilliseconds: Int64
  /// The time at which the entry expires, in milliseconds since 1970; nil if never, or if its expiry depends on its
  /// last use.
  public let expirationMilliseconds: Int64?
  /// Milliseconds for which gets return the entry after its last use; nil for no such limit.
  public let slidingExpirationMilliseconds: Int64?
  /// The source that the entry was made from, if any.
  public let source: Source?
  /// Whether the put named the source. Otherwise the source is the digest of the URL's original.
  public let hasNamedSource: Bool
  /// The time of the last use, in milliseconds since 1970. Accurate to 1 s for recent uses, to a few percent of the age
  /// for older ones, and never too early. A put and a metadata change are uses. A read-only opening knows the uses up
  /// to the writer's last checkpoint. Nil if the policy records no use, as under `fifo`.
  public let lastUsedMilliseconds: Int64?
  /// Whether another record carries the payload of this key.
  public let isShared: Bool
  /// Whether eviction must leave the entry.
  public let isPinned: Bool
}

/// The entry of a key, or the reason for a miss.
public enum LookupResult: Sendable, Hashable {
  /// The key has an entry, which a get returns.
  case found(EntryInfo)
  /// The key has no entry.
  case missing
  /// The entry's expiry or the store's age limit has passed.
  case expired
  /// The entry was made from another source than the requested one.
  case outdated
  /// The entry failed its check, or one of its pages could not be read. It has been dropped.
  case damaged
  /// The store is closed.
  case closed
}
