import Vitrine

/// A store that was opened on what a crash left, has done its first upkeep, and is let go as by a kill: a recovery to be cut
/// off. Every second one has an option changed: then a checkpoint is written before anything that the crash left was
/// checked. Every third one is closed: then a checkpoint vouches for all that it left.
struct CutRecovery {
  let first: Cut
  let world: SimulatedWorld
  private let keys: Set<CacheKey>
  private let evictedCount: Int
  private let isClosed: Bool
  /// Whether the process died behind a sync that failed, before it left its mark. Then nothing tells the next opening that
  /// pages only look written, and the power may take what it relies on.
  let isUnmarked: Bool

  /// Throws where the store cannot be opened or closed.
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

  /// What the crash had left, by a reader; nothing where there was no store yet.
  struct Before {
    fileprivate let seen: Inspection.Seen?
    /// So many entries a smaller budget, known by then, may have cost, of which the history knows nothing.
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

  /// What must be there behind a second crash: all that a loss of power had left, since nothing of it was unsynced; and
  /// when the store had been closed, all that it had then.
  func predecessor(of second: CrashPlace.Moment, _ before: Before) -> Inspection.Predecessor? {
    if isUnmarked { return nil }
    if isClosed, second.operationCount == world.disk.operationCount {
      return seen(world.disk.copy()).map { Inspection.Predecessor(contents: $0.contents, evictedCount: 0) }
    }
    guard first.place.policy != nil, let seen = before.seen else { return nil }
    return Inspection.Predecessor(contents: seen.contents, evictedCount: before.evictedCount)
  }
}
