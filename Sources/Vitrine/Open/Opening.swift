/// Opens a store for writing or for reading only, and creates it if the options allow that. Examines the folder before
/// it writes anything.
struct Opening {
  let path: String
  let options: StoreOptions
  let environment: Environment
  /// Whether to ignore checkpoints and build the index from the segments.
  var rebuilding = false
  /// The store that this one replaces, if any.
  var predecessor: Predecessor?

  func run() throws(StoreError) -> StoreCore {
    try validate()
    let started = environment.clock.monotonicNanoseconds()
    let root = try openRoot()
    if options.isReadOnly { return try openReadOnly(root, started) }
    do throws(StoreError) {
      return try openForWriting(root, started)
    } catch {
      if case .system(let cause) = error, SystemCode.isNoSpace(cause.code) { throw .noSpace }
      guard options.whenUnusable == .recreate, case .unreadable = error else { throw error }
      return try recreate(root, started)
    }
  }

  private func validate() throws(StoreError) {
    if let budget = options.byteBudget, budget < CacheFormat.smallestBudget {
      throw .invalidArgument("a byte budget is at least \(CacheFormat.smallestBudget) bytes, not \(budget)")
    }
    if let budget = options.entryBudget, budget < 0 {
      throw .invalidArgument("an entry budget must not be negative: \(budget)")
    }
    if let byteCount = options.minimumFreeBytes, byteCount < 0 {
      throw .invalidArgument("the free bytes of the disk must not be negative: \(byteCount)")
    }
    if let count = options.segmentByteCount,
      !(CacheFormat.smallestSegment...CacheFormat.largestSegment).contains(count)
    {
      throw .invalidArgument(
        "a segment has \(CacheFormat.smallestSegment) to \(CacheFormat.largestSegment) bytes, not \(count)")
    }
    if let level = options.compressionLevel, !(0...19).contains(level) {
      throw .invalidArgument("a compression level is 0 to 19, not \(level)")
    }
    for case let age? in [options.maximumAgeMilliseconds, options.maximumIdleMilliseconds] where age < 0 {
      throw .invalidArgument("an age limit must not be negative: \(age)")
    }
    if let count = options.maximumStylesPerURL, count < 1 {
      throw .invalidArgument("a URL may have 1 style or more, not \(count)")
    }
    if let problem = options.styleBudgets.flatMap({ StyleBudgets.problem(of: $0) }) { throw .invalidArgument(problem) }
    if path.isEmpty || path.utf8.contains(0) {
      throw .invalidArgument("the path of a store is empty or contains a zero byte")
    }
  }

  private func openRoot() throws(StoreError) -> any Directory {
    do throws(SystemError) {
      return try environment.fileSystem.openDirectory(path, create: !options.isReadOnly && options.createsIfMissing)
    } catch {
      if error.code == SystemError.missing { throw missingFolder }
      if error.code == SystemError.notAFolder { throw .notAStore(path: path, reason: "it is not a folder") }
      throw .system(error)
    }
  }

  /// The error for a missing folder. An opening may create the store's folder, but never its parent.
  private var missingFolder: StoreError {
    let parent = parentPath(of: path)
    guard !options.isReadOnly, options.createsIfMissing,
      (try? environment.fileSystem.openDirectory(parent, create: false)) == nil
    else { return .noSuchStore(path: path) }
    return .system(SystemError(code: SystemError.missing, operation: "create the store's folder in", path: parent))
  }

  // MARK: Content of the folder

  enum Content {
    /// The folder is empty, so a store may be created.
    case empty
    /// A store whose creation was interrupted, or which has lost both `STORE` and its checkpoints.
    case begun
    case store(StoreIdentity?)
  }

  private func examine(_ root: any Directory) throws(StoreError) -> Content {
    let entries = try system { () throws(SystemError) in try root.entries() }
    if entries.isEmpty { return .empty }
    let names = Set(entries.map(\.name))
    // Upkeep may have made this file while another program was emptying the folder.
    if names == [CacheFormat.usesFile], try openIfReadable(CacheFormat.usesFile, root).map(UseHints.isBlank) ?? false {
      return .empty
    }
    let folders = [CacheFormat.walFolder, CacheFormat.checkpointsFolder, CacheFormat.segmentsFolder]
    // After a loss of power during creation, the lock file may be empty or missing.
    let lock = try openIfReadable(CacheFormat.lockFile, root)
    let isLocked =
      lock.map { LockFile.isOursOrBlank($0) }
      ?? (!names.contains(CacheFormat.lockFile) && !names.isDisjoint(with: folders))
    var identity: StoreIdentity?
    if names.contains(CacheFormat.storeFile) {
      identity = try readIdentity(root)
    }
    if identity != nil { return .store(identity) }
    if try hasCheckpoint(root) { return .store(nil) }
    if isLocked, names.isSubset(of: Self.ownNames) { return .begun }
    if folders.allSatisfy(names.contains), names.contains(CacheFormat.storeFile) {
      throw .unreadable(path: path, reason: "STORE and all checkpoints are damaged")
    }
    let reason = names.contains(CacheFormat.storeFile) ? "its STORE file is foreign" : "it holds something else"
    throw .notAStore(path: path, reason: reason)
  }

  static let ownNames: Set<String> = [
    CacheFormat.storeFile, CacheFormat.lockFile, CacheFormat.countersFile, CacheFormat.usesFile, CacheFormat.tagFile,
    CacheFormat.segmentsFolder, CacheFormat.walFolder, CacheFormat.checkpointsFolder, temporaryStoreFile,
  ]
  static let temporaryStoreFile = "STORE.new"

  /// Whether there is a valid checkpoint. Throws if a later version wrote one: without a readable `STORE`, only a
  /// checkpoint shows the version of the store.
  private func hasCheckpoint(_ root: any Directory) throws(StoreError) -> Bool {
    let checkpoints: CheckpointSet
    do throws(SystemError) {
      let folder = try root.openDirectory(CacheFormat.checkpointsFolder, create: false)
      checkpoints = try CheckpointSet.open(folder, access: .readOnly)
    } catch {
      if saysNothing(error) { throw .system(error) }
      return false
    }
    if let version = checkpoints.newerVersion {
      throw .unsupportedFormat(found: version, supported: CacheFormat.version)
    }
    return !checkpoints.order.isEmpty
  }

  /// Returns nil if the file is missing or not a file that a store would have.
  private func openIfReadable(_ name: String, _ root: any Directory) throws(StoreError) -> (any File)? {
    do throws(SystemError) {
      return try root.openFile(name, .readOnly)
    } catch {
      if saysNothing(error) { throw .system(error) }
      return nil
    }
  }

  /// Whether an error, such as a lack of descriptors, memory or permission, does not show whether the file exists.
  private func saysNothing(_ error: SystemError) -> Bool {
    SystemCode.isShortage(error.code) || error.code == SystemError.noPermission
  }

  /// Reads the newest valid copy of the identity. Returns nil if `STORE` is missing or both copies are damaged.
  private func readIdentity(_ root: any Directory) throws(StoreError) -> StoreIdentity? {
    guard let file = try openIfReadable(CacheFormat.storeFile, root) else { return nil }
    var found: StoreIdentity?
    var newer: UInt32?
    for reading in StoreIdentity.copies(in: file) {
      switch reading {
      case .valid(let identity):
        if identity.generation > found?.generation ?? 0 { found = identity }
      case .newer(let version): newer = version
      case .damaged: break
      }
    }
    if let newer { throw .unsupportedFormat(found: newer, supported: CacheFormat.version) }
    return found
  }

  private func hasBothCopies(_ root: any Directory) throws(StoreError) -> Bool {
    let file = try openIfReadable(CacheFormat.storeFile, root)
    guard let copies = file.map({ StoreIdentity.copies(in: $0) }), copies.allSatisfy(\.isValid) else { return false }
    // An interrupted conversion may have changed only one copy.
    return copies.allSatisfy { $0.version == copies[0].version }
  }

  // MARK: Reading only

  private func openReadOnly(_ root: any Directory, _ started: UInt64) throws(StoreError) -> StoreCore {
    let identity: StoreIdentity?
    switch try examine(root) {
    case .store(let found): identity = found
    case .begun:
      if try hasSegments(root) { throw isWithoutIndex }
      return try openUnfinished(root, started)
    case .empty: throw .notAStore(path: path, reason: "the folder is empty")
    }
    let folders = try openFolders(root, create: false)
    let loaded = try loader(folders, isReadOnly: true).loadSnapshot(identity: identity, clock: environment.clock)
    loaded.index.writer.forgetReplayed()
    let parts = parts(loaded, folders, log: nil, lockFile: nil, started, firstSequence: .max)
    if options.notesUses { parts.reads.useHints.begin() }
    return StoreCore(parts)
  }

  /// Opens a store whose creation was interrupted, as an empty store.
  private func openUnfinished(_ root: any Directory, _ started: UInt64) throws(StoreError) -> StoreCore {
    let budget = CacheFormat.smallestBudget
    let identity = StoreIdentity(
      store: StoreID(low: 0, high: 0), secret: [], byteBudget: budget, entryBudget: 0, segmentByteCount: 0,
      walFileByteCount: Sizing.walFileByteCount(budget: budget), durability: .buffered, compressionLevel: 1)
    guard let index = CatalogWriter(identity: identity) else {
      throw .system(SystemError(code: SystemError.noMemory, operation: "allocate", path: "index"))
    }
    var loaded = LoadedStore(
      identity: identity, index: LoadedIndex(index), report: RecoveryReport(kind: .created),
      log: LoadedLog(
        end: WALPosition(use: 0, offset: WALFileHeader.frameStart, sequence: 0), scan: WALScan(files: []), chain: [],
        durableSequence: 0),
      newestOpening: 0, checkpoint: CheckpointSet(), inline: [:])
    loaded.report.notes.append("creation of this store was interrupted; it is empty until it is opened for writing")
    return StoreCore(
      parts(loaded, StoreFolders(unfinished: root), log: nil, lockFile: nil, started, firstSequence: .max))
  }

  private func openFolders(_ root: any Directory, create: Bool) throws(StoreError) -> StoreFolders {
    do throws(SystemError) {
      return try StoreFolders(root: root, create: create, resources: environment.resources)
    } catch {
      if error.code == SystemError.notAFolder || error.code == SystemError.linkLoop {
        throw .notAStore(path: path, reason: "a file or a link is where a folder should be (\(error.path))")
      }
      if error.code == SystemError.missing { throw .unreadable(path: path, reason: "\(error.path) is missing") }
      throw .system(error)
    }
  }

  // MARK: Writing

  private func openForWriting(_ root: any Directory, _ started: UInt64) throws(StoreError) -> StoreCore {
    var content = try examine(root)
    if case .empty = content, !options.createsIfMissing { throw .noSuchStore(path: path) }
    let lockFile = try takeLock(root)
    let isMarked = LockFile.read(lockFile).isMarked
    // Another opening may have changed the folder before it released the lock.
    content = try examine(root)
    let folders = try openFolders(root, create: true)
    if try isRestOfPredecessor(content, folders) { return try makeAnew(root, folders, lockFile, started) }
    switch content {
    case .empty, .begun:
      if try hasSegments(root) { throw isWithoutIndex }
      return try make(root, folders, lockFile, started)
    case .store(let identity):
      return try openForWriting(root, folders, identity, lockFile, isMarked: isMarked, started, isNew: false)
    }
  }

  /// The error for segments without an index. They belonged to a store, which must not pass for an empty one.
  private var isWithoutIndex: StoreError {
    .unreadable(path: path, reason: "STORE and all checkpoints are missing or damaged")
  }

  private func hasSegments(_ root: any Directory) throws(StoreError) -> Bool {
    do throws(SystemError) {
      return try root.openDirectory(CacheFormat.segmentsFolder, create: false).entries()
        .contains { SegmentHeader.segment(ofFile: $0.name) != nil }
    } catch {
      if error.code == SystemError.missing { return false }
      throw .system(error)
    }
  }

  private func openForWriting(
    _ root: any Directory, _ folders: StoreFolders, _ identity: StoreIdentity?, _ lockFile: any File, isMarked: Bool,
    _ started: UInt64, isNew: Bool
  ) throws(StoreError) -> StoreCore {
    var loaded = try loader(folders, isReadOnly: false).load(
      identity: identity, rebuilding: rebuilding && !isNew)
    if isNew { loaded.report.kind = .created }
    loaded.files.smallBase = options.smallBase
    if !isNew, identity != nil, try !hasBothCopies(root) { loaded.storeFileNeedsHealing = true }
    if loaded.newestOpening >= Sequence.newestOpening {
      throw .unreadable(path: path, reason: "its opening numbers are used up")
    }
    if loaded.log.scan.newestUse >= WALPosition.largestUse {
      throw .unreadable(path: path, reason: "the numbers of its log are used up")
    }
    let stored = loaded.identity
    loaded.identity = stored.changed(by: options)
    if loaded.identity.maximumIdle > 0, loaded.identity.policy == .fifo {
      throw .invalidArgument("a limit of idle time needs a policy that notes uses, which fifo does not")
    }
    if loaded.identity.byteBudget < stored.byteBudget {
      let least = Adoption.ledger(loaded, folders).leastBudget
      guard loaded.identity.byteBudget >= least else {
        throw .invalidArgument("this store's byte budget is at least \(least) bytes, not \(loaded.identity.byteBudget)")
      }
    }
    if loaded.identity.isTighter(than: stored), let problem = loaded.index.writer.sums.problem(of: loaded.identity) {
      throw .invalidArgument(problem)
    }
    let adoption = Adoption(loaded: loaded, folders: folders, environment: environment)
    try marking(lockFile) { () throws(StoreError) in
      try adoption.secureCheckpoint(&loaded.checkpoint, hasFailed: isMarked)
    }
    loaded.files.pieces = try adoption.openPieces(loaded.checkpoint)
    if loaded.files.pieces != nil, !stored.hasPieces, try !adoption.makeAreaRoom(&loaded.files.pieces) {
      // The disk is full, so the store keeps its format for now.
      loaded.identity.version = stored.version
      loaded.files.pieces = nil
    }
    if loaded.files.pieces == nil { loaded.files.area = nil }
    loaded.files.useRing = adoption.openUses()
    if loaded.files.useRing == nil { loaded.files.uses = nil }
    if loaded.report.kind == .rebuilt { try adoption.makeCheckpointRoom(&loaded.checkpoint, &loaded.files.pieces) }
    let log = try marking(lockFile) { () throws(StoreError) in try adoption.makeLog() }
    let firstSequence = Sequence.first(ofOpening: log.opening)
    let parts = parts(loaded, folders, log: log, lockFile: lockFile, started, firstSequence: firstSequence)
    try Takeover(parts, loaded, lockFile: lockFile, isChanged: loaded.identity != stored, isMarked: isMarked).run()
    if !isNew { parts.reads.useHints.takeIn(makesFile: false) }
    // The files of a converted store may take more space than before.
    let isCarriedOver = loaded.identity.version != stored.version
    if isCarriedOver || loaded.identity.isTighter(than: stored) {
      parts.upkeep.budgets.shrinkBeforeServing(from: stored.byteBudget)
    }
    parts.upkeep.budgets.enforceStyles()
    parts.upkeep.budgets.retireLargeSpares()
    let core = StoreCore(parts)
    try core.startUpkeep()
    if core.space.expirer.hasDueEntries { core.basics.signal.wake() }
    return core
  }

  /// Marks `LOCK` if `body` fails, because a sync may have failed. The mark is for the next opening (rule 7).
  private func marking<R: ~Copyable>(
    _ lockFile: any File, _ body: () throws(StoreError) -> R
  ) throws(StoreError) -> R {
    do throws(StoreError) {
      return try body()
    } catch {
      try? lockFile.write(LockFile.contents(isMarked: true), at: 0)
      throw error
    }
  }

  private func loader(_ folders: StoreFolders, isReadOnly: Bool) -> Loader {
    Loader(folders: folders, isReadOnly: isReadOnly, mapsSegments: options.reads == .mapped)
  }

  private func parts(
    _ loaded: LoadedStore, _ folders: StoreFolders, log: consuming LogWriter?, lockFile: (any File)?, _ started: UInt64,
    firstSequence: UInt64
  ) -> StoreParts {
    let elapsed = environment.clock.monotonicNanoseconds() - started
    let lastOpen = StoreStatistics.LastOpen(
      kind: loaded.report.kind, milliseconds: Double(elapsed) / 1e6, replayedCount: loaded.report.replayedCount,
      droppedCount: loaded.report.droppedCount, mayHaveLostRemovals: loaded.report.mayHaveLostRemovals,
      notes: loaded.report.notes)
    let counters = Counters.read(from: folders.root) ?? Counters()
    let isReadOnly = log == nil
    let log = log ?? LogWriter(none: environment.entropy)
    let ledger = Adoption.ledger(loaded, folders, log: isReadOnly ? nil : log.files.map(\.file.file))
    let context = StoreContext(
      environment: environment, folders: folders, loaded: loaded, log: log, isReadOnly: isReadOnly, options: options,
      lastOpen: lastOpen, firstSequence: firstSequence, ledger: ledger, counters: counters)
    return StoreParts(context, loaded: loaded, lockFile: lockFile, counters: counters)
  }

  // MARK: Beginning anew

  private func recreate(_ root: any Directory, _ started: UInt64) throws(StoreError) -> StoreCore {
    let lockFile = try takeLock(root)
    return try makeAnew(root, openFolders(root, create: true), lockFile, started)
  }

  private func makeAnew(
    _ root: any Directory, _ folders: StoreFolders, _ lockFile: any File, _ started: UInt64
  ) throws(StoreError) -> StoreCore {
    try Creation.empty(folders)
    return try make(root, folders, lockFile, started)
  }

  /// Creates a store in folders that hold none.
  private func make(
    _ root: any Directory, _ folders: StoreFolders, _ lockFile: any File, _ started: UInt64
  ) throws(StoreError) -> StoreCore {
    var making = self
    if let predecessor {
      making = Opening(path: path, options: options.kept(in: predecessor.identity), environment: environment)
    }
    var creation = Creation(folders: folders, options: making.options, environment: environment)
    if let predecessor { creation.firstSegment = predecessor.nextSegment }
    try creation.run()
    guard let identity = try readIdentity(root) else {
      throw .unreadable(path: path, reason: "the store just made cannot be read")
    }
    return try making.openForWriting(root, folders, identity, lockFile, isMarked: false, started, isNew: true)
  }
}
