/// Reads a checkpoint that a writer may be replacing.
struct WriterBeside {
  /// If a checkpoint was replaced while it was read block by block, the next attempt copies it whole before it
  /// examines its blocks. The copy is faster than any writer, which writes the other file first and syncs it.
  let copiesFirst: Bool

  /// The largest checkpoint file that is copied. In the first format, such a file has about 40 million entries. The
  /// copy takes memory beside the index.
  private static let mostCopied = 1 << 30

  func readIndex(
    from file: any File, _ header: CheckpointHeader, _ area: (any File)?, clock: UInt64
  ) -> CatalogWriter? {
    guard copiesFirst, header.leastFileByteCount <= WriterBeside.mostCopied,
      let copy = try? file.copied(byteCount: header.leastFileByteCount)
    else { return CatalogWriter.read(from: file, header: header, area: area, clock: clock) }
    return CatalogWriter.read(from: MappedFile(copy, isPrivate: false), header: header, area: area, clock: clock)
  }
}

extension Loader {
  private static let mostAttempts = 50

  /// Loads the state of a store that another process may be writing to. A view that reaches the position of the
  /// newest checkpoint is whole: its part of the log was not reused meanwhile. Apparent damage may be a writer at
  /// work, such as a half-written frame or a segment just retired. It counts if two attempts in a row find it and
  /// the store has not changed in between.
  package func loadSnapshot(identity: StoreIdentity?, clock: any Clock) throws(StoreError) -> LoadedStore {
    var previous: (end: WALPosition, generation: UInt64)?
    for attempt in 0..<Loader.mostAttempts {
      guard let loaded = try load(identity: identity, besideWriter: WriterBeside(copiesFirst: attempt > 0)) else {
        continue
      }
      let newest = try newestCheckpoint()
      let isSuspect =
        loaded.report.mayHaveLostRemovals || loaded.report.droppedCount > 0 || loaded.report.kind == .rebuilt
      if !isSuspect, loaded.log.end.sequence >= newest?.position.sequence ?? 0 { return loaded }
      if let previous, previous == (loaded.log.end, newest?.generation ?? 0) { return loaded }
      previous = (loaded.log.end, newest?.generation ?? 0)
      clock.sleep(milliseconds: min(attempt, 10))
    }
    throw .system(
      SystemError(
        code: SystemError.again, operation: "follow the writer, which is too fast,", path: folders.checkpoints.path))
  }

  func newestCheckpoint() throws(StoreError) -> CheckpointHeader? {
    let found = try system { () throws(SystemError) in try CheckpointSet.open(folders.checkpoints, access: access) }
    return found.order.first.flatMap { found.slots[$0].header }
  }
}
