/// How a writer goes on from what recovery found: a log file of its own, the rest of the last opening sealed, and
/// whatever was damaged or missing made anew.
struct Adoption {
  let loaded: LoadedStore
  let folders: StoreFolders
  let environment: Environment

  /// Rule 7: a process that died may have left the checkpoint that counts in memory alone. Before any file is used again
  /// that only the other one needs, before the other one is written over, and before `STORE` is made anew from it, it has
  /// to be on the disk. Where a sync `hasFailed`, a further one would say nothing of pages that only look written.
  func secureCheckpoint(hasFailed: Bool) throws(StoreError) {
    do throws(SystemError) {
      if hasFailed, let current = loaded.checkpoint.current, let file = loaded.checkpoint.slots[current].file,
        let header = loaded.checkpoint.slots[current].header
      {
        try file.write(file.read(0..<header.leastFileByteCount), at: 0)
      }
      for slot in loaded.checkpoint.slots { try slot.file?.sync() }
      try folders.checkpoints.sync()
    } catch {
      throw SystemCode.isNoSpace(error.code) ? .noSpace : .system(error)
    }
  }

  /// The log with a file of this opening as its active one. Rule 2: its header names where the log was cut, and is
  /// durable before anything carries the new number.
  func makeLog() throws(StoreError) -> WAL {
    do throws(SystemError) {
      var files: [WAL.LogFile] = []
      var replayed: [WAL.LogFile] = []
      for index in 0..<CacheFormat.walFileCount {
        let name = WALFileHeader.fileName(index)
        let found = loaded.scan.files.first { $0.name == name }
        let isWhole = found.map { $0.byteCount >= CacheFormat.smallestWALFile } ?? false
        let file =
          try isWhole
          ? found!.file
          : Creation.makeLogFile(
            name, folders.wal, byteCount: loaded.identity.walFileByteCount)
        let log = WAL.LogFile(
          name: name, file: file, byteCount: min(isWhole ? found!.byteCount : .max, loaded.identity.walFileByteCount),
          isMapped: folders.wal.promisesAllocation, isNew: !isWhole)
        if isWhole, let header = found?.header, loaded.chain.contains(header.use),
          !(isEmptyTail && header.use == loaded.end.use)
        {
          log.header = header
          log.state = .filled
          replayed.append(log)
          // It stays until a checkpoint covers it, which has brought what it carries to its place (rule 6).
        }
        files.append(log)
      }
      try folders.wal.sync()
      let opening = loaded.newestOpening + 1
      let wal = WAL(
        store: loaded.identity.store, entropy: environment.entropy, files: files,
        nextUse: loaded.scan.newestUse + 1, opening: opening, durableSequence: loaded.durableSequence)
      // The invariant of rule 8 leaves a file free. When recovery itself has used it, and was broken off before its
      // checkpoint, that file holds nothing but recovery's own frames: they are made anew.
      var isTailReused = isEmptyTail
      if wal.freeCount == 0 {
        (files.first { $0.header?.use == loaded.end.use } ?? files.last)?.state = .free
        isTailReused = true
      }
      var cut = loaded.end
      if isTailReused, let tail = loaded.scan.file(use: cut.use)?.header, loaded.chain.count > 1 {
        // Its header goes: the log was cut where that header said.
        cut = WALPosition(
          use: tail.predecessor, offset: tail.predecessorCut, sequence: tail.predecessorSequence)
      }
      guard try wal.rotate(cut: cut), let active = wal.active else {
        throw SystemError(code: SystemError.noSpace, operation: "open the log", path: "wal")
      }
      try active.file.sync()
      wal.adoptUnsynced(replayed)
      return wal
    } catch {
      throw SystemCode.isNoSpace(error.code) ? .noSpace : .system(error)
    }
  }

  /// The newest file of the chain when it holds no frame: it can be begun again.
  private var isEmptyTail: Bool {
    loaded.end.offset == WALFileHeader.frameStart && loaded.chain.count > 1
  }

  static func ledger(_ loaded: LoadedStore, _ folders: StoreFolders, _ wal: WAL?) -> Ledger {
    var ledger = Ledger(budget: loaded.identity.byteBudget, account: loaded.catalog.segments.account)
    for directory in folders.all { ledger.folders += (try? directory.status().allocatedByteCount) ?? 4096 }
    ledger.fixed = fixedByteCount(folders.root)
    // An opening for writing has made those anew that were missing.
    for file in wal?.files.map(\.file) ?? loaded.scan.files.map(\.file) {
      ledger.wal += (try? file.status().chargedByteCount(atMost: loaded.identity.walFileByteCount)) ?? 0
    }
    ledger.checkpoints = loaded.checkpoint.slots.reduce(0) { $0 + $1.chargedByteCount }
    for case let segment? in loaded.catalog.segments.segments where segment.state != .retired {
      ledger.segments += segment.allocatedByteCount
    }
    for name in loaded.orphans {
      ledger.orphans += (try? SegmentHeader.charge(of: folders.segments.openFile(name, .readOnly))) ?? 0
    }
    return ledger
  }

  /// What the files of the folder itself take.
  static func fixedByteCount(_ root: any Directory) -> Int {
    let names = [CacheFormat.storeFile, CacheFormat.lockFile, CacheFormat.countersFile, CacheFormat.tagFile]
    // `STORE` is the longest of them.
    let limit = StoreIdentity.fileByteCount
    return names.reduce(0) { $0 + ((try? root.openFile($1, .readOnly).status().chargedByteCount(atMost: limit)) ?? 0) }
  }
}

extension StoreIdentity {
  /// Whether less may be kept than under another identity of the store.
  func isTighter(than other: StoreIdentity) -> Bool {
    byteBudget < other.byteBudget
      || (entryBudget > 0 && (other.entryBudget == 0 || entryBudget < other.entryBudget))
  }

  /// With the options that were given in place of the stored ones; the same where they say nothing new.
  func changed(by options: StoreOptions) -> StoreIdentity {
    var changed = self
    if let budget = options.byteBudget { changed.byteBudget = budget }
    if let budget = options.entryBudget { changed.entryBudget = budget }
    if let durability = options.durability { changed.durability = durability }
    if let count = options.segmentByteCount { changed.segmentByteCount = roundUp(count, to: 4096) }
    if let level = options.compressionLevel { changed.compressionLevel = level }
    if let age = options.maximumAgeMilliseconds { changed.maximumAge = age }
    if let age = options.maximumIdleMilliseconds { changed.maximumIdle = age }
    if let policy = options.policy { changed.policy = policy }
    if changed != self { changed.generation += 1 }
    return changed
  }
}
