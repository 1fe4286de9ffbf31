import Vitrine

// Operations on the store as a whole: upkeep, budgets, openings, readers, its clock, other threads.
extension RecordedStore {
  /// Flushes: all changes so far must survive a loss of power. Throws the store's errors.
  public func flush() throws {
    try attempt {
      try history.flush {
        try store.flush()
        return true
      }
    }
  }

  /// Writes a checkpoint; it makes the same durable as ``flush()``. Throws the store's errors.
  public func checkpoint() throws {
    try attempt {
      try history.flush {
        try store.checkpoint()
        return true
      }
    }
  }

  /// Runs the store's background work now. All changes so far must survive a loss of power, unless a call to the disk
  /// failed. If a sync lacked memory or descriptors, the store repeats the work a second later.
  public func upkeep() {
    history.flush(isPromise: false) {
      let strikeCount = world.disk.strikeCount
      evicting { world.background.runAll() }
      return isWell && world.disk.strikeCount == strikeCount
    }
  }

  /// Compacts; no visible state may change. Throws the store's errors.
  @discardableResult
  public func compact() throws -> CompactionReport {
    var report = CompactionReport()
    try attempt { try evicting { report = try store.compact() } }
    return report
  }

  /// Does all pending upkeep; no visible state may change. Throws the store's errors.
  public func idle() throws {
    try attempt { try evicting { _ = try store.idle() } }
  }

  /// Changes the budget of bytes; a smaller one evicts. Throws the store's errors.
  public func setByteBudget(_ byteCount: Int) throws {
    try attempt { try evicting { try store.setBudgets(byteBudget: byteCount) } }
    // If the disk failed, the store may keep the old budget, or shrink no further. Some of the bytes that it has
    // counted may have no blocks yet.
    let told = store.statistics()
    noteBudget(isTolerant ? max(told.byteBudget, told.bytesOnDisk, world.disk.usedByteCount) : byteCount)
  }

  /// Changes the budget of entries, 0 for none; a smaller one evicts. Throws the store's errors.
  public func setEntryBudget(_ count: Int) throws {
    history.noteOtherBudget()
    try attempt { try evicting { try store.setBudgets(entryBudget: count) } }
  }

  /// Evicts until the folder takes at most `byteCount` bytes. Throws the store's errors.
  public func trim(toBytes byteCount: Int) throws {
    try attempt { try evicting { _ = try store.trim(toBytes: byteCount) } }
  }

  /// Evicts until at most `count` entries are left. Throws the store's errors.
  public func trim(toEntries count: Int) throws {
    try attempt { try evicting { _ = try store.trim(toEntries: count) } }
  }

  /// Evicts the entries that were not used during the last `milliseconds`. Throws the store's errors.
  public func removeUnused(forMilliseconds milliseconds: Int) throws {
    try attempt { try evicting { _ = try store.removeUnused(since: now - Int64(milliseconds)) } }
  }

  /// Makes all changes so far durable; no earlier crash is explored. Throws the store's errors.
  public func begin() throws {
    try flush()
    markBeginning()
  }

  /// Closes the store and opens it again. Throws the store's errors.
  public func reopen() throws {
    try close()
    try open()
  }

  // MARK: Readers, Blobs and clock

  /// Opens the store read-only beside this one, as another process would. Returns nil if a fault keeps it from opening.
  /// Throws the store's errors.
  public func reader() throws -> CacheStore? {
    var reader: CacheStore?
    try attempt {
      var options = options
      options.isReadOnly = true
      reader = try CacheStore.open(at: RecordedStore.path, options: options, environment: world.environment)
    }
    return reader
  }

  /// Refreshes a reader, and throws ``Unexpected`` if it does not find the store's state.
  public func check(_ reader: CacheStore) throws {
    try attempt {
      try reader.refresh()
      for key in history.keys {
        let (expected, found) = (Inspection.content(store, key), Inspection.content(reader, key))
        if found == expected || isTolerant && history.hasEverPut(key, found) { continue }
        throw Unexpected(text: "a reader finds \(found?.bytes.count ?? -1) bytes of \(key.urlText)")
      }
    }
  }

  /// A violation that a workload has found.
  public struct Unexpected: Error, CustomStringConvertible {
    let text: String
    public var description: String { text }
  }

  /// Retains the current blob of an entry. As long as it is held, it must show the same bytes, even if the entry or its
  /// segment is removed or the store is closed.
  public func hold(_ name: String, style: Style = .original) {
    guard let blob = store.blob(name, style: style), let bytes = store.bytes(CacheKey(name, style)) else { return }
    heldBlobs.hold(name, blob, showing: bytes)
  }

  /// Releases the held blobs, and throws ``Unexpected`` if one shows other bytes than before.
  public func checkHeld() throws {
    let changed = isTolerant ? nil : heldBlobs.firstChanged
    heldBlobs.releaseAll()
    if let changed { throw Unexpected(text: "the retained blob of \(changed) has other bytes") }
  }

  /// Steps the wall clock, in either direction; elapsed time moves both clocks.
  public func stepClock(milliseconds: Int) {
    world.clock.setWall(milliseconds: world.clock.wallMilliseconds() + Int64(milliseconds))
  }

  /// Lets time pass.
  public func passTime(milliseconds: Int) { world.clock.advance(milliseconds: milliseconds) }

  /// Milliseconds since 1970, by the store's clock.
  public var now: Int64 { world.clock.wallMilliseconds() }

  // MARK: Damage between two openings

  /// Damages the index of a closed store, and rebuilds it from the segments: by `cachectl repair`, or by the next
  /// opening. Removed keys may return then, so none should have been removed. Throws the store's errors.
  public func loseIndexAndReopen(repairs: Bool) throws {
    // A rebuild cannot return changes that are not in the segments yet.
    if try !closeWell() { return try open() }
    RecordedStore.loseIndex(world.disk)
    markBeginning()
    if repairs { try repair() }
    try open()
  }

  /// Damages every checkpoint.
  package static func loseIndex(_ disk: SimulatedDisk) { wipe("checkpoints", of: disk) }

  static func wipe(_ folder: String, of disk: SimulatedDisk) {
    for file in disk.filePaths where file.hasPrefix("\(path)/\(folder)/") {
      disk.damage(file) { bytes in for index in bytes.indices { bytes[index] = 0 } }
    }
  }

  /// Removes the older checkpoint file of a closed store, and opens it, which makes that file again.
  func loseOlderCheckpointAndReopen() throws {
    // After an incomplete close both may be needed.
    if try !closeWell() { return try open() }
    let folder = "\(RecordedStore.path)/checkpoints"
    let files = world.rebooted(world.disk.copy()).environment.fileSystem
    // An external event may have removed the folder.
    let found = try? CheckpointSet.open(files.openDirectory(folder, create: false), access: .readOnly)
    guard let newest = found?.order.first else { return try open() }
    for index in 0...1 where index != newest { world.disk.remove("\(folder)/\(CheckpointHeader.fileName(index))") }
    markBeginning()
    try open()
  }

  /// Another program puts a file under the name of the next segment, if the folder still exists.
  func takeNextSegmentsName(_ bytes: [UInt8]) {
    guard world.disk.contents("\(RecordedStore.path)/\(CacheFormat.storeFile)") != nil else { return }
    let name = SegmentHeader.fileName(store.probe.nextSegment)
    world.disk.setContents("\(RecordedStore.path)/\(CacheFormat.segmentsFolder)/\(name)", bytes)
  }

  /// Closes the store. Returns whether all changes are durable.
  private func closeWell() throws -> Bool {
    let flushCount = history.flushes.count
    try close()
    return history.flushes.count > flushCount
  }

  // MARK: Several threads

  /// A change by another thread.
  public enum Bystander: Sendable {
    /// A put of bytes for a URL, under the style `original`.
    case put(String, [UInt8], synced: Bool)
    /// A removal of a URL with the style `original`.
    case remove(String, synced: Bool)
  }

  /// Runs `body`. While its sync of that number (counted from 1) is in progress, each bystander's change begins on its
  /// own thread, one after the other. A buffered change ends there; a synced one shares a later sync. If a change waits
  /// for the body, those behind it follow the body. If the body has no such sync, all changes follow it. Returns when
  /// all have ended. Their keys must differ from those of the body, and the entries that they change must exist. Throws
  /// the errors of `body`.
  public func overlap(sync number: Int = 1, _ bystanders: [Bystander], _ body: () throws -> Void) throws {
    let evictedBefore = evictions.keys.count
    // If a content of a bystander's key was evicted, it is not known which one, and when.
    defer {
      let evicted = evictions.keys[evictedBefore...]
      if evicted.contains(where: bystanders.map(\.key).contains) { history.noteUnknownOrder() }
    }
    try evicting { try Overlap(self, bystanders).run(inSync: number, of: body) }
  }
}
