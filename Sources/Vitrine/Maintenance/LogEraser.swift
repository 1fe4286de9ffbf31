/// Overwrites log files that are no longer in use.
final class LogEraser: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let checkpointer: Checkpointer

  init(_ context: StoreContext, gate: WriteGate, checkpointer: Checkpointer) {
    self.context = context
    self.gate = gate
    self.checkpointer = checkpointer
  }

  /// Overwrites every old log file with zeros, and continues the log in an erased one. Returns false if a file must
  /// stay because no checkpoint vouches for payloads in it.
  func eraseLog(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) -> Bool {
    guard let wal else { throw .readOnly }
    try checkpointer.writeCheckpoint(upkeep)
    try eraseFreeLogFiles(wal)
    do throws(SystemError) {
      // The active file holds old frames too. All its frames precede this moment, so the next checkpoint covers it.
      let next = try commitLock.withLock { held throws(SystemError) in
        try wal.rotate(cut: wal.position) ? wal.active : nil
      }
      // The next checkpoint names the new file. No frame in it would cause a sync of its header yet.
      try next?.file.sync()
    } catch {
      throw gate.fail(error)
    }
    try checkpointer.writeCheckpoint(upkeep)
    try eraseFreeLogFiles(wal)
    // A loss of power must not bring back the names, and so the bytes, of unlinked segments.
    do throws(SystemError) { try folders.segments.sync() } catch { throw gate.fail(error) }
    return commitLock.withLock { held in !wal.holdsOldFrames }
  }

  private func eraseFreeLogFiles(_ wal: WAL) throws(StoreError) {
    while let file = commitLock.withLock({ held in wal.takeForErasing() }) {
      do throws(SystemError) {
        try wal.erase(file)
      } catch {
        commitLock.withLock { held in wal.putBack(file, isErased: false) }
        throw gate.fail(error)
      }
      commitLock.withLock { held in wal.putBack(file, isErased: true) }
    }
  }
}
