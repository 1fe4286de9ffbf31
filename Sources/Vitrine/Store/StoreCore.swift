import CVitrineSystem
import Synchronization

/// The state of one open store. `CacheStore` is its face; what it does lies in the other files of this folder, each
/// with one concern.
///
/// Locks, in the order in which they are taken: `upkeepLock` (checkpoints, making and retiring segments), the evictor's
/// (the next entries to go), `expiryLock` (due entries, while they are looked at and removed), `syncLock` (syncing segments, so a
/// thread that holds it and finds no dirty segment knows that all writes are durable), `commitLock` (frames, index changes,
/// reservations, the ledger), then a shard's lock within a table. Readers take only the last.
final class StoreCore: @unchecked Sendable {
  let environment: Environment
  /// The clock is the system's own, which a hit asks without a call through the environment.
  let usesSystemClock: Bool
  let folders: StoreFolders
  let catalog: Catalog
  /// Nil for a read-only opening.
  let wal: WAL?
  /// How far a read-only opening has come; nil for a writer. Guarded by upkeepLock.
  let follower: Follower?
  let verification: Verification
  let reads: ReadMode
  let lastOpen: StoreStatistics.LastOpen
  /// Held for as long as the store is open; its lock goes with it.
  private let lockFile: Guarded<(any File)?>
  private let forkGeneration = vitrine_fork_generation()
  /// This opening's number: records of earlier ones may be lost, records of this one only damaged.
  let firstSequence: UInt64

  let upkeepLock = RawLock()
  let expiryLock = RawLock()
  let syncLock = RawLock()
  let commitLock = RawLock()
  /// Held by the one check of leftovers that is under way; taken before all others.
  let leftoverLock = RawLock()

  /// As it was opened: all options but the budgets hold as they are here.
  let identity: StoreIdentity

  // Guarded by commitLock.
  /// With the budgets as they are now.
  @exclusivity(unchecked) var current: StoreIdentity
  var entryBudget: Int { current.entryBudget }
  var compaction: CompactionRecord
  @exclusivity(unchecked) var ledger: Ledger
  @exclusivity(unchecked) var nextRecord: UInt64
  /// By `StreamKind.rawValue`: the segment that takes reservations now.
  @exclusivity(unchecked) var openSegments: [Segment?] = Array(repeating: nil, count: 5)
  @exclusivity(unchecked) var spares: [Segment] = []
  @exclusivity(unchecked) var unfinished = UnfinishedBodies()
  @exclusivity(unchecked) var admissions = Admissions()
  let frame = ByteBuffer(capacity: 64 << 10)
  /// Room that both checkpoint files have for the index.
  @exclusivity(unchecked) var checkpointByteCount: Int
  /// Of this opening, by number: the newest checkpoint whose image was begun, and the newest that was published.
  var checkpointCount = (begun: 0, published: 0)
  /// Entries of replayed frames whose records' heads are lost, once they have been looked for.
  var headless: [LostEntry] = []
  var hasFoundHeadless = false

  // Guarded by upkeepLock.
  var checkpoints: CheckpointSet
  var orphans: [String]
  /// Segments of earlier openings whose unvouched records are still to be checked. Changed under both locks, so either is
  /// enough to look.
  var unchecked: [Leftover] = []
  /// Unlinked segments that a reader still had pinned.
  var retiring: [Segment] = []
  /// What was let go of lately.
  var leaving: [Leaving] = []
  var lastCheckpointMilliseconds: Int64?
  /// By the monotonic clock, and the hits by then.
  var lastCheckpoint: (nanoseconds: UInt64, hits: Int) = (0, 0)
  var quiet = QuietWatch()
  /// Calls of `compact` that are under way.
  var compactionCount = 0

  /// Frames that async calls wait for.
  let awaited = Guarded(AwaitedFrames())
  /// The most styles of a URL beside its original; nil for no limit. Set before the store serves.
  @exclusivity(unchecked) var maximumStyles: Int?

  let inline: Guarded<[Location: InlineRecord]>
  /// Set while a store is taken over on which a sync had failed: records of earlier openings are not shared.
  var mistrustsEarlierRecords = false
  let countersFile: (any File)?
  let expiry: ExpiryWatch
  /// Taking due notes is guarded by expiryLock.
  let expirations: ExpiryIndex
  let evictor: Evictor
  /// As the evictor's order says.
  let countsHits: Bool
  let background = Guarded<(any BackgroundTask)?>(nil)
  /// Checks leftovers, until there are none.
  let leftoverTask = Guarded<(any BackgroundTask)?>(nil)

  private let status = Atomic<UInt8>(0)
  private let failure = Guarded<SystemError?>(nil)
  let wantsCheckpoint = Atomic<Bool>(false)
  /// When all names of the folder were last looked at for a change, by the wall clock.
  let lastNameCheck = Atomic<Int64>(.min)
  /// Bytes of segments that Blobs may hold: an eighth of the budget.
  let blobLimit: Atomic<Int>
  let bytesPut = Atomic<Int>(0)
  let bytesWritten = Atomic<Int>(0)
  let damagedCount = Atomic<Int>(0)
  let lostCount = Atomic<Int>(0)
  /// What `COUNTERS` told at opening: what earlier openings have done.
  let earlier: Counters
  /// What it tells now.
  let published: Guarded<Counters>

  init(
    environment: Environment, folders: StoreFolders, loaded: LoadedStore, wal: WAL?, lockFile: (any File)?,
    verification: Verification, reads: ReadMode, lastOpen: StoreStatistics.LastOpen, firstSequence: UInt64,
    ledger: Ledger, counters: Counters
  ) {
    self.environment = environment
    usesSystemClock = environment.clock is POSIXClock
    self.folders = folders
    catalog = loaded.catalog
    self.wal = wal
    follower = wal == nil ? Follower(loaded) : nil
    self.lockFile = Guarded(lockFile)
    self.verification = verification
    self.reads = reads
    self.lastOpen = lastOpen
    self.firstSequence = firstSequence
    identity = loaded.identity
    current = loaded.identity
    blobLimit = Atomic(loaded.identity.byteBudget / 8)
    expiry = ExpiryWatch(clock: environment.clock)
    expirations = ExpiryIndex(keys: loaded.catalog.keys, turn: Int(truncatingIfNeeded: loaded.newestOpening))
    evictor = Evictor(order: loaded.identity.policy.order, record: counters.eviction)
    compaction = counters.compaction
    published = Guarded(counters)
    // Where it hangs on its last use whether an entry expires, uses are noted once that has been seen.
    countsHits = evictor.order.countsHits
    catalog.keys.stampsHits = countsHits && loaded.identity.maximumIdle == 0
    catalog.keys.clock.givesBlocks = environment.clock.isShared
    self.ledger = ledger
    nextRecord = firstSequence
    checkpoints = loaded.checkpoint
    orphans = loaded.orphans
    inline = Guarded(loaded.inline)
    checkpointByteCount = loaded.checkpoint.room
    lastCheckpoint.nanoseconds = environment.clock.monotonicNanoseconds()
    lastCheckpointMilliseconds = loaded.checkpoint.current.flatMap { loaded.checkpoint.slots[$0].header?.made }
    catalog.segments.mappedLimit = folders.resources.mappedSegments
    folders.resources.files.storeOpened()
    countersFile = wal == nil ? nil : try? folders.root.openFile(CacheFormat.countersFile, .readWrite)
    earlier = counters
  }

  deinit {
    if !isForkedChild {
      leftoverTask.withLock { $0 }?.end()
      background.withLock { $0 }?.stop()
    }
    leftoverLock.destroy()
    folders.resources.files.storeClosed()
    upkeepLock.destroy()
    expiryLock.destroy()
    syncLock.destroy()
    commitLock.destroy()
  }

  // MARK: State

  private enum Status {
    static let closed: UInt8 = 1
    static let failed: UInt8 = 2
    static let removed: UInt8 = 4
    static let closing: UInt8 = 8
  }

  var isClosed: Bool { status.load(ordering: .relaxed) & Status.closed != 0 }
  var isReadOnly: Bool { wal == nil }
  var isClosing: Bool { status.load(ordering: .relaxed) & Status.closing != 0 }
  var hasFailed: Bool { status.load(ordering: .relaxed) & Status.failed != 0 }
  /// The folder was found deleted or replaced.
  var isRemoved: Bool { status.load(ordering: .relaxed) & Status.removed != 0 }
  /// No change will ever be written again.
  var writesNoMore: Bool { status.load(ordering: .relaxed) & (Status.removed | Status.failed) != 0 }

  func noteRemoved() { status.bitwiseOr(Status.removed, ordering: .relaxed) }

  /// False when it was closed before.
  func markClosed() -> Bool {
    status.bitwiseOr(Status.closed, ordering: .relaxed).oldValue & Status.closed == 0
  }

  /// Refuses every new change from here on; the closer itself may still write. False when somebody else is closing.
  func markClosing() -> Bool {
    status.bitwiseOr(Status.closing, ordering: .relaxed).oldValue & Status.closing == 0
  }

  func releaseLock() { lockFile.withLock { $0 = nil } }

  /// Whether the store's path still leads to the `LOCK` that this opening holds.
  var isLockNamed: Bool { lockFile.withLock { $0 }.map { folders.root.holds($0, CacheFormat.lockFile) } ?? true }

  func wake() { background.withLock { $0 }?.wake() }

  /// This process is a child of the one that opened the store: neither lock nor upkeep came along.
  var isForkedChild: Bool { forkGeneration != vitrine_fork_generation() }

  /// Throws what forbids a change now. `closing` is for what closing itself does.
  func requireWritable(closing: Bool = false) throws(StoreError) {
    let status = status.load(ordering: .relaxed) & (closing ? ~Status.closing : .max)
    if status == 0, wal != nil, !isForkedChild { return }
    if wal == nil { throw isClosed ? .closed : .readOnly }
    if status & (Status.closed | Status.closing) != 0 || isForkedChild { throw .closed }
    if status & Status.removed != 0 { throw .storeRemoved }
    if let error = failure.withLock({ $0 }) { throw .writeFailed(error) }
  }

  func requireNoFailedSync() throws(StoreError) {
    if let error = failure.withLock({ $0 }) { throw .writeFailed(error) }
  }

  /// Ends all writing: what is in memory may not be what is on the disk. The mark in `LOCK` makes the next opening
  /// check and write anew what nobody vouches for (rule 7).
  func fail(_ error: SystemError) -> StoreError {
    // In a folder that is gone nothing can be made, and that is no trouble of the disk.
    if error.code == SystemError.missing, (try? requireNamed()) == nil { return .storeRemoved }
    failure.withLock { $0 = $0 ?? error }
    status.bitwiseOr(Status.failed, ordering: .relaxed)
    if let lockFile = lockFile.withLock({ $0 }) {
      try? lockFile.write(LockFile.contents(isMarked: true), at: 0)
      try? lockFile.sync()
    }
    return .writeFailed(error)
  }

  /// An error of a write that is not one of the log: no room is the caller's matter, all else ends writing.
  func writeError(_ error: SystemError) -> StoreError {
    if SystemCode.isNoSpace(error.code) { return .noSpace }
    // A refused mapping leaves the disk as it was.
    return SystemCode.isShortage(error.code) || error.operation == "map" ? .system(error) : fail(error)
  }

  /// Runs `body` with the commit lock held.
  @inline(__always)
  func locked<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    commitLock.lock()
    defer { commitLock.unlock() }
    return try body()
  }
}

/// The few errnos that mean something of their own here.
enum SystemCode {
  /// ENOMEM, ENFILE, EMFILE: nothing was written wrongly, and a later call may succeed.
  static func isShortage(_ code: Int32) -> Bool { code == 12 || code == 23 || code == 24 }
  static func isNoSpace(_ code: Int32) -> Bool {
    #if os(Linux)
      code == 28 || code == 122 || code == 27  // ENOSPC, EDQUOT, EFBIG
    #else
      code == 28 || code == 69 || code == 27
    #endif
  }
}
