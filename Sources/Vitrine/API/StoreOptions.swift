/// The options of an opening. Some belong to the store and are saved in it. For these, a value changes the saved
/// option, and nil keeps it or takes the default of a new store.
public struct StoreOptions: Sendable {
  /// The largest byte budget of a store: 2^60 - 1 bytes.
  public static let largestByteBudget = CacheFormat.largestBudget

  // Saved in the store.

  /// The largest size of the whole folder on the disk, in bytes, at least 1 MiB. Default: a tenth of the free disk
  /// space, at most 2 GiB. A value above ``largestByteBudget`` is taken as that value.
  public var byteBudget: Int?
  /// The largest number of entries; 0 for no limit. Default: no limit.
  public var entryBudget: Int?
  /// Bytes of the disk that the store leaves free for other programs; 0 for no minimum. Default: no minimum.
  ///
  /// While fewer are free, the store evicts entries and shrinks its files, down to a store with only pinned entries. A
  /// put that needs a new segment then evicts other entries or throws `noSpace`. An open store compares the free bytes
  /// with the minimum before each new segment and once a second. A value above ``largestByteBudget`` is taken as that
  /// value.
  public var minimumFreeBytes: Int?
  /// The durability of changes that do not choose one. Default: `buffered`.
  public var durability: Durability?
  /// Bytes of a segment file, 64 KiB to 64 MiB, rounded up to a multiple of 4 KiB. Default: 64 KiB at first, growing
  /// with the content to a two-hundredth of the budget. A change applies to segments made later.
  public var segmentByteCount: Int?
  /// zstd level, 1 to 19; 0 stores everything plain. Default: 1.
  public var compressionLevel: Int?
  /// Milliseconds for which gets return an entry after its put; 0 for no limit. Default: no limit. Applies to existing
  /// entries too.
  public var maximumAgeMilliseconds: Int64?
  /// Milliseconds for which gets return an entry after its last use; 0 for no limit. Default: no limit. Excludes
  /// `fifo`, which records no use.
  public var maximumIdleMilliseconds: Int64?
  /// The choice of the entries that a full store evicts. Default: `s3fifo`.
  public var policy: EvictionPolicy?

  // For this opening only, except `styleBudgets`, which is saved in the store.

  /// When gets check payloads. Default: `firstRead`.
  public var verification = Verification.firstRead
  /// How gets read bytes. Default: `mapped`.
  public var reads = ReadMode.mapped
  /// Whether to open a snapshot of all that other openings, in any process, have written so far. A read-only opening
  /// writes only the uses of entries (``notesUses``). ``CacheStore/refresh()`` moves the snapshot forward. Opening
  /// reads the newest checkpoint, the log behind it (at most 1/32 of the budget or 128 KiB), and no payload. Later
  /// gets never wait for the log. Default: false.
  public var isReadOnly = false
  /// Whether gets of a read-only opening count as uses for eviction, as those of the writer do. Default: true.
  ///
  /// ``CacheStore/refresh()`` (at most once a second) and ``CacheStore/close()`` write the hashes of the used keys to a
  /// small file of the store. A writer in use counts these uses within about a second. An idle writer counts them
  /// before it evicts on request, or about a second after its next use or change. The file holds at most 512 keys up to
  /// a budget of 4 MiB, and 2,048 above 12 MiB. The reader writes nothing if the process may not write to the file. If
  /// the store was not cleanly closed when the reader opened it, it writes only while the last writer's process runs.
  public var notesUses = true
  /// Whether to create the store if there is none. Default: true. A read-only opening never creates one.
  public var createsIfMissing = true
  /// The longest wait for another opening to release the lock, in milliseconds. Default: 0, no wait.
  public var waitForLockMilliseconds = 0
  /// The reaction to a store that another opening still has open for writing after ``waitForLockMilliseconds``.
  /// Default: `fail`.
  public var whenLocked = LockedStorePolicy.fail
  /// The reaction to a store that cannot be read. Default: `fail`.
  public var whenUnusable = UnusableStorePolicy.fail
  /// The largest number of styles of one URL beside its original, at least 1. For servers whose clients choose styles.
  /// Default: no limit.
  ///
  /// A put of one style more evicts the least recently used other style of that URL that is not pinned. If all are
  /// pinned, the put exceeds the limit. A batch may put more styles of one URL than the limit; then all of them stay. A
  /// URL that has more styles at opening keeps them until the next put of a new style. Such a put reads the stamps of
  /// all styles of its URL.
  public var maximumStylesPerURL: Int?
  /// The budgets of styles, in place of all those saved in the store. Default: the saved ones; none in a new store.
  ///
  /// At most 12 styles have budgets. The names of n styles with budgets have at most 207 - 13 n bytes together. To
  /// count the entries of a style whose budget is new, the opening reads all their heads. The opening evicts the
  /// entries beyond a smaller budget.
  public var styleBudgets: [Style: StyleBudget]?
  /// Whether the store is recreated if its folder is deleted, moved or replaced while it is open. Default: false; then
  /// every change throws `storeRemoved`. No effect on a read-only opening.
  ///
  /// The call that finds the folder gone creates a new store with the old one's options and makes its change there. It
  /// waits for the disk, about as long as creating a store takes. The parent folder is not created. If another opening
  /// has created a store there meanwhile, that store is opened if its lock is free. The call throws the errors of
  /// opening; then the next change tries again.
  ///
  /// The entries of the old folder are gone. Therefore the next ``CacheStore/flush()``, ``CacheStore/checkpoint()`` or
  /// ``CacheStore/close()`` throws `storeRemoved`, once. Unfinished bodies and drawings end as `aborted`. Blobs stay
  /// valid. The log and descriptors of the first folder are held until the store is closed; those of later folders are
  /// not.
  public var recreatesIfRemoved = false
  /// See ``PiecePlan/smallBase``. For tests.
  package var smallBase = PiecePlan.smallBase
  /// Whether a store of the first format keeps it, and a new store gets it. For tests.
  package var keepsFirstFormat = false

  /// Makes options. Nil keeps a saved option, or takes its default in a new store. The opening checks the values.
  public init(
    byteBudget: Int? = nil, entryBudget: Int? = nil, minimumFreeBytes: Int? = nil, durability: Durability? = nil,
    segmentByteCount: Int? = nil, compressionLevel: Int? = nil, maximumAgeMilliseconds: Int64? = nil,
    maximumIdleMilliseconds: Int64? = nil,
    policy: EvictionPolicy? = nil, verification: Verification = .firstRead,
    reads: ReadMode = .mapped,
    isReadOnly: Bool = false, notesUses: Bool = true, createsIfMissing: Bool = true, waitForLockMilliseconds: Int = 0,
    whenLocked: LockedStorePolicy = .fail, whenUnusable: UnusableStorePolicy = .fail, maximumStylesPerURL: Int? = nil,
    styleBudgets: [Style: StyleBudget]? = nil, recreatesIfRemoved: Bool = false
  ) {
    self.byteBudget = byteBudget
    self.entryBudget = entryBudget
    self.minimumFreeBytes = minimumFreeBytes
    self.durability = durability
    self.segmentByteCount = segmentByteCount
    self.compressionLevel = compressionLevel
    self.maximumAgeMilliseconds = maximumAgeMilliseconds
    self.maximumIdleMilliseconds = maximumIdleMilliseconds
    self.policy = policy
    self.verification = verification
    self.reads = reads
    self.isReadOnly = isReadOnly
    self.notesUses = notesUses
    self.createsIfMissing = createsIfMissing
    self.waitForLockMilliseconds = waitForLockMilliseconds
    self.whenLocked = whenLocked
    self.whenUnusable = whenUnusable
    self.maximumStylesPerURL = maximumStylesPerURL
    self.styleBudgets = styleBudgets
    self.recreatesIfRemoved = recreatesIfRemoved
  }
}

/// When a get checks a payload against its digest.
public enum Verification: Sendable {
  /// At the first read after an opening.
  case firstRead
  /// At every read.
  case always
  /// Only if no checkpoint records that the payload is durable.
  case never
}

/// How a get reads the bytes.
public enum ReadMode: Sendable {
  /// Segments are mapped, and a get borrows their memory. A page that the disk cannot deliver, or a file truncated by
  /// another program, raises SIGBUS in the thread that touches it (see ``CacheStore/installBusErrorGuard()``).
  case mapped
  /// No segment is mapped. Each read copies the bytes out of the file, so a bad disk or a truncated file is a miss and
  /// never a signal. A get costs system calls and a copy (1 to 2 µs, plus 0.1 to 0.3 ns a byte). A Blob is always a
  /// copy.
  case copied
}

/// The reaction of an opening to a store that another opening has open for writing.
public enum LockedStorePolicy: Sendable {
  /// The opening throws `locked`.
  case fail
  /// The store is opened read-only (``StoreOptions/isReadOnly``). ``CacheStore/isReadOnly`` is then true.
  case openReadOnly
}

/// The reaction of an opening to a store that cannot be read.
public enum UnusableStorePolicy: Sendable {
  /// The opening throws.
  case fail
  /// The opening deletes the store's files and creates an empty store. Does not apply to a foreign folder, a newer
  /// format or a read-only opening.
  case recreate
}
