/// The facts of an opening, which do not change.
struct OpeningFacts: Sendable {
  /// The identity at opening. The budgets in it may be outdated; all other options stay in force.
  let identity: StoreIdentity
  let verification: Verification
  let reads: ReadMode
  /// The most styles of a URL beside its original; nil for no limit.
  let maximumStyles: Int?
  let lastOpen: StoreStatistics.LastOpen
  /// The first sequence number of this opening. Records of earlier openings may be lost, records of this one only
  /// damaged.
  let firstSequence: UInt64
  let policyRules: any PolicyRules
}

/// The state that all parts of one store share: the system that it works with, its tables and its locks.
final class StoreContext: Sendable {
  let environment: Environment
  /// True if the clock is the system's own: a hit reads it without a call through the environment.
  let usesSystemClock: Bool
  let folders: StoreFolders
  let catalog: Catalog
  /// Nil for a read-only opening.
  let wal: WAL?
  let opening: OpeningFacts
  let expiry: ExpiryWatch
  let expirations: ExpiryIndex
  let events = EventFeed()
  let upkeepLock: UpkeepLock
  let commitLock: CommitLock

  init(
    environment: Environment, folders: StoreFolders, loaded: LoadedStore, log: consuming LogWriter,
    isReadOnly: Bool, options: StoreOptions, lastOpen: StoreStatistics.LastOpen, firstSequence: UInt64, ledger: Ledger,
    counters: Counters
  ) {
    self.environment = environment
    usesSystemClock = environment.clock is POSIXClock
    self.folders = folders
    catalog = loaded.catalog
    wal = isReadOnly ? nil : log.log
    opening = OpeningFacts(
      identity: loaded.identity, verification: options.verification, reads: options.reads,
      maximumStyles: options.maximumStylesPerURL, lastOpen: lastOpen, firstSequence: firstSequence,
      policyRules: loaded.identity.policy.rules)
    // With a maximum idle time, a use is noted only after the entry was found not to have expired, not by the lookup.
    loaded.index.writer.keyWriter.configure(
      stampsHits: opening.policyRules.countsHits && loaded.identity.maximumIdle == 0,
      countsUses: opening.policyRules.cleaning != nil, givesBlocks: environment.clock.isShared)
    expiry = ExpiryWatch(clock: environment.clock)
    expirations = ExpiryIndex(keys: loaded.catalog.keys, turn: Int(truncatingIfNeeded: loaded.newestOpening))
    // The follower reads the index, so it is made before the commit lock takes the index.
    let follower = isReadOnly ? Follower(loaded) : nil
    commitLock = CommitLock(
      CommitState(
        index: loaded.index.take(), log: log, current: loaded.identity, ledger: ledger, nextRecord: firstSequence,
        checkpoint: CheckpointAccount(loaded.checkpoint, loaded.files.pieces), record: SpaceRecord(counters)))
    let now = environment.clock.monotonicNanoseconds()
    upkeepLock = UpkeepLock(
      UpkeepState(
        checkpoints: loaded.checkpoint, pieces: loaded.files.pieces,
        uses: UseSaver.State(ring: loaded.files.useRing, saved: catalog.keys.clock.count, now: now),
        orphans: OrphanFiles(loaded.orphans), quiet: QuietWatch(now), follower: follower))
    commitLock.withLock { held in
      held.state.index.segments.mappedLimit = folders.resources.mappedSegments
      for case let segment? in held.state.index.segments.all { held.state[segment].live.forgetBoundHeads() }
    }
    folders.resources.files.storeOpened()
  }

  deinit { folders.resources.files.storeClosed() }
}

/// A part of a store's engine, with one concern and only the state that the concern needs.
protocol StorePart: AnyObject, Sendable {
  var context: StoreContext { get }
}

extension StorePart {
  @inline(__always) var environment: Environment { context.environment }
  @inline(__always) var folders: StoreFolders { context.folders }
  @inline(__always) var catalog: Catalog { context.catalog }
  @inline(__always) var wal: WAL? { context.wal }
  @inline(__always) var identity: StoreIdentity { context.opening.identity }
  @inline(__always) var reads: ReadMode { context.opening.reads }
  @inline(__always) var lastOpen: StoreStatistics.LastOpen { context.opening.lastOpen }
  @inline(__always) var firstSequence: UInt64 { context.opening.firstSequence }
  @inline(__always) var policyRules: any PolicyRules { context.opening.policyRules }
  @inline(__always) var expiry: ExpiryWatch { context.expiry }
  @inline(__always) var expirations: ExpiryIndex { context.expirations }
  @inline(__always) var upkeepLock: UpkeepLock { context.upkeepLock }
  @inline(__always) var commitLock: CommitLock { context.commitLock }
}
