// What a store does for itself, off its callers' threads.
extension StoreCore {
  static let upkeepMilliseconds = 1000

  /// One round: called every second, and soon after a wake. Errors end up in the store's state, where the next caller
  /// meets them; want of room is met again by whoever needs the room.
  ///
  /// An idle round leaves compaction to its caller.
  func upkeep(isIdle: Bool = false) {
    if isReadOnly || isClosed { return }
    publishCounters()
    noteUseTime()
    guard (try? requireWritable()) != nil, (try? requireNamed()) != nil else { return }
    // First of all the next segment, for which somebody will soon wait.
    let isBusy = !isIdle && underUpkeep { !noteQuiet() }
    if isBusy, locked({ openSegments.contains { $0 != nil } }) { try? makeSpares(2, isAhead: true) }
    round { () throws(StoreError) in try removeOrphans() }
    try? flushGently()
    if wantsCheckpoint.load(ordering: .relaxed) { try? prepareCheckpoint() }
    round { () throws(StoreError) in
      if wantsCheckpoint.load(ordering: .relaxed) || isRecencyOld { try writeCheckpoint() }
    }
    removeExpiredAhead()
    liftOldStamps()
    round { () throws(StoreError) in try shrink() }
    round { () throws(StoreError) in try retireDeadSegments() }
    round { () throws(StoreError) in try trimSealedSegments() }
    if !isIdle { round { () throws(StoreError) in try settle() } }
    try? flushGently()
    try? flush()
    round { () throws(StoreError) in trimMappings() }
  }

  /// Stamps live in checkpoints: when a minute of hits would be forgotten by a crash, it is time for one. Under the upkeep
  /// lock.
  private var isRecencyOld: Bool {
    guard evictor.order.countsHits else { return false }
    let since = environment.clock.monotonicNanoseconds() &- lastCheckpoint.nanoseconds
    return since > StoreCore.longestForgotten && catalog.keys.lookups.hits != lastCheckpoint.hits
  }

  /// Nanoseconds; a round of upkeep and a checkpoint fit into the rest of the minute.
  private static let longestForgotten: UInt64 = 50_000_000_000

  private func round(_ body: () throws(StoreError) -> Void) {
    upkeepLock.lock()
    defer { upkeepLock.unlock() }
    if isClosed { return }
    try? body()
  }

  /// Makes everything acknowledged before it survive loss of power: payloads first, then the frames that name them.
  func flush() throws(StoreError) {
    try requireWritable()
    try makeAllDurable()
    try requireNamed()
  }

  private func makeAllDurable() throws(StoreError) {
    guard let wal else { throw .readOnly }
    let appended = wal.appendedSequence
    try syncSegments()
    do throws(SystemError) { try wal.makeDurable(below: appended) } catch { throw fail(error) }
  }

  // MARK: Closing

  /// Makes everything durable, by a clean checkpoint unless leftovers of a crash are unchecked, and lets the store go. Reads
  /// that still stand may finish.
  func close() throws(StoreError) {
    if isForkedChild || isReadOnly {
      _ = markClosed()
      return
    }
    guard markClosing() else { return }
    locked { admissions.refuseAll(.closed) }
    leftoverTask.withLock { $0 }?.end()
    background.withLock { $0 }?.stop()
    // Some of them may be about to take the upkeep lock.
    if (try? requireWritable(closing: true)) != nil { waitForPuts() }
    checkFewLeftovers()
    upkeepLock.lock()
    defer { upkeepLock.unlock() }
    defer {
      locked {
        _ = markClosed()
        releaseLock()
      }
    }
    // The caller takes the return of this call for durability.
    try requireWritable(closing: true)
    publishCounters()
    waitForPuts()
    dropStagedFiles()
    try? removeExpiredWhileClosing()
    try? removeOrphans()
    try? retireDeadSegments()
    try? trimSealedSegments()
    try? shrink()
    try writeLast()
    try requireNamed()
  }

  /// The last write of a close. With leftovers unchecked no checkpoint says that the store was closed well, and one that would
  /// have to read their heads first is not written at all: the log has everything, and the next opening goes on from there.
  private func writeLast() throws(StoreError) {
    let (isClean, isPrepared) = locked { (unchecked.isEmpty, hasFoundHeadless) }
    if !isClean, !isPrepared { return try makeAllDurable() }
    try writeCheckpoint(isClean: isClean)
  }

  /// Checks the rest of the leftovers if it is small and no thread checks it, so that a short opening behind a crash ends
  /// with a clean close.
  private func checkFewLeftovers() {
    guard uncheckedByteCount <= StoreCore.fewLeftovers, leftoverLock.tryLock() else { return }
    defer { leftoverLock.unlock() }
    try? checkAllLeftovers(closing: true)
  }

  /// Bytes that a close may read.
  private static let fewLeftovers = 1 << 20
}

extension StoreCore {
  /// Puts that are filling their room find the store closed when they come to commit; until then the lock stays. Lent
  /// room is not waited for: it was never named, and whoever still writes to it harms nobody.
  private func waitForPuts() {
    while locked({ catalog.segments.segments.contains { ($0?.pendingCount ?? 0) > ($0?.lentCount ?? 0) } }) {
      environment.clock.sleep(milliseconds: 1)
    }
  }

  /// Lets the store go as the death of the process would: nothing is written.
  func abandon() {
    leftoverTask.withLock { $0 }?.stop()
    background.withLock { $0 }?.stop()
    if markClosed() { releaseLock() }
  }
}

/// For those who cut a store off and count what is left.
extension CacheStore {
  package var catalog: Catalog { core.catalog }
  package func abandon() { core.abandon() }
  /// Throws what every change would: when it is closed, or a write or a sync has failed.
  package func requireWell() throws(StoreError) { try core.requireWritable() }
}
