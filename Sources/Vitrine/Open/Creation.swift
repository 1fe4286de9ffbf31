/// Creates a store in an empty folder. The header of the first checkpoint makes the files a store, so it is written
/// when all other files except `STORE` are durable. A creation that was interrupted before that starts again. If it was
/// interrupted later, the next opening finds an empty store and makes `STORE` from the checkpoint.
struct Creation {
  let folders: StoreFolders
  let options: StoreOptions
  let environment: Environment
  /// The number of the first segment. Segments of an earlier store in the same folder have lower numbers, so threads
  /// that still use that store reach no file of this one.
  var firstSegment: UInt64 = 1

  private static let tag = """
    Signature: 8a477f597d28d172789f06886806bc55
    # This folder is a cache made by Vitrine; backup tools may skip it.

    """

  func run() throws(StoreError) {
    do throws(SystemError) {
      try make()
    } catch {
      throw SystemCode.isNoSpace(error.code) ? StoreError.noSpace : StoreError.system(error)
    }
  }

  private func make() throws(SystemError) {
    // The folder's own name must be durable too; another process may have made the folder without syncing its name.
    try environment.fileSystem.syncName(ofFolder: folders.root.path)
    // The names of the lock and the folders are durable first: files found without them are not the store's.
    try folders.root.sync()
    var budget = options.byteBudget ?? 0
    if budget == 0 { budget = Sizing.defaultBudget(available: try folders.root.availableByteCount()) }
    budget = min(budget, CacheFormat.largestBudget)
    let walFileByteCount = Sizing.walFileByteCount(budget: budget)
    var identity = StoreIdentity(
      store: StoreID(low: try environment.entropy.integer(), high: try environment.entropy.integer()),
      secret: try environment.entropy.bytes(192), byteBudget: budget, entryBudget: options.entryBudget ?? 0,
      segmentByteCount: roundUp(options.segmentByteCount ?? 0, to: 4096), walFileByteCount: walFileByteCount,
      durability: options.durability ?? .buffered, compressionLevel: options.compressionLevel ?? 1)
    identity.maximumAge = options.maximumAgeMilliseconds ?? 0
    identity.maximumIdle = options.maximumIdleMilliseconds ?? 0
    identity.policy = options.policy ?? .s3fifo
    identity.minimumFree = options.minimumFreeBytes ?? 0
    identity.styleBudgets = StyleBudgets(options.styleBudgets ?? [:])
    if !options.keepsFirstFormat { identity.version = CacheFormat.version }

    // All files are made before the first sync, because a file system commits new files together.
    var made: [any File] = []
    let tag = try fresh(CacheFormat.tagFile, folders.root)
    try tag.write(Array(Creation.tag.utf8), at: 0)
    made.append(tag)
    let counters = try fresh(CacheFormat.countersFile, folders.root)
    try counters.allocate(byteCount: Counters.byteCount)
    made.append(counters)
    for index in 0..<CacheFormat.walFileCount {
      made.append(try Creation.unsyncedLogFile(WALFileHeader.fileName(index), folders.wal))
    }
    if identity.hasPieces { made.append(try makeArea()) }
    made.append(try makeSecondCheckpoint())
    let (checkpoint, header) = try makeFirstCheckpoint(identity)
    made.append(checkpoint)
    for file in made { try file.sync() }
    // All names and the checkpoint's body must be durable before its header is, which makes the files a store.
    for folder in [folders.root, folders.wal, folders.checkpoints, folders.segments] { try folder.sync() }
    try checkpoint.write(header.encoded(), at: 0)
    try checkpoint.sync()

    try Creation.makeStoreFile(identity, in: folders.root)
  }

  /// Makes `STORE`. The file gets its name only when its content is complete and durable.
  static func makeStoreFile(_ identity: StoreIdentity, in root: any Directory) throws(SystemError) {
    let store = try fresh(Opening.temporaryStoreFile, root)
    try write(identity, to: store)
    // The name must be durable before the rename: an earlier STORE.new, which the budget does not count, could return.
    try root.sync()
    try root.rename(Opening.temporaryStoreFile, to: CacheFormat.storeFile)
    try root.sync()
  }

  private var checkpointByteCount: Int {
    options.keepsFirstFormat
      ? CheckpointHeader.fileByteCount(keys: 0, blobs: 0, segments: 0, largeCounts: 0)
      : CheckpointHeader.rootByteCount(segments: CatalogWriter.spareSegments, areaBlocks: Creation.areaBlocks)
  }

  private static let areaBlocks = PiecePlan.blockCount(base: 0, journal: 0)

  private func makeArea() throws(SystemError) -> any File {
    let file = try fresh(CacheFormat.areaFile, folders.checkpoints)
    try file.allocate(byteCount: Creation.areaBlocks * Piece.blockByteCount)
    return file
  }

  private func makeSecondCheckpoint() throws(SystemError) -> any File {
    let file = try fresh(CheckpointHeader.fileName(1), folders.checkpoints)
    try file.allocate(byteCount: checkpointByteCount)
    return file
  }

  /// Makes the file of the first checkpoint and writes its body, which is an empty index. Returns the header to write.
  private func makeFirstCheckpoint(_ identity: StoreIdentity) throws(SystemError) -> (any File, CheckpointHeader) {
    let file = try fresh(CheckpointHeader.fileName(0), folders.checkpoints)
    try file.allocate(byteCount: checkpointByteCount)
    var header = CheckpointHeader(
      isClean: true, generation: 1,
      position: WALPosition(use: 0, offset: WALFileHeader.frameStart, sequence: Sequence.first(ofOpening: 0)),
      opening: 0, nextRecord: 1, made: environment.clock.wallMilliseconds(), nextSegment: 1,
      identity: identity)
    guard var index = CatalogWriter(identity: identity) else {
      throw SystemError(code: SystemError.noMemory, operation: "allocate", path: "index")
    }
    index.noteSegment(firstSegment - 1)
    if identity.hasPieces {
      try index.rootBody(header: &header) { _ in 0 }.write([], to: file, header: &header)
    } else {
      try index.write(to: file, header: &header) { _ in 0 }
    }
    return (file, header)
  }

  private func fresh(_ name: String, _ directory: any Directory) throws(SystemError) -> any File {
    try Creation.fresh(name, directory)
  }

  static func fresh(_ name: String, _ directory: any Directory) throws(SystemError) -> any File {
    do throws(SystemError) {
      return try directory.openFile(name, .create)
    } catch {
      guard error.code == SystemError.exists else { throw error }
      try directory.remove(name)
      return try directory.openFile(name, .create)
    }
  }

  /// Makes a log file and syncs it.
  static func makeLogFile(_ name: String, _ directory: any Directory) throws(SystemError) -> any File {
    let file = try unsyncedLogFile(name, directory)
    try file.sync()
    return file
  }

  /// Makes a log file of the smallest size and writes all of it once, so that later syncs of frames need no journal
  /// commit of the file system.
  private static func unsyncedLogFile(_ name: String, _ directory: any Directory) throws(SystemError) -> any File {
    let file = try fresh(name, directory)
    try file.allocate(byteCount: CacheFormat.newWALFile)
    try file.writeZeros(byteCount: CacheFormat.newWALFile)
    return file
  }

  /// Writes both copies. The first is durable before the second is written.
  static func write(_ identity: StoreIdentity, to file: any File) throws(SystemError) {
    try file.write(identity.encoded(), at: 0)
    try file.sync()
    var second = identity.encoded()
    second += [UInt8](repeating: 0, count: StoreIdentity.fileByteCount - StoreIdentity.secondCopy - second.count)
    try file.write(second, at: StoreIdentity.secondCopy)
    try file.sync()
  }

  /// Removes the store's own files except `LOCK`, and no others.
  static func empty(_ folders: StoreFolders) throws(StoreError) {
    do throws(SystemError) {
      // The files that make it a store go first. The removal of `STORE` is durable before a checkpoint is removed, and
      // that of the older checkpoint before the newest is removed. So an interrupted removal leaves the found store or
      // none, and never an older state.
      for name in [CacheFormat.storeFile, Opening.temporaryStoreFile, CacheFormat.countersFile, CacheFormat.tagFile] {
        try removeIfThere(name, folders.root)
      }
      // A store works without it, also if something else has this name.
      try? removeIfThere(CacheFormat.usesFile, folders.root)
      try folders.root.sync()
      for index in try CheckpointSet.open(folders.checkpoints, access: .readOnly).order.reversed() {
        try folders.checkpoints.remove(CheckpointHeader.fileName(index))
        try folders.checkpoints.sync()
      }
      let own =
        [CacheFormat.areaFile, CacheFormat.usesListFile] + (0..<2).map(CheckpointHeader.fileName)
        + (0..<CacheFormat.walFileCount).map(WALFileHeader.fileName)
      for directory in [folders.checkpoints, folders.wal, folders.segments] {
        for entry in try directory.entries() where entry.kind == .file {
          let isOwn = own.contains(entry.name) || SegmentHeader.segment(ofFile: entry.name) != nil
          if isOwn { try directory.remove(entry.name) }
        }
      }
    } catch {
      throw .system(error)
    }
  }

  private static func removeIfThere(_ name: String, _ directory: any Directory) throws(SystemError) {
    do throws(SystemError) {
      try directory.remove(name)
    } catch {
      guard error.code == SystemError.missing else { throw error }
    }
  }
}
