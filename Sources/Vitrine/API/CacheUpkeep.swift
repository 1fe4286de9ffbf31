// The calls that concern the whole store.
extension CacheStore {
  /// Whether this is a read-only opening, by ``StoreOptions/isReadOnly`` or by ``StoreOptions/whenLocked``.
  public var isReadOnly: Bool { options.isReadOnly }

  /// Moves a read-only store forward to the writer's present state. Returns whether there was any change; false for a
  /// store open for writing, which is always up to date.
  ///
  /// May be called from any thread, also in the closure of a get. Gets continue meanwhile and find each key as before
  /// or as after; borrowed bytes stay valid. Costs a few dozen system calls if nothing has changed. Otherwise it costs
  /// about as much as the writer's changes since the last call, or as much as opening if the writer has begun the log
  /// anew.
  ///
  /// Throws `closed`, `storeRemoved` if the folder now holds another store or none (gets still return the old entries),
  /// and the errors of opening. After an error the store shows its old state. Options that the writer has changed, such
  /// as an age limit, apply from the next opening.
  @discardableResult
  public func refresh() throws(StoreError) -> Bool { try core.reads.refresher.refresh() }

  /// Makes all changes acknowledged before the call durable. Waits for the disk. Throws `closed`, `readOnly`,
  /// `writeFailed` after a failed write or sync, `system` if the system lacks descriptors, and `storeRemoved` if the
  /// folder was removed, because then no change is durable.
  public func flush() throws(StoreError) { try promise { core throws(StoreError) in try core.basics.syncer.flush() } }

  /// Makes the newest acknowledged change of one key durable. Returns false if the key has no entry; then the removal
  /// that led to that is durable.
  ///
  /// Waits for the disk. Syncs the segment of the key's record, the one of its payload if that is another, and the log.
  /// Other buffered changes in these files become durable too; the rest of the store stays as it is, so this costs less
  /// than ``flush()`` in a store with many changes. Concurrent calls share syncs. Throws the errors of ``flush()``, and
  /// `system` if the entry cannot be read now.
  @discardableResult
  public func flush(_ key: CacheKey) throws(StoreError) -> Bool {
    try promise { core throws(StoreError) in
      try key.url.span.bytes.withUnsafeBytes { url throws(StoreError) in
        try core.upkeep.flusher.flush(url, key.style)
      }
    }
  }

  /// Writes a checkpoint of the index, so that the next opening need not read the log. Waits for the disk. Readers do
  /// not wait for it; writers wait while the index is copied. Throws the errors of ``flush()``.
  public func checkpoint() throws(StoreError) {
    try promise { core throws(StoreError) in try core.checkpoints.checkpointer.checkpoint() }
  }

  /// Changes the budgets, in bytes and in entries, and the free bytes that the store leaves on the disk
  /// (``StoreOptions/minimumFreeBytes``); nil leaves each as it is. The new values are durable before they apply, and
  /// the store is within its budgets when the call returns. A smaller budget evicts and compacts first, which may take
  /// as long as copying a large part of the store. If the disk has fewer free bytes than the minimum, the call evicts
  /// too, but an empty store may not free enough. A number of bytes above ``StoreOptions/largestByteBudget`` is taken
  /// as that value. Thread-safe; gets continue meanwhile.
  ///
  /// Throws `invalidArgument` for a negative value, for a byte budget that is too small, and if pinned entries take
  /// more than a quarter of a smaller budget. Throws `noSpace` if Blobs or unfinished bodies keep the folder above the
  /// new byte budget; the budgets apply all the same. Also throws the errors of ``flush()``.
  public func setBudgets(
    byteBudget: Int? = nil, entryBudget: Int? = nil, minimumFreeBytes: Int? = nil
  ) throws(StoreError) {
    try change { core throws(StoreError) in
      try core.upkeep.budgets.setBudgets(
        byteBudget: byteBudget, entryBudget: entryBudget, minimumFreeBytes: minimumFreeBytes)
    }
  }

  /// Sets the budget of a style; nil removes it. The budget is durable before it applies. The style is within it when
  /// the call returns, unless pinned entries alone exceed it.
  ///
  /// If the style had no budget, the call counts its entries: it reads the heads of all of them. A writer waits at most
  /// while about a sixty-fourth of the heads are read. Thread-safe; gets continue meanwhile. Throws `invalidArgument`
  /// if the budget has no limit or one below 1, or if the budgets exceed the limits of ``StoreOptions/styleBudgets``,
  /// and the errors of ``flush()``.
  public func setStyleBudget(_ budget: StyleBudget?, for style: Style) throws(StoreError) {
    try change { core throws(StoreError) in try core.upkeep.budgets.setStyleBudget(budget, for: style) }
  }

  /// Evicts entries, the least recently used first, until the folder takes at most `byteCount` bytes of the disk.
  /// Returns the number of entries removed. The budgets stay: the store may grow again at once.
  ///
  /// The call first releases room that holds no entries, then removes expired entries, then evicts others. A store
  /// without entries takes some hundred KiB, so a smaller size removes all entries but pinned ones. Unfinished bodies
  /// and borrowed bytes keep their room, so the folder may stay larger. O(entries), plus two to five checkpoints, a
  /// removal in the log for each removed entry, and copies of at most a few times the bytes that stay. Thread-safe;
  /// gets continue meanwhile, and a put that needs a new segment waits until the call has ended. Throws `readOnly`,
  /// `invalidArgument` for a negative size, and the errors of ``flush()``.
  @discardableResult
  public func trim(toBytes byteCount: Int) throws(StoreError) -> Int {
    try change { core throws(StoreError) in try core.upkeep.trimmer.trim(toBytes: byteCount) }
  }

  /// Evicts entries, the least recently used first, until at most `count` are left. Returns the number of entries
  /// removed. Upkeep frees their bytes.
  ///
  /// Expired entries go first, and pinned entries stay. O(entries), and a removal in the log for each removed entry.
  /// Thread-safe; gets and puts continue meanwhile. Throws `readOnly`, `invalidArgument` for a negative number, and the
  /// errors of ``flush()``.
  @discardableResult
  public func trim(toEntries count: Int) throws(StoreError) -> Int {
    try change { core throws(StoreError) in try core.upkeep.trimmer.trim(toEntries: count) }
  }

  /// Removes all entries, except pinned ones, that were neither put nor read since `moment`, in milliseconds since
  /// 1970. Returns the number of entries removed. Their bytes are freed by upkeep.
  ///
  /// Times of uses have the accuracy of ``EntryInfo/lastUsedMilliseconds``, so an entry is never removed early. A
  /// metadata change is a use. Under a policy that notes no uses (`fifo`), only puts count. Costs three passes over the
  /// index for each 64th of the entries that is removed, and a removal in the log for each removed entry. Thread-safe;
  /// gets and puts continue meanwhile. Throws `readOnly`, and the errors of ``flush()``.
  @discardableResult
  public func removeUnused(since moment: Int64) throws(StoreError) -> Int {
    try change { core throws(StoreError) in try core.upkeep.trimmer.removeUnused(since: moment) }
  }

  /// Makes the folder as small as possible without removing a live entry.
  ///
  /// Removes expired entries, copies live records out of every segment with dead bytes, unlinks those segments, and
  /// overwrites the log's old frames with zeros. If the folder is above its budget, entries are evicted until it is
  /// within it. Afterward no file of the store holds bytes of entries removed before (``CompactionReport/isErased``).
  /// If another key shares the bytes of a removed key, the removed key's URL stays beside them.
  ///
  /// `progress` is called after each segment's worth of bytes with the number of bytes copied and the approximate
  /// total, and may make any call on this store. If it returns false, compaction stops early and no entry is lost. If
  /// there is no room for a copy, compaction stops too, and the report says that removed bytes may be left.
  /// O(store), plus a write of the log's length. Reads continue; a write may wait until one segment is copied. Throws
  /// `readOnly`, `noSpace` if Blobs or unfinished bodies keep the folder above its budget, and the errors of
  /// ``flush()``.
  public func compact(progress: (Int, Int) -> Bool = { _, _ in true }) throws(StoreError) -> CompactionReport {
    try change { core throws(StoreError) in try core.upkeep.fullCompaction.compact(progress: progress) }
  }

  /// Removes every expired entry. Returns the number of entries removed. Background upkeep does the same, and eviction
  /// does it before it removes any other entry.
  ///
  /// O(1) if none has expired. The first call after an opening reads each record that may expire. The removals are
  /// `buffered`. Thread-safe; gets and puts continue meanwhile. Throws `readOnly`, and the errors of ``flush()``.
  @discardableResult
  public func removeExpired() throws(StoreError) -> Int {
    try change { core throws(StoreError) in try core.space.expirer.removeExpired() }
  }

  /// Does all pending upkeep, for an app that is idle now: checkpoints, removal of expired entries, compaction and
  /// freeing of space. Stops early if `goesOn`, called after each segment's worth of bytes, returns false. Returns true
  /// when no upkeep is left. Reads continue; a write may wait until one segment is copied. Throws `readOnly`, and the
  /// errors of ``flush()``.
  @discardableResult
  public func idle(while goesOn: () -> Bool = { true }) throws(StoreError) -> Bool {
    try change { core throws(StoreError) in try core.upkeep.maintainer.idle(goesOn) }
  }

  /// Reads and checks every live byte, the heads of the segments, and the other files of the store. Restores records of
  /// which only the log has an intact copy, as a get does, and changes nothing else.
  ///
  /// `progress` is called after each record with the number of bytes read and the number of used bytes in all segments.
  /// Dead bytes are not read, so the first number may stay below the second. If bytes are damaged, the call searches
  /// all keys for those that share the bytes. O(live bytes): reads them from the disk. Thread-safe; gets and writes
  /// continue meanwhile. Throws `closed`, and `system` if a file cannot be opened or memory is short.
  public func verify(progress: ((Int, Int) -> Void)? = nil) throws(StoreError) -> VerificationReport {
    try core.upkeep.verifier.verify(progress: progress)
  }

  /// Returns the store's contents and counters. O(segments), plus the cost of ``count``, plus one read of a small file
  /// for a read-only opening.
  public func statistics() -> StoreStatistics { core.upkeep.reporter.statistics() }

  /// Returns the number of entries and live records of each segment, by the names in ``StoreStatistics/Segment``. Reads
  /// the index and no record: O(entries), a few milliseconds for a million entries. Concurrent changes may or may not
  /// be counted.
  public func segmentContents() -> [String: SegmentContents] { core.upkeep.reporter.segmentContents() }

  /// Number of unexpired entries. O(1), plus a read of each record that has expired and is not removed yet. The first
  /// call after an opening, or after a ``refresh()`` that loaded the index anew, reads each record that may expire.
  /// After a crash, lost entries count until a get reads them.
  public var count: Int {
    let core = core
    return core.space.expirer.countEntries()
  }

  /// The largest size of the folder, in bytes.
  public var byteBudget: Int {
    let core = core
    return core.context.commitLock.withLock { held in held.state.current.byteBudget }
  }

  /// The largest number of entries; 0 for no limit.
  public var entryBudget: Int {
    let core = core
    return core.context.commitLock.withLock { held in held.state.entryBudget }
  }

  /// The styles that have a budget, with the sums of their entries, in the order of their names. Leaves out a style
  /// whose entries are still being counted.
  public var styleBudgets: [StyleUse] {
    let core = core
    return core.context.commitLock.withLock { held in held.state.styleUses }
  }

  /// Bytes of the disk that the store leaves free for other programs; 0 for no minimum.
  public var minimumFreeBytes: Int {
    let core = core
    return core.context.commitLock.withLock { held in held.state.current.minimumFree }
  }
}
