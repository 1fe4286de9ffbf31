// An opening that takes the place of a store whose folder was deleted or replaced.
extension Opening {
  struct Predecessor {
    /// With the budgets that it had last.
    let identity: StoreIdentity
    let opening: UInt64
    /// No segment of it has this number or a higher one.
    let nextSegment: UInt64
    /// The folder is still its own, though not all that was in it may be there.
    let isInPlace: Bool
  }

  /// Whether the folder holds the remains of the store that this one replaces. That may tell of older values than
  /// the store has given, and of entries whose removal it has refused. Not so when another opening has worked on it since.
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
  /// These options, with the stored ones of another store.
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
    return options
  }
}
