// What an app asks of the store as a whole.
extension CacheStore {
  /// Brings a read-only store up to what the writer has stored by now; answers whether that was anything new. A store
  /// open for writing is always up to date: false.
  ///
  /// Any thread, also in the closure of a get. Gets go on meanwhile and find each key as it was before or as it is
  /// after; what is borrowed stays. Costs a few dozen system calls when nothing is new, else about as much as the
  /// writer's changes since the last time; and as much as opening when the writer has begun the log anew since. Throws
  /// `storeRemoved` when the folder holds another store or none by now (gets still give what there was), and what
  /// opening throws; the store then shows what it did before. Options that the writer has changed since, such as an age
  /// limit, count from the next opening.
  @discardableResult
  public func refresh() throws(StoreError) -> Bool { try core.refresher.refresh() }

  /// Makes everything acknowledged before it survive loss of power. Waits for the disk. Throws `storeRemoved` when the
  /// folder has gone: then nothing in it survives anything.
  public func flush() throws(StoreError) { try promise { core throws(StoreError) in try core.syncer.flush() } }

  /// Writes the index out, so that the next opening need not read the log. Waits for the disk; readers do not wait for
  /// it, writers for as long as the index takes to copy. Throws as ``flush()`` does.
  public func checkpoint() throws(StoreError) {
    try promise { core throws(StoreError) in try core.checkpointer.checkpoint() }
  }

  /// Changes the budgets; nil leaves one as it is. They are durable before they hold, and hold when this returns: a smaller
  /// one evicts and compacts at once, which may take as long as copying a good part of the store. A byte budget above
  /// ``StoreOptions/largestByteBudget`` is taken as that. Throws `storeRemoved` when the folder has gone.
  public func setBudgets(byteBudget: Int? = nil, entryBudget: Int? = nil) throws(StoreError) {
    try change { core throws(StoreError) in
      try core.budgets.setBudgets(byteBudget: byteBudget, entryBudget: entryBudget)
    }
  }

  /// Makes the folder as small as it gets without giving up an entry: copies what lives out of every segment in which
  /// something is dead, unlinks those segments, and overwrites the log's old frames with zeros. After it, no file of the store
  /// holds bytes of entries that were removed before (``CompactionReport/isErased``). A key whose bytes another key shares
  /// keeps its URL beside those bytes. Expired entries are removed first. If the folder is above its budget, entries are
  /// evicted until it is inside.
  ///
  /// `progress` is called after each segment's worth with the bytes copied and, about, the bytes in all; when it answers false,
  /// compaction ends early, and nothing is lost. In it every call on this store is allowed. O(store), and a write of the log's
  /// length; reads go on, and so do writers, which may wait for a segment's copying.
  public func compact(progress: (Int, Int) -> Bool = { _, _ in true }) throws(StoreError) -> CompactionReport {
    try change { core throws(StoreError) in try core.fullCompaction.compact(progress: progress) }
  }

  /// Removes every entry that has expired; returns how many. Upkeep does the same in the background, and eviction before it
  /// takes any other entry. O(1) when none has expired; the first call after an opening looks at each record that may
  /// expire. Any thread; gets and puts go on meanwhile. A removal is buffered. Throws `readOnly`, and as ``flush()`` does.
  @discardableResult
  public func removeExpired() throws(StoreError) -> Int {
    try change { core throws(StoreError) in try core.expirer.removeExpired() }
  }

  /// For an app that is quiet now: does what upkeep would do bit by bit (checkpoints, removal of expired entries,
  /// compaction, giving back space) until
  /// all of it is done, or `goesOn` answers false, which is asked after each segment's worth. True when all is done.
  @discardableResult
  public func idle(while goesOn: () -> Bool = { true }) throws(StoreError) -> Bool {
    try change { core throws(StoreError) in try core.maintainer.idle(goesOn) }
  }

  /// Reads every live byte and checks it; changes nothing. `progress` gets bytes done and bytes in all. Where something is
  /// wrong, all keys are looked through for those that share it.
  public func verify(progress: ((Int, Int) -> Void)? = nil) throws(StoreError) -> VerificationReport {
    try core.verifier.verify(progress: progress)
  }

  /// What the store holds and has done. O(segments), and a small file to read for a read-only opening.
  public func statistics() -> StoreStatistics { core.reporter.statistics() }

  /// What lives in each segment, by the names that ``StoreStatistics/Segment`` gives. Looks at the index and at no record:
  /// O(entries), a few milliseconds a million. Changes that go on meanwhile may be counted or not.
  public func segmentContents() -> [String: SegmentContents] { core.reporter.segmentContents() }

  /// Entries in the store that have not expired. O(1), and a look at each record that has expired and is not removed yet.
  /// The first call after an opening, and after a ``refresh()`` that loaded the index anew, looks at each record that may
  /// expire. After a crash, lost entries that no get has read count too.
  public var count: Int {
    let core = core
    return core.expirer.countEntries()
  }

  /// The most bytes the folder may take.
  public var byteBudget: Int {
    let core = core
    return core.context.commitLock.withLock { held in held.state.current.byteBudget }
  }

  /// The most entries, 0 for no limit.
  public var entryBudget: Int {
    let core = core
    return core.context.commitLock.withLock { held in held.state.entryBudget }
  }
}
