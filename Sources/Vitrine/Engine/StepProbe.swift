/// Single steps of a store's parts, for tests that run them at a moment of their choice.
struct StepProbe {
  let core: StoreCore

  /// One round of upkeep.
  func maintain() { core.upkeep.maintainer.maintain() }

  func checkLeftovers() throws(StoreError) { try core.upkeep.leftovers.checkLeftovers() }

  func findHeadless() throws(StoreError) { try core.checkpoints.lostRecords.findHeadless() }

  func prepareCheckpoint() throws(StoreError) { try core.checkpoints.checkpointer.prepareCheckpoint() }

  func growCheckpoints(moreKeys: Int) throws(StoreError) {
    try core.space.checkpointRoom.growCheckpoints(moreKeys: moreKeys)
  }

  func makeSpares(_ count: Int) throws(StoreError) { try core.writes.supply.makeSpares(count) }

  /// Compacts the whole store and leaves the log. Returns the number of records moved.
  func compact() throws(StoreError) -> Int {
    try core.upkeep.fullCompaction.compact(erasesLog: false) { _, _ in true }.recordsMoved
  }

  /// Drops an entry as a failed check does. `segment` is the number of the segment in which the entry was found.
  @discardableResult
  func drop(_ hash: KeyHash, _ location: Location, in segment: UInt64?) -> Bool {
    core.checkpoints.entryRemover.drop(hash, location, in: segment)
  }

  /// Removes the named records in one frame. Returns the number of entries removed; nil if the log has no room.
  func tryToRemove(_ names: [RecordName]) throws(StoreError) -> Int? {
    try core.checkpoints.entryRemover.tryToRemove(names)?.count
  }

  /// Reads the heads of entries ahead of a commit.
  func readAhead(_ entries: [(KeyHash, Location)]) -> HeadsAhead? { core.checkpoints.readAhead.readAhead(entries) }

  /// Calls `body` in the state of a recovery from a failed sync.
  func mistrustingEarlierRecords(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    try core.basics.gate.mistrustingEarlierRecords(body)
  }

  /// Dates the uses up to now.
  func noteUseTime() { core.basics.lifetimes.noteUseTime() }

  /// Returns the time of a use, in milliseconds since 1970.
  func lastUse(stamp: UInt32, at milliseconds: Int64) -> Int64 {
    core.basics.lifetimes.lastUse(stamp: stamp, at: milliseconds)
  }

  /// Whether a value can be borrowed without a read from the disk; nil if the key has none.
  func isAtHand(_ key: CacheKey) -> Bool? {
    key.url.withUnsafeBytes { core.reads.reader.isAtHand($0, key.style) }
  }

  /// Calls `body` with the record of each entry.
  func forEachRecord(includesExpired: Bool = false, _ body: (RecordView) -> Void) {
    core.reads.walk.forEachRecord(includesExpired: includesExpired) { (view, _, _) throws(Never) in
      body(view)
      return true
    }
  }
}

extension StoreProbe {
  var steps: StepProbe { StepProbe(core: core) }
}
