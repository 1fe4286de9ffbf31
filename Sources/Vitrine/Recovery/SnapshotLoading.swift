extension Loader {
  private static let mostAttempts = 50

  /// The state of a store that somebody may be writing to. A view that reaches the position of the newest checkpoint is
  /// whole: the log was not taken away from under it. What looks like damage may be a writer at work, a frame half
  /// written or a segment just retired; it counts once it is found twice in a row and nothing has moved between.
  package func loadSnapshot(identity: StoreIdentity?, clock: any Clock) throws(StoreError) -> LoadedStore {
    var previous: (end: WALPosition, generation: UInt64)?
    for attempt in 0..<Loader.mostAttempts {
      let loaded = try load(identity: identity)
      let newest = try newestCheckpoint()
      let isSuspect = loaded.mayHaveLostRemovals || loaded.droppedCount > 0 || loaded.kind == .rebuilt
      if !isSuspect, loaded.end.sequence >= newest?.position.sequence ?? 0 { return loaded }
      if let previous, previous == (loaded.end, newest?.generation ?? 0) { return loaded }
      previous = (loaded.end, newest?.generation ?? 0)
      clock.sleep(milliseconds: min(attempt, 10))
    }
    throw .system(
      SystemError(code: 11, operation: "follow the writer, who is too fast,", path: folders.checkpoints.path))
  }

  func newestCheckpoint() throws(StoreError) -> CheckpointHeader? {
    let found = try system { () throws(SystemError) in try CheckpointSet.open(folders.checkpoints, access: access) }
    return found.order.first.flatMap { found.slots[$0].header }
  }
}
