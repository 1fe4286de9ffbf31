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
        throw SystemError(code: 28, operation: "open the log", path: "wal")
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

extension StoreCore {
  /// Everything a writer does before it serves. Needs no free space on the disk.
  func adopt(
    _ loaded: LoadedStore, isChanged: Bool, isMarked: Bool, lockFile: any File
  ) throws(StoreError) {
    guard let wal else { throw .readOnly }
    dropRetired()
    // A number is never given twice, not even one that only a file without frames carries.
    for case let id? in orphans.map(SegmentHeader.segment(ofFile:)) {
      catalog.nextSegment = max(catalog.nextSegment, id &+ 1)
    }
    let segments = catalog.segments.segments.compactMap { $0 }
    spares = segments.filter { $0.state == .spare && $0.isAttached }
    if loaded.isClean {
      for segment in segments where segment.state == .open { openSegments[Int(segment.stream.rawValue)] = segment }
    } else {
      // What lies behind the last counted record may be half of something: nothing is written there again.
      let changes = segments.filter { $0.state == .open }.map {
        Change.segmentSealed(slot: $0.slot, byteCount: $0.byteCount)
      }
      if wal.freeCount == 0 {
        // The checkpoint below says so; the last spare log file stays as good as empty until then.
        catalog.apply(changes, sequence: 0, isChecked: false)
      } else if !changes.isEmpty {
        _ = try locked { () throws(StoreError) in try record(changes) }
      }
      let told = catalog.leastReplayedOffsets()
      for segment in segments where segment.state == .sealed && segment.isAttached {
        if segment.tail > catalog.segments.vouchedUpTo(segment.slot) {
          let toldFrom = told[segment.slot] ?? .max
          unchecked.append(Leftover(slot: segment.slot, id: segment.id, end: segment.tail, toldFrom: toldFrom))
          // Of what the process before has written, nobody knows that it is on the disk: a flush is for all that there is.
          segment.isDirty = true
          segment.owesSync = true
        }
      }
    }
    try mendCheckpointFiles()
    if isChanged || loaded.storeFileNeedsHealing {
      try write(identity)
      ledger.fixed = max(ledger.fixed, Adoption.fixedByteCount(folders.root))
    }
    if isMarked { try writeAnewWhatNobodyVouchesFor() }
    if wal.freeCount == 0 || isMarked || isChanged || loaded.kind == .rebuilt || loaded.mayHaveLostRemovals
      || loaded.droppedCount > 0
    {
      // Unchecked records stay without a voucher.
      try checkpoint()
      loaded.scan.forgetWhatIsNoHeader(store: identity.store)
    }
    locked { if unchecked.isEmpty { catalog.forgetReplayed() } }
    // What was used since the last checkpoint was used before now.
    noteUseTime()
    if isMarked {
      do throws(SystemError) {
        try lockFile.write(LockFile.contents(isMarked: false), at: 0)
        try lockFile.sync()
      } catch {
        throw .system(error)
      }
    }
  }

  /// Segments that were retired in the log: their files are orphans by now.
  private func dropRetired() {
    for case let segment? in catalog.segments.segments where segment.state == .retired {
      catalog.segments.remove(slot: segment.slot)
      catalog.segments.giveBack(slot: segment.slot)
    }
  }

  /// Both copies of `STORE`, durable.
  func write(_ identity: StoreIdentity) throws(StoreError) {
    do throws(SystemError) {
      let file: any File
      do throws(SystemError) {
        file = try folders.root.openFile(CacheFormat.storeFile, .readWrite)
      } catch {
        guard error.code == SystemError.missing else { throw error }
        return try Creation.makeStoreFile(identity, in: folders.root)
      }
      try Creation.write(identity, to: file)
      // Whoever made it may have died before its name was durable.
      try folders.root.sync()
    } catch {
      throw writeError(error)
    }
  }

  /// A checkpoint file that was lost is made again, with the room of the other; one that has too little gets more. On a
  /// full disk a copy that was made without zeros opens as it is.
  private func mendCheckpointFiles() throws(StoreError) {
    let needed = catalog.checkpointByteCount(moreSegments: 0)
    do throws(SystemError) {
      for index in checkpoints.slots.indices
      where checkpoints.slots[index].file == nil || checkpoints.slots[index].room < needed {
        let file: any File
        if let existing = checkpoints.slots[index].file {
          file = existing
        } else {
          file = try Creation.fresh(CheckpointHeader.fileName(index), folders.checkpoints)
        }
        let room = max(needed, checkpoints.slots.map(\.room).max() ?? 0)
        do throws(SystemError) {
          try file.allocate(byteCount: room)
        } catch {
          guard SystemCode.isNoSpace(error.code), try file.status().byteCount >= needed else { throw error }
          ledger.checkpoints += try checkpoints.slots[index].noteRoom(needed)
          continue
        }
        try file.sync()
        try folders.checkpoints.sync()
        checkpoints.slots[index].file = file
        ledger.checkpoints += try checkpoints.slots[index].noteRoom(room)
      }
    } catch {
      throw SystemCode.isNoSpace(error.code) ? .noSpace : .system(error)
    }
    checkpointByteCount = checkpoints.room
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
