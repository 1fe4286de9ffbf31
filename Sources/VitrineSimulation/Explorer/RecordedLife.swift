import Vitrine

// What happens to the store as a whole: upkeep, budgets, openings, readers, its clock.
extension RecordedStore {
  /// From here on, all so far must survive a loss of power.
  public func flush() throws {
    try attempt {
      try history.flush {
        try store.flush()
        return true
      }
    }
  }

  /// Writes the index out; as ``flush()``, for what must survive.
  public func checkpoint() throws {
    try attempt {
      try history.flush {
        try store.checkpoint()
        return true
      }
    }
  }

  /// What the store does in the background, now: all so far must survive a loss of power, unless the disk failed it. What
  /// that was short of, memory for a sync or descriptors, it does again a second later.
  public func upkeep() {
    history.flush(isPromise: false) {
      let strikeCount = world.disk.strikeCount
      evicting { world.background.runAll() }
      return isWell && world.disk.strikeCount == strikeCount
    }
  }

  /// Nothing that anybody could see changes.
  @discardableResult
  public func compact() throws -> CompactionReport {
    var report = CompactionReport()
    try attempt { try evicting { report = try store.compact() } }
    return report
  }

  /// Changes the budget of bytes; a smaller one evicts.
  public func setByteBudget(_ byteCount: Int) throws {
    try attempt { try evicting { try store.setBudgets(byteBudget: byteCount) } }
    // Where the disk failed the store may have the old one, or shrink no further. Of what it has counted not all may have
    // blocks yet.
    let told = store.statistics()
    noteBudget(isTolerant ? max(told.byteBudget, told.bytesOnDisk, world.disk.usedByteCount) : byteCount)
  }

  /// Changes the budget of entries, 0 for none; a smaller one evicts.
  public func setEntryBudget(_ count: Int) throws {
    history.hasOtherBudgets = true
    try attempt { try evicting { try store.setBudgets(entryBudget: count) } }
  }

  /// What came so far is durable, and no crash before this is explored.
  public func begin() throws {
    try flush()
    markBeginning()
  }

  /// Closes the store and opens it again.
  public func reopen() throws {
    try close()
    try open()
  }

  private func open() throws {
    store = try CacheStore.open(at: RecordedStore.path, options: options, environment: world.environment)
    openedAt = world.disk.operationCount
    isClosed = false
  }

  // MARK: Around it

  /// Opens the store read-only beside this one, as another process would.
  public func reader() throws -> CacheStore? {
    var reader: CacheStore?
    try attempt {
      var options = options
      options.isReadOnly = true
      reader = try CacheStore.open(at: RecordedStore.path, options: options, environment: world.environment)
    }
    return reader
  }

  /// Moves a reader forward, and throws ``Unexpected`` where it does not find what the store has.
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

  /// What a workload finds that must not be.
  public struct Unexpected: Error, CustomStringConvertible {
    let text: String
    public var description: String { text }
  }

  /// Retains what an entry has now. It shows that as long as it is held, whatever becomes of the entry, its segment and the
  /// store.
  public func hold(_ name: String, style: Style = .original) {
    guard let blob = store.blob(name, style: style), let bytes = store.bytes(CacheKey(name, style)) else { return }
    heldBlobs.append((name, blob, bytes))
  }

  /// Lets go what was held, and throws ``Unexpected`` where it shows anything else than it did.
  public func checkHeld() throws {
    let held = heldBlobs
    heldBlobs = []
    for (name, blob, bytes) in held where !isTolerant {
      let isSame = blob.withBytes { now in now.withUnsafeBytes { $0.elementsEqual(bytes) } }
      if !isSame { throw Unexpected(text: "what was retained of \(name) has other bytes") }
    }
  }

  /// Steps the wall clock, in either direction; time that passes moves both.
  public func stepClock(milliseconds: Int) {
    world.clock.setWall(milliseconds: world.clock.wallMilliseconds() + Int64(milliseconds))
  }

  /// Milliseconds since 1970, by the store's clock.
  public var now: Int64 { world.clock.wallMilliseconds() }

  /// Closes the store. Only ``reopen()`` may follow.
  public func close() throws {
    // A store that has failed closes without a word, and without making anything durable.
    let isWell = isWell
    // Also where its last writes fail.
    isClosed = true
    // Closing looks at what a crash had left.
    defer { noteWhatWasTold() }
    try history.flush(isPromise: false) {
      try store.close()
      return isWell
    }
  }

  /// Takes the index away from a closed store, as damage does, and builds it anew from the segments: by `cachectl repair`,
  /// or by the next opening. Removed keys may come back then, so none should have been removed.
  public func loseIndexAndReopen(repairs: Bool) throws {
    // What the segments do not have yet, they could not give back.
    if try !closeWell() { return try open() }
    RecordedStore.loseIndex(world.disk)
    markBeginning()
    if repairs {
      let report = try CacheStore.repair(at: RecordedStore.path, environment: world.environment)
      if !report.damaged.isEmpty || report.notes.contains(where: RecordedStore.tellsOfLoss) {
        toldBefore = max(toldBefore, .entriesMayMiss)
        lossesBefore += RecordedStore.anyNumber
      }
    }
    try open()
  }

  /// Every checkpoint is damaged.
  package static func loseIndex(_ disk: SimulatedDisk) { wipe("checkpoints", of: disk) }

  static func wipe(_ folder: String, of disk: SimulatedDisk) {
    for file in disk.filePaths where file.hasPrefix("\(path)/\(folder)/") {
      disk.damage(file) { bytes in for index in bytes.indices { bytes[index] = 0 } }
    }
  }

  /// Takes from a closed store the checkpoint's file that nothing hangs on, and opens it, which makes that file anew.
  func loseOlderCheckpointAndReopen() throws {
    // What was not closed well may need both.
    if try !closeWell() { return try open() }
    let folder = "\(RecordedStore.path)/checkpoints"
    let files = world.rebooted(world.disk.copy()).environment.fileSystem
    // Others may have taken the folder.
    let found = try? CheckpointSet.open(files.openDirectory(folder, create: false), access: .readOnly)
    guard let newest = found?.order.first else { return try open() }
    for index in 0...1 where index != newest { world.disk.remove("\(folder)/\(CheckpointHeader.fileName(index))") }
    markBeginning()
    try open()
  }

  /// Somebody puts a file under the name that the next segment will have, where the folder is still there.
  func takeNextSegmentsName(_ bytes: [UInt8]) {
    guard world.disk.contents("\(RecordedStore.path)/\(CacheFormat.storeFile)") != nil else { return }
    let name = SegmentHeader.fileName(store.catalog.nextSegment)
    world.disk.setContents("\(RecordedStore.path)/\(CacheFormat.segmentsFolder)/\(name)", bytes)
  }

  /// Closes the store. Answers whether all that there was is durable.
  private func closeWell() throws -> Bool {
    let flushCount = history.flushes.count
    try close()
    return history.flushes.count > flushCount
  }

  private var isWell: Bool { (try? store.requireWell()) != nil }
}
