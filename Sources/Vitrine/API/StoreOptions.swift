/// How a store is opened. What belongs to the store is kept in it: nil keeps what is stored (or takes the default for
/// a new store), a value changes and stores it.
public struct StoreOptions: Sendable {
  /// The largest byte budget of a store: 2^60 - 1 bytes.
  public static let largestByteBudget = CacheFormat.largestBudget

  // Kept in the store.

  /// The most bytes the whole folder may take on the disk, at least 1 MiB. Default: a tenth of the free disk, at most
  /// 2 GiB. A value above ``largestByteBudget`` is taken as that.
  public var byteBudget: Int?
  /// The most entries; 0 for no limit. Default: no limit.
  public var entryBudget: Int?
  /// Default: `buffered`.
  public var durability: Durability?
  /// Bytes of a segment file, 64 KiB to 64 MiB, rounded to 4 KiB. Default: a hundredth of the budget. A change holds
  /// for segments made later.
  public var segmentByteCount: Int?
  /// zstd level, 1 to 19; 0 stores everything plain. Default: 1.
  public var compressionLevel: Int?
  /// Milliseconds for which an entry is given out after it was put; 0 for no limit. Default: no limit. Holds for entries
  /// that are there already, too.
  public var maximumAgeMilliseconds: Int64?
  /// Milliseconds for which an entry is given out after it was last used; 0 for no limit. Default: no limit. Excludes
  /// `fifo`, under which no use is noted.
  public var maximumIdleMilliseconds: Int64?
  /// Who goes first when the store is full. Default: `lru`.
  public var policy: EvictionPolicy?

  // Of this opening only.

  /// Default: `firstRead`.
  public var verification = Verification.firstRead
  /// Default: `mapped`.
  public var reads = ReadMode.mapped
  /// Reads what another opening (also in another process) has made so far, and writes nothing; ``CacheStore/refresh()``
  /// moves it forward. Opening reads the newest checkpoint and the log behind it, which is at most about a thirtieth of
  /// the budget, and no payload; no get waits for the log after that. Default: false.
  public var isReadOnly = false
  /// Makes the store where there is none. Default: true (never for a read-only opening).
  public var createsIfMissing = true
  /// How long to wait for another opening to let the store go. Default: not at all.
  public var waitForLockMilliseconds = 0
  /// What happens when the store cannot be read. Default: `fail`.
  public var whenUnusable = UnusableStorePolicy.fail
  /// The most styles of one URL beside its original, at least 1. A put of one style more evicts the least recently used
  /// other style of that URL, and counts it as evicted. A batch with more styles of one URL than this keeps all of its own.
  /// A URL that has more at opening keeps them until the next put of a new style. For servers that let their clients choose
  /// styles. Such a put looks at the stamps of all styles of its URL. Default: no limit.
  public var maximumStylesPerURL: Int?
  /// Whether a store is made anew in place when its folder is deleted, moved or replaced while it is open. Default: false;
  /// every change throws `storeRemoved` then.
  ///
  /// The call that meets it makes the store, with the options that the old one had, and makes its change there: it waits
  /// for the disk, about as long as making a store. Where another opening has made a store meanwhile, that one is opened,
  /// if its lock is free. Throws what opening throws, and the next change tries again. The parent folder is not made.
  ///
  /// Entries of the old folder are gone. The next ``CacheStore/flush()``, ``CacheStore/checkpoint()`` or
  /// ``CacheStore/close()`` therefore throws `storeRemoved`, once. Bodies and drawings that began before end as `aborted`.
  /// Blobs stay valid. The old folder's log and descriptors are held until the store is closed, for the first folder only.
  /// No effect on a read-only opening.
  public var recreatesIfRemoved = false

  /// Makes options. Nil leaves an option of the store as it is, or at its default in a new store. The opening checks
  /// the values.
  public init(
    byteBudget: Int? = nil, entryBudget: Int? = nil, durability: Durability? = nil, segmentByteCount: Int? = nil,
    compressionLevel: Int? = nil, maximumAgeMilliseconds: Int64? = nil, maximumIdleMilliseconds: Int64? = nil,
    policy: EvictionPolicy? = nil, verification: Verification = .firstRead,
    reads: ReadMode = .mapped,
    isReadOnly: Bool = false, createsIfMissing: Bool = true, waitForLockMilliseconds: Int = 0,
    whenUnusable: UnusableStorePolicy = .fail, maximumStylesPerURL: Int? = nil, recreatesIfRemoved: Bool = false
  ) {
    self.byteBudget = byteBudget
    self.entryBudget = entryBudget
    self.durability = durability
    self.segmentByteCount = segmentByteCount
    self.compressionLevel = compressionLevel
    self.maximumAgeMilliseconds = maximumAgeMilliseconds
    self.maximumIdleMilliseconds = maximumIdleMilliseconds
    self.policy = policy
    self.verification = verification
    self.reads = reads
    self.isReadOnly = isReadOnly
    self.createsIfMissing = createsIfMissing
    self.waitForLockMilliseconds = waitForLockMilliseconds
    self.whenUnusable = whenUnusable
    self.maximumStylesPerURL = maximumStylesPerURL
    self.recreatesIfRemoved = recreatesIfRemoved
  }
}

/// When a get checks a payload against its digest.
public enum Verification: Sendable {
  /// The first time it is read after an opening.
  case firstRead
  /// At every read.
  case always
  /// Only where no checkpoint vouches for the payload.
  case never
}

/// How a get comes by its bytes.
public enum ReadMode: Sendable {
  /// Segments are mapped, and a get lends their own memory. A page that the disk cannot deliver, or a file cut short from
  /// outside, raises SIGBUS in whoever touches it (see ``CacheStore/installBusErrorGuard()``).
  case mapped
  /// No segment is ever mapped: each read copies the bytes out of the file, so that a bad disk or a file cut short gives
  /// a miss and never a signal. A get costs system calls and a copy (a microsecond or two, and 0.1 to 0.3 ns a byte); a
  /// Blob is always a copy.
  case copied
}

/// The reaction of an opening to a store that cannot be read.
public enum UnusableStorePolicy: Sendable {
  /// The opening throws.
  case fail
  /// Empties the folder of everything that is the store's and begins anew. Not for a foreign folder or a newer format.
  case recreate
}
