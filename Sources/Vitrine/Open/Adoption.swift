/// Prepares the files of a recovered store for writing: makes the checkpoint durable, makes the log of the new opening,
/// and enters all files in a ledger.
struct Adoption {
  /// The store as recovery has found it. Functions that change a part of it take that part as a parameter.
  let loaded: LoadedStore
  let folders: StoreFolders
  let environment: Environment

  /// Makes the newest valid checkpoint durable (rule 7). A process that died may have left it in memory only. It must
  /// be durable before the other checkpoint is overwritten, before a file is reused that only the other checkpoint
  /// needs, and before `STORE` is rewritten from it. `hasFailed`: a sync failed before. Then the checkpoint is first
  /// written again, because the kernel may count pages as clean that never reached the disk.
  ///
  /// The other file is synced too: a process that died while it grew may have left its length in memory only.
  ///
  /// A newer checkpoint that could not be read is erased, since the log leads on from this one.
  func secureCheckpoint(_ checkpoints: inout CheckpointSet, hasFailed: Bool) throws(StoreError) {
    do throws(SystemError) {
      if hasFailed, let current = loaded.checkpoint.current, let file = loaded.checkpoint.slots[current].file,
        let header = loaded.checkpoint.slots[current].header
      {
        try file.write(file.read(0..<header.leastFileByteCount), at: 0)
        if header.isRoot, let area = loaded.files.area {
          guard let pieces = RootBody.pieces(from: file, header: header) else {
            throw SystemError(code: SystemError.ioError, operation: "read", path: file.path)
          }
          for range in pieces.flatMap(\.ranges) {
            let start = range.start * Piece.blockByteCount
            try area.write(area.read(start..<range.end * Piece.blockByteCount), at: start)
          }
        }
      }
      try loaded.files.area?.sync()
      for slot in loaded.checkpoint.slots { try slot.file?.sync() }
      try folders.checkpoints.sync()
      // After a rebuild, the log itself tells that no earlier checkpoint counts.
      if loaded.report.kind != .rebuilt { try checkpoints.erasePassedOver() }
    } catch {
      throw SystemCode.isNoSpace(error.code) ? .noSpace : .system(error)
    }
  }

  /// Makes room for the checkpoint of a rebuilt index. This comes before the new log, whose header makes each opening
  /// rebuild until that checkpoint exists. A missing checkpoint file is made later: beside a blank file, the other
  /// checkpoint would count as the newest.
  func makeCheckpointRoom(_ checkpoints: inout CheckpointSet, _ pieces: inout PieceSet?) throws(StoreError) {
    let needed = IndexRoom.needed(
      by: loaded.index.writer, hasPieces: pieces != nil, moreSegments: 0, areaBlocks: pieces?.blockCount ?? 0,
      smallBase: loaded.files.smallBase)
    _ = try Adoption.mend(
      &checkpoints, in: folders.checkpoints, needed: needed.fileByteCount, makesMissing: false)
    _ = try Adoption.mend(&pieces, needed: needed.blockCount)
  }

  /// Opens the area of a store with pieces, and notes the blocks that its roots name. Makes an area that is missing.
  func openPieces(_ checkpoints: CheckpointSet) throws(StoreError) -> PieceSet? {
    guard loaded.identity.hasPieces else {
      // An interrupted conversion may have left the area.
      if loaded.files.area != nil { try? folders.checkpoints.remove(CacheFormat.areaFile) }
      return nil
    }
    do throws(SystemError) {
      var area = loaded.files.area
      if area == nil {
        area = try Creation.fresh(CacheFormat.areaFile, folders.checkpoints)
        try folders.checkpoints.sync()
      }
      guard let area else { return nil }
      let status = try area.status()
      let roots =
        try loaded.report.kind == .rebuilt ? [:] : pieces(ofRoots: checkpoints, areaByteCount: status.byteCount)
      let named = roots.values.flatMap { $0.flatMap(\.ranges) }.map(\.end).max() ?? 0
      // The area has at least the blocks that a root names, even if the file has holes. Otherwise its usable length
      // decides, up to the byte budget: no index of this budget needs a longer area.
      let whole =
        folders.checkpoints.promisesAllocation
        ? min(status.byteCount, status.allocatedByteCount) : status.byteCount
      let blockCount = min(whole / Piece.blockByteCount, loaded.identity.byteBudget / Piece.blockByteCount)
      var pieces = PieceSet(
        store: loaded.identity.store, area: area, blockCount: max(blockCount, named),
        opening: loaded.newestOpening + 1, smallBase: loaded.files.smallBase)
      for (index, list) in roots {
        let owed = checkpoints.slots[index].header?.owedWordCount ?? 0
        pieces.note(list, owed: owed, root: index, isNewest: index == checkpoints.current)
      }
      return pieces
    } catch {
      throw SystemCode.isNoSpace(error.code) ? .noSpace : .system(error)
    }
  }

  /// Takes over the file of uses of a store with pieces. After a rebuild, the recency clock has begun anew, so earlier
  /// uses are dropped.
  func openUses() -> UseRing? {
    guard let uses = loaded.files.uses, loaded.identity.hasPieces else { return nil }
    let byteCount = FoundUses.usableByteCount(uses.file, in: folders.checkpoints)
    if loaded.report.kind == .rebuilt || byteCount < UseRing.leastBlocks * UseBlock.byteCount {
      try? folders.checkpoints.remove(CacheFormat.usesListFile)
      try? folders.checkpoints.sync()
      return nil
    }
    return UseRing(
      uses.file, store: loaded.identity.store, blockCount: byteCount / UseBlock.byteCount, found: uses)
  }

  /// Makes room for the index of a store that is converted. Returns false, and removes the area, if the disk is full.
  func makeAreaRoom(_ pieces: inout PieceSet?) throws(StoreError) -> Bool {
    // Before the next checkpoint, changes may fill the whole log at its present length.
    let logByteCount = loaded.log.scan.files.reduce(0) { $0 + min($1.byteCount, loaded.identity.walFileByteCount) }
    let needed = IndexRoom.needed(
      by: loaded.index.writer, hasPieces: true,
      journal: max(logByteCount, CacheFormat.walFileCount * CacheFormat.newWALFile) / 7,
      areaBlocks: pieces?.blockCount ?? 0,
      smallBase: loaded.files.smallBase)
    _ = try Adoption.mend(&pieces, needed: needed.blockCount)
    if let blockCount = pieces?.blockCount, blockCount >= needed.blockCount { return true }
    do throws(SystemError) {
      try folders.checkpoints.remove(CacheFormat.areaFile)
    } catch {
      throw .system(error)
    }
    return false
  }

  /// Returns the pieces that each root names, by the index of the root's checkpoint file. Leaves out an older root that
  /// cannot be read. Throws if the current root cannot be read, because this opening has read it before.
  private func pieces(
    ofRoots checkpoints: CheckpointSet, areaByteCount: Int
  ) throws(SystemError) -> [Int: [Piece]] {
    var roots: [Int: [Piece]] = [:]
    for (index, slot) in checkpoints.slots.enumerated() {
      guard let header = slot.header, header.isRoot, let file = slot.file else { continue }
      let list = RootBody.pieces(from: file, header: header)
      let isInArea =
        list?.allSatisfy { $0.ranges.allSatisfy { ($0.end - 1) * Piece.blockByteCount < areaByteCount } } ?? false
      if isInArea {
        roots[index] = list
      } else if index == checkpoints.current {
        throw SystemError(code: SystemError.ioError, operation: "read", path: file.path)
      }
    }
    return roots
  }

  /// Enlarges an area with too few blocks. Returns the bytes by which it has grown. On a full disk, the area stays as
  /// it is: then puts ask for room, and a checkpoint may still fit.
  static func mend(_ pieces: inout PieceSet?, needed: Int) throws(StoreError) -> Int {
    guard let blockCount = pieces?.blockCount, blockCount < needed else { return 0 }
    do throws(SystemError) {
      return try pieces?.allocate(blockCount: needed) ?? 0
    } catch {
      if SystemCode.isNoSpace(error.code) { return 0 }
      throw .system(error)
    }
  }

  /// Recreates a missing checkpoint file as large as the other one, and enlarges a file with too little room. If the
  /// disk is full, accepts a file that is long enough but has too few blocks, as a sparse copy of a store has.
  /// Returns the number of bytes by which the files have grown.
  static func mend(
    _ checkpoints: inout CheckpointSet, in folder: any Directory, needed: Int, makesMissing: Bool = true
  ) throws(StoreError) -> Int {
    var growth = 0
    do throws(SystemError) {
      for index in checkpoints.slots.indices
      where checkpoints.slots[index].file == nil || checkpoints.slots[index].room < needed {
        let file: any File
        if let existing = checkpoints.slots[index].file {
          file = existing
        } else if !makesMissing {
          continue
        } else {
          file = try Creation.fresh(CheckpointHeader.fileName(index), folder)
        }
        let room = max(needed, checkpoints.slots.map(\.room).max() ?? 0)
        do throws(SystemError) {
          try file.allocate(byteCount: room)
        } catch {
          guard SystemCode.isNoSpace(error.code), try file.status().byteCount >= needed else { throw error }
          growth += try checkpoints.noteRoom(needed, index)
          continue
        }
        try file.sync()
        try folder.sync()
        checkpoints.enter(file, index)
        growth += try checkpoints.noteRoom(room, index)
      }
    } catch {
      throw SystemCode.isNoSpace(error.code) ? .noSpace : .system(error)
    }
    return growth
  }

  /// Makes the log, with a file of this opening as its active one. Rule 2: the file's header names the cut of the old
  /// log, and is durable before any record or frame carries the new opening number.
  func makeLog() throws(StoreError) -> LogWriter {
    do throws(SystemError) {
      var files: [LogWriter.Entry] = []
      for index in 0..<CacheFormat.walFileCount {
        let name = WALFileHeader.fileName(index)
        let found = loaded.log.scan.files.first { $0.name == name }
        let isWhole = found.map { $0.byteCount >= CacheFormat.newWALFile } ?? false
        let file =
          try isWhole
          ? found!.file
          : Creation.makeLogFile(name, folders.wal)
        var byteCount = min(isWhole ? found!.byteCount : CacheFormat.newWALFile, loaded.identity.walFileByteCount)
        // A file with replayed frames stays until a checkpoint covers it; the checkpoint also puts the file's payloads
        // into segments (rule 6).
        let replayed = (isWhole ? found?.header : nil).flatMap { header in
          isNeeded(header) && !(isEmptyTail && header.use == loaded.log.end.use) ? header : nil
        }
        // A crash while the file grew may have left its end without blocks, so the file is cut to the length that its
        // blocks allow. Blocks for the rest might exceed the budget: the growth may have taken the room of an unlinked
        // segment, and the crash may have brought that segment back as an orphan.
        let allocated = try file.status().allocatedByteCount
        if folders.wal.promisesAllocation, allocated < byteCount {
          let cut = max(leastByteCount(replayed, byteCount), allocated / 4096 * 4096)
          if cut < byteCount, (try? file.truncate(to: cut)) != nil { byteCount = cut }
          do throws(SystemError) {
            try file.allocate(byteCount: byteCount)
          } catch {
            // On a full disk, a free file is as long as its blocks.
            if replayed == nil { byteCount = min(byteCount, max(CacheFormat.newWALFile, allocated / 4096 * 4096)) }
          }
        }
        let log = LogFile(name: name, file: file, byteCount: byteCount, isMapped: folders.wal.promisesAllocation)
        files.append(LogWriter.Entry(log, isNew: !isWhole, replayed: replayed))
      }
      try folders.wal.sync()
      let opening = loaded.newestOpening + 1
      var log = LogWriter(
        store: loaded.identity.store, entropy: environment.entropy, files: files,
        nextUse: newestUse + 1, opening: opening, durableSequence: loaded.log.durableSequence)
      // The invariant of rule 8 leaves a file free, unless an interrupted recovery has used it. That file holds only
      // the frames of that recovery, which this one makes again.
      var isTailReused = isEmptyTail
      if log.freeCount == 0, let newest = framesBehindDamage.max() {
        log.free(use: newest)
      } else if log.freeCount == 0 {
        log.free(use: loaded.log.end.use)
        isTailReused = true
      }
      var cut = loaded.log.end
      if isTailReused, let tail = loaded.log.scan.file(use: cut.use)?.header, loaded.log.chain.count > 1 {
        // The tail's header is overwritten, so the cut is the one that this header names.
        cut = WALPosition(
          use: tail.predecessor, offset: tail.predecessorCut, sequence: tail.predecessorSequence)
      }
      guard try log.rotate(cut: cut, followsDamage: loaded.distrusted != nil), let active = log.active else {
        throw SystemError(code: SystemError.noSpace, operation: "open the log", path: "wal")
      }
      try active.file.file.sync()
      return log
    } catch {
      throw SystemCode.isNoSpace(error.code) ? .noSpace : .system(error)
    }
  }

  /// The length to which a log file may be cut. A file whose frames this opening has not followed keeps `byteCount`: a
  /// later opening may read them.
  private func leastByteCount(_ replayed: WALFileHeader?, _ byteCount: Int) -> Int {
    if loaded.report.kind == .rebuilt || loaded.log.scan.hasFailed { return byteCount }
    guard let replayed else { return CacheFormat.newWALFile }
    if loaded.distrusted != nil || replayed.use != loaded.log.end.use { return byteCount }
    return max(CacheFormat.newWALFile, roundUp(loaded.log.end.offset, to: 4096))
  }

  /// Whether a recovery before the next checkpoint needs the frames of a file. It needs those that were replayed, and
  /// those behind damage, which name the keys that must be dropped.
  private func isNeeded(_ header: WALFileHeader) -> Bool {
    loaded.log.chain.contains(header.use) || framesBehindDamage.contains(header.use)
  }

  /// The numbers of the uses of log files that hold frames behind damage. If no log file is free, an interrupted
  /// recovery wrote the file with the highest number.
  private var framesBehindDamage: [UInt64] {
    if loaded.distrusted == nil { return [] }
    return loaded.log.scan.files.compactMap(\.header).filter { $0.use > loaded.log.end.use && !$0.followsDamage }.map(
      \.use)
  }

  /// The highest number of a use that a log header or a checkpoint names. The file of that use may be missing.
  private var newestUse: UInt64 {
    max(loaded.log.scan.newestUse, loaded.checkpoint.slots.compactMap { $0.header?.position.use }.max() ?? 0)
  }

  /// Whether the newest file of the chain holds no frame, so that it can be reused.
  private var isEmptyTail: Bool {
    loaded.distrusted == nil && loaded.log.end.offset == WALFileHeader.frameStart && loaded.log.chain.count > 1
  }

  /// Returns the ledger of all files of a loaded store. `files` are the log files; nil for those that the opening
  /// found.
  static func ledger(_ loaded: LoadedStore, _ folders: StoreFolders, log files: [any File]? = nil) -> Ledger {
    var ledger = Ledger(budget: loaded.identity.byteBudget, account: loaded.catalog.segments.account)
    ledger.set(budget: loaded.identity.byteBudget, logReserve: loaded.identity.logReserve)
    for directory in folders.all { ledger.add((try? directory.status().allocatedByteCount) ?? 4096, to: .folders) }
    ledger.add(fixedByteCount(folders.root), to: .rootFiles)
    // An opening for writing has recreated missing log files.
    for file in files ?? loaded.log.scan.files.map(\.file) {
      ledger.add((try? file.status().chargedByteCount(atMost: loaded.identity.walFileByteCount)) ?? 0, to: .log)
    }
    ledger.add(loaded.checkpoint.slots.reduce(0) { $0 + $1.chargedByteCount }, to: .checkpoints)
    let area = try? loaded.files.area?.status().chargedByteCount(atMost: BlockRange.limit << 12)
    ledger.add(loaded.files.pieces?.chargedByteCount ?? area ?? 0, to: .checkpoints)
    ledger.add(loaded.files.uses.map { FoundUses.charge(of: $0.file) } ?? 0, to: .checkpoints)
    for case let segment? in loaded.index.writer.segments.all {
      let account = loaded.index.writer.segments[segment]
      if account.state != .retired { ledger.add(account.allocatedByteCount, to: .segments) }
    }
    for name in loaded.orphans {
      ledger.add((try? SegmentHeader.charge(of: folders.segments.openFile(name, .readOnly))) ?? 0, to: .orphans)
    }
    return ledger
  }

  /// Bytes taken by the files in the store's root folder.
  static func fixedByteCount(_ root: any Directory) -> Int {
    let names = [CacheFormat.storeFile, CacheFormat.lockFile, CacheFormat.countersFile, CacheFormat.tagFile]
    // `STORE` is the longest of these files.
    let limit = StoreIdentity.fileByteCount
    let uses = (try? root.openFile(CacheFormat.usesFile, .readOnly)).map { UseHints.charge(of: $0, in: root) } ?? 0
    return names.reduce(uses) {
      $0 + ((try? root.openFile($1, .readOnly).status().chargedByteCount(atMost: limit)) ?? 0)
    }
  }
}

extension StoreIdentity {
  /// The bytes of a log that has grown to its largest size.
  var logReserve: Int {
    CacheFormat.walFileCount * min(walFileByteCount, Sizing.walFileByteCount(budget: byteBudget))
  }

  /// Whether this identity allows less than `other`, in bytes or entries.
  func isTighter(than other: StoreIdentity) -> Bool {
    byteBudget < other.byteBudget
      || (entryBudget > 0 && (other.entryBudget == 0 || entryBudget < other.entryBudget))
  }

  /// This identity with the given options in place of the stored ones. Equal to `self` if no option differs.
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
    if let byteCount = options.minimumFreeBytes { changed.minimumFree = byteCount }
    if let budgets = options.styleBudgets { changed.styleBudgets = StyleBudgets(budgets) }
    if !options.keepsFirstFormat { changed.version = CacheFormat.version }
    if changed != self { changed.generation += 1 }
    return changed
  }
}
