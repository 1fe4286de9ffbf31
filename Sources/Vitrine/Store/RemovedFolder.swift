// A folder that is deleted, moved or replaced while its store is open. Once that was noticed, nothing is written any more:
// neither a frame nor a checkpoint. So the index may forget what a refused change would have replaced or removed, and no
// get gives that any more; what no change has named stays readable.
//
// A deletion is noticed by the names of the folder and of what is in it. Changes that wait for the disk ask for all names
// behind their sync. Removals, batches, bodies and drawings ask for `LOCK` under the store's path before they begin, which
// is one call to the system. Buffered puts rely on an earlier look for a tenth of a second.
extension StoreCore {
  /// Milliseconds for which a buffered put relies on an earlier look at the names.
  static let nameCheckMilliseconds: UInt64 = 100

  /// Throws `storeRemoved` when the folder has lost its name, or what was in it has gone; a synced acknowledgement
  /// depends on it. Without its `LOCK` the store may have another writer by now.
  func requireNamed() throws(StoreError) {
    // Another folder may have the name by now, with the old one's parts in it.
    if isRemoved { throw .storeRemoved }
    if isLockNamed, folders.areStillNamed { return }
    noteRemoved()
    throw .storeRemoved
  }

  /// The same before a change at the given time, by as little as a load: all names are looked at only now and then.
  @inline(__always)
  func requireNamed(at milliseconds: Int64) throws(StoreError) {
    let age = UInt64(bitPattern: milliseconds &- lastNameCheck.load(ordering: .relaxed))
    if age < StoreCore.nameCheckMilliseconds { return }
    try requireNamedAfterAWhile(milliseconds)
  }

  @inline(never)
  private func requireNamedAfterAWhile(_ milliseconds: Int64) throws(StoreError) {
    lastNameCheck.store(milliseconds, ordering: .relaxed)
    try requireNamed()
  }

  /// The same before a change that must not be lost on a folder that has gone.
  func requireNamedNow() throws(StoreError) {
    try requireNamed(at: environment.clock.wallMilliseconds())
    if isLockNamed { return }
    noteRemoved()
    throw .storeRemoved
  }

  // MARK: Forgetting

  /// Takes entries out of the index that a refused change has named. `withStyles`: for an original, all styles of its URL,
  /// which a put of another one would have taken along. Nothing while the store can still write.
  func forget(_ keys: [CacheKey], withStyles: Bool = false) {
    let arena = KeyArena()
    let gone = keys.map { key in
      let isWhole = withStyles && key.style == .original
      let url = arena.copy(key.url)
      return PendingOperation(
        hash: catalog.hasher.key(url, styleTag: isWhole ? 0 : key.style.tag), url: url,
        style: isWhole ? UnsafeRawBufferPointer(start: nil, count: 0) : arena.copy(key.style.bytes),
        digest: Digest(high: 0, low: 0), logicalByteCount: 0, kind: isWhole ? .removeStyles : .remove)
    }
    forgetting { sequence in
      // One by one: a key may be among the styles of another.
      for operation in gone {
        _ = catalog.apply(changes(of: [operation]).changes, sequence: sequence, isChecked: true)
      }
    }
    withExtendedLifetime(arena) {}
  }

  /// All styles of a URL.
  func forgetStyles(_ url: [UInt8]) { forget([CacheKey(bytes: url)], withStyles: true) }

  /// Entries that `isWanted` picks.
  func forget(where isWanted: (RecordView, KeySlot) -> Bool) {
    guard writesNoMore else { return }
    var keys: [CacheKey] = []
    forEachRecord { (view, _, slot) throws(Never) in
      if isWanted(view, slot) { keys.append(view.key) }
      if keys.count == 10_000 {
        forget(keys)
        keys.removeAll(keepingCapacity: true)
      }
      return true
    }
    forget(keys)
  }

  func forgetAll() {
    forgetting { sequence in
      _ = catalog.apply([.removeAll], sequence: sequence, isChecked: true)
      inline.withLock { $0.removeAll() }
    }
  }

  private func forgetting(_ body: (_ sequence: UInt64) -> Void) {
    // In a forked child another thread of the parent may have held the lock.
    if isForkedChild { return }
    locked { if writesNoMore, let wal { body(wal.appendedSequence) } }
  }

  // MARK: Making way for another core

  /// Ends all work in the folder and lets its lock go: a store in the same folder may be opened. Waits for a round of
  /// upkeep. Only of a store that was removed.
  func standDown() {
    background.withLock { $0 }?.stop()
    // Behind both locks nothing is being written.
    upkeepLock.lock()
    defer { upkeepLock.unlock() }
    locked { releaseLock() }
  }

  /// Lets go of all entries, and of all files but those that a get or a Blob still needs.
  func dismiss() {
    forgetAll()
    locked {
      openSegments = Array(repeating: nil, count: openSegments.count)
      spares = []
      abortAllBodies()
      // A reservation does not own its segment.
      for case let segment? in catalog.segments.segments
      where segment.pendingCount == 0 && segment.lentCount == 0 && !catalog.segments.isPinned(segment.slot) {
        catalog.segments.remove(slot: segment.slot)
      }
    }
  }
}
