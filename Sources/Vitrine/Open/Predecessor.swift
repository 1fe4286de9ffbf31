// An opening that replaces a store whose folder was deleted or replaced.
extension Opening {
  struct Predecessor {
    /// The old store's identity, with its last budgets.
    let identity: StoreIdentity
    let opening: UInt64
    /// All segments of the old store have lower numbers.
    let nextSegment: UInt64
    /// Whether the path still leads to the old store's folder. Files in it may be missing.
    let isInPlace: Bool
  }

  /// Whether the folder holds the remains of the replaced store. They may hold older values than those that the store
  /// returned last, and entries that the store could not remove. False if another opening has worked on the folder
  /// since.
  func isRestOfPredecessor(_ content: Content, _ folders: StoreFolders) throws(StoreError) -> Bool {
    guard let predecessor, predecessor.isInPlace else { return false }
    let (headers, frames) = try system { () throws(SystemError) in
      (
        try CheckpointSet.open(folders.checkpoints, access: .readOnly).slots.compactMap(\.header),
        try WALScan.open(folders.wal, store: predecessor.identity.store, access: .readOnly).files.compactMap(\.header)
      )
    }
    var stores = headers.map(\.identity.store)
    if case .store(let identity?) = content { stores.append(identity.store) }
    let openings = headers.map(\.opening) + frames.map(\.opening)
    return stores.allSatisfy { $0 == predecessor.identity.store } && openings.allSatisfy { $0 <= predecessor.opening }
  }
}

extension StoreOptions {
  /// These options, with the saved options of another store.
  func kept(in identity: StoreIdentity) -> StoreOptions {
    var options = self
    options.byteBudget = identity.byteBudget
    options.entryBudget = identity.entryBudget
    options.segmentByteCount = identity.segmentByteCount == 0 ? nil : identity.segmentByteCount
    options.durability = identity.durability
    options.compressionLevel = identity.compressionLevel
    options.maximumAgeMilliseconds = identity.maximumAge
    options.maximumIdleMilliseconds = identity.maximumIdle
    options.policy = identity.policy
    options.minimumFreeBytes = identity.minimumFree
    options.styleBudgets = identity.styleBudgets.byStyle
    return options
  }
}
