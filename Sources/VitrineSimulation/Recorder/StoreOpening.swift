import Vitrine

/// One opening of a recorded store, from its beginning to its close.
struct StoreOpening {
  let store: CacheStore
  /// The number of disk operations when it began.
  let moment: Int
  private(set) var isClosed = false

  /// Begins now, with a store that was opened on the disk.
  init(_ store: CacheStore, _ disk: SimulatedDisk) {
    self.store = store
    moment = disk.operationCount
  }

  /// Ends it. No later one has begun.
  mutating func end() { isClosed = true }
}
