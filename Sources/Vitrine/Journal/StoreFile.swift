import CVitrineSystem

/// The identity and the options of a store. Two copies lie in the file `STORE`, one more in each checkpoint.
///
/// ```
///   0 u64 magic   8 u32 version  12 u32 zero  16 u64 store id low  24 u64 store id high  32 u64 generation
///  40 secret (192)
/// 232 u64 byte budget  240 u64 entry budget  248 u64 segment bytes (0: from the budget)  256 u64 WAL file bytes
/// 264 u8 durability    265 u8 compression level   266 u8 eviction policy   267 zeros
/// 272 u64 age limit in milliseconds   280 u64 idle limit in milliseconds
/// 288 u64 free bytes left on the disk  296 the budgets of styles (``StyleBudgets``), zeros behind them
/// 504 u64 checksum
/// ```
package struct StoreIdentity: Sendable, Equatable {
  package static let magic: UInt64 = 0x524F_5453_5254_4956  // "VITRSTOR"
  package static let byteCount = 512
  /// The offset of the second copy in `STORE`: on another page and in another sector.
  package static let secondCopy = 4096
  package static let fileByteCount = 8192

  /// The creation sets the version of a new store.
  package var version: UInt32 = CacheFormat.firstVersion
  package var store: StoreID
  /// Counts the changes of the options; the newest intact copy wins.
  package var generation: UInt64 = 1
  /// The secret of the URL hashes.
  package var secret: [UInt8]
  /// The byte budget. A value above ``CacheFormat/largestBudget`` is reduced to that limit, so that sums of byte counts
  /// do not overflow.
  package var byteBudget: Int { didSet { byteBudget = min(byteBudget, CacheFormat.largestBudget) } }
  package var entryBudget: Int
  /// The size of an ordinary segment, 0 if it follows the budget and the content.
  package var segmentByteCount: Int
  /// The largest size of a log file.
  package var walFileByteCount: Int
  package var durability: Durability
  package var compressionLevel: Int
  /// Milliseconds since an entry was written, 0 for no limit.
  package var maximumAge: Int64 = 0
  /// Milliseconds since an entry was last used, 0 for no limit.
  package var maximumIdle: Int64 = 0
  package var policy = EvictionPolicy.lru
  /// Bytes of the disk that the store leaves free, 0 for no minimum.
  package var minimumFree = 0 { didSet { minimumFree = min(minimumFree, CacheFormat.largestBudget) } }
  package var styleBudgets = StyleBudgets()

  package init(
    store: StoreID, secret: [UInt8], byteBudget: Int, entryBudget: Int, segmentByteCount: Int, walFileByteCount: Int,
    durability: Durability, compressionLevel: Int
  ) {
    self.store = store
    self.secret = secret
    self.byteBudget = min(byteBudget, CacheFormat.largestBudget)
    self.entryBudget = entryBudget
    self.segmentByteCount = segmentByteCount
    self.walFileByteCount = walFileByteCount
    self.durability = durability
    self.compressionLevel = compressionLevel
  }

  /// The result of reading a copy.
  package enum Reading: Sendable, Equatable {
    case valid(StoreIdentity)
    /// Intact, but of a version that this library does not know.
    case newer(UInt32)
    case damaged

    var isValid: Bool { if case .valid = self { true } else { false } }
    var version: UInt32? { if case .valid(let identity) = self { identity.version } else { nil } }
  }

  package static func read(_ bytes: UnsafeRawBufferPointer) -> Reading {
    guard bytes.count >= byteCount, let p = bytes.baseAddress, p.u64(0) == magic else { return .damaged }
    let isWhole = p.u64(504) == Checksum.of(UnsafeRawBufferPointer(start: p, count: 504), seed: magic)
    // Compared before the other fields, which a later version may use otherwise. All versions have magic, version and
    // checksum in these places.
    if isWhole, CacheFormat.isNewer(p.u32(8)) { return .newer(p.u32(8)) }
    guard isWhole, p.u32(8) > 0, let durability = Durability(rawValue: p.u8(264)),
      let policy = EvictionPolicy(rawValue: p.u8(266)),
      let styleBudgets = StyleBudgets(UnsafeRawBufferPointer(start: p + 296, count: StyleBudgets.mostBytes))
    else { return .damaged }
    var identity = StoreIdentity(
      store: StoreID(low: p.u64(16), high: p.u64(24)),
      secret: Array(UnsafeRawBufferPointer(start: p + 40, count: Int(VITRINE_SECRET_BYTES))),
      byteBudget: Int(clamping: p.u64(232)), entryBudget: Int(clamping: p.u64(240)),
      segmentByteCount: Int(clamping: p.u64(248)), walFileByteCount: Int(clamping: p.u64(256)),
      durability: durability, compressionLevel: Int(p.u8(265)))
    identity.version = p.u32(8)
    identity.generation = p.u64(32)
    identity.maximumAge = Int64(clamping: p.u64(272))
    identity.maximumIdle = Int64(clamping: p.u64(280))
    identity.policy = policy
    identity.minimumFree = Int(clamping: p.u64(288))
    identity.styleBudgets = styleBudgets
    guard identity.byteBudget >= CacheFormat.smallestBudget, identity.compressionLevel <= 19,
      identity.generation < UInt64(1) << 62,
      identity.segmentByteCount == 0
        || (CacheFormat.smallestSegment...CacheFormat.largestSegment).contains(identity.segmentByteCount),
      (CacheFormat.smallestWALFile...CacheFormat.largestWALFile).contains(identity.walFileByteCount)
    else { return .damaged }
    return .valid(identity)
  }

  /// Reads both copies in a `STORE` file, and no more than the format has, however long the file is.
  package static func copies(in file: any File) -> [Reading] {
    let bytes = (try? file.read(0..<fileByteCount)) ?? []
    return [0, secondCopy].map { offset in
      guard offset + byteCount <= bytes.count else { return .damaged }
      return bytes.withUnsafeBytes { read(UnsafeRawBufferPointer(rebasing: $0[offset...])) }
    }
  }

  package func encoded() -> [UInt8] {
    let buffer = ByteBuffer(capacity: StoreIdentity.byteCount)
    buffer.append(StoreIdentity.magic)
    buffer.append(version)
    buffer.append(UInt32(0))
    buffer.append(store.low)
    buffer.append(store.high)
    buffer.append(generation)
    buffer.append(secret)
    buffer.pad(to: 232)
    buffer.append(UInt64(byteBudget))
    buffer.append(UInt64(entryBudget))
    buffer.append(UInt64(segmentByteCount))
    buffer.append(UInt64(walFileByteCount))
    buffer.append(durability.rawValue)
    buffer.append(UInt8(compressionLevel))
    buffer.append(policy.rawValue)
    buffer.pad(to: 272)
    buffer.append(UInt64(maximumAge))
    buffer.append(UInt64(maximumIdle))
    buffer.append(UInt64(minimumFree))
    styleBudgets.encode(into: buffer)
    buffer.pad(to: 504)
    buffer.append(Checksum.of(buffer.bytes, seed: StoreIdentity.magic))
    return Array(buffer.bytes)
  }

  /// Whether new checkpoints of the store are roots of pieces. A converted store has checkpoints of the first format
  /// until it publishes its first root.
  package var hasPieces: Bool { version == CacheFormat.version }

  /// Returns whether both identities have the same options; their generations may differ.
  package func hasSameOptions(as other: StoreIdentity) -> Bool {
    var other = other
    other.generation = generation
    return other == self
  }
}

/// Limits and names that the whole format shares.
package enum CacheFormat {
  /// The most readings of the clock that a checkpoint keeps, to date the last uses of entries.
  package static let mostUseTimes = 512
  /// The format in which stores are written: a draft of the second format (Docs/SecondFormat.md). Released builds
  /// refuse drafts.
  package static let version: UInt32 = 0x1002
  /// The first format, which is read and carried over. A store keeps it if its disk has no room for the second one.
  package static let firstVersion: UInt32 = 1

  /// Returns whether this library does not know a version. `version` is above 0. The numbers of drafts are higher than
  /// those of finished formats.
  static func isNewer(_ version: UInt32) -> Bool { version > firstVersion && version != CacheFormat.version }

  /// The version for people.
  package static func name(of version: UInt32) -> String {
    version == CacheFormat.version ? "2 (draft)" : "\(version)"
  }
  package static let smallestBudget = 1 << 20
  /// With this limit, sums of byte counts in the ledger and of a budget never overflow.
  package static let largestBudget = 1 << 60 - 1
  /// The limits of ``StoreIdentity/walFileByteCount``, the largest size of a log file.
  package static let smallestWALFile = 32 << 10
  package static let largestWALFile = 64 << 20
  /// The size of a new log file, which may grow.
  package static let newWALFile = 16 << 10
  package static let smallestSegment = 64 << 10
  package static let largestSegment = 64 << 20
  package static let walFileCount = 4

  package static let storeFile = "STORE"
  package static let lockFile = "LOCK"
  package static let countersFile = "COUNTERS"
  package static let usesFile = "USES"
  package static let tagFile = "CACHEDIR.TAG"
  package static let segmentsFolder = "segments"
  package static let walFolder = "wal"
  package static let checkpointsFolder = "checkpoints"
  /// The blocks of the pieces of an index, in the folder of the checkpoints.
  package static let areaFile = "area"
  /// The last uses of entries, in the folder of the checkpoints.
  package static let usesListFile = "uses"
}
