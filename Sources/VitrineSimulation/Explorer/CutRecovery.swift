import Vitrine

/// A recovery to interrupt: a store that was opened after a crash, has done its first upkeep, and was ended like a
/// killed process. In every second recovery an option is changed, so a checkpoint is written before the records that
/// the crash left are checked. Every third store is closed first, so a checkpoint vouches for everything left.
struct CutRecovery {
  let first: Cut
  let world: SimulatedWorld
  private let keys: Set<CacheKey>
  private let evictedCount: Int
  private let isClosed: Bool
  /// Whether the process died after a failed sync and before it left its mark. Then the next opening does not know
  /// that pages only look written, and a loss of power may take pages that it relies on.
  let isUnmarked: Bool

  /// Throws if the store cannot be opened or closed.
  init(_ store: RecordedStore, _ first: Cut, _ verification: Verification) throws {
    self.first = first
    keys = store.history.keys
    let last = store.world.disk.operations.prefix(first.place.operationCount).last {
      $0.isFailedSync || $0.path == "\(RecordedStore.path)/\(CacheFormat.lockFile)"
    }
    isUnmarked = first.place.policy == nil && last?.isFailedSync == true
    world = store.world.rebooted(first.disk())
    var options = StoreOptions(verification: verification)
    if first.place.operationCount % 2 == 1 { options.compressionLevel = 7 }
    isClosed = first.place.operationCount % 3 == 1
    let store = try CacheStore.open(at: RecordedStore.path, options: options, environment: world.environment)
    world.background.runAll()
    if isClosed { try store.close() }
    evictedCount = store.statistics().evictedCount
    store.abandon()
  }

  var misuse: String? { world.disk.misuse.first }

  /// The state that the crash had left, as a reader sees it; empty if no store existed yet.
  struct Before {
    fileprivate let seen: Inspection.Seen?
    /// The number of entries that a smaller budget, already known, may have evicted; the history does not have
    /// them.
    let evictedCount: Int
  }

  func before() -> Before {
    let seen = seen(first.disk())
    return Before(seen: seen, evictedCount: max(0, evictedCount - (seen?.evictedCount ?? 0)))
  }

  private func seen(_ disk: SimulatedDisk) -> Inspection.Seen? {
    let reader = try? CacheStore.open(
      at: RecordedStore.path, options: StoreOptions(isReadOnly: true), environment: world.rebooted(disk).environment)
    return reader.map { Inspection.Seen($0, keys) }
  }

  /// Returns the state that must survive a second crash; nil if none is known. If the second crash comes after the
  /// close of the store, that is its last state. Else it is the state that a first loss of power left, because none of
  /// it was unsynced.
  func predecessor(of second: CrashPlace.Moment, _ before: Before) -> Inspection.Predecessor? {
    if isUnmarked { return nil }
    if isClosed, second.operationCount == world.disk.operationCount {
      return seen(world.disk.copy()).map { Inspection.Predecessor(contents: $0.contents, evictedCount: 0) }
    }
    guard first.place.policy != nil, let seen = before.seen else { return nil }
    return Inspection.Predecessor(contents: seen.contents, evictedCount: before.evictedCount)
  }
}
