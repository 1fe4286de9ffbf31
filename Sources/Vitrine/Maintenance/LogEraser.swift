/// Overwrites log files that are no longer in use.
final class LogEraser: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let checkpointer: Checkpointer
  private let logSizer: LogSizer

  init(_ context: StoreContext, gate: WriteGate, checkpointer: Checkpointer, logSizer: LogSizer) {
    self.context = context
    self.gate = gate
    self.checkpointer = checkpointer
    self.logSizer = logSizer
  }

  /// Overwrites all old log files with zeros and continues the log in one of them. Returns false if old frames stay: no
  /// checkpoint vouches for their payloads, or no file is free.
  func eraseLog(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) -> Bool {
    if wal == nil { throw .readOnly }
    try checkpointer.writeCheckpoint(growsLog: false, upkeep)
    try eraseFreeLogFiles()
    // The active file holds old frames too. Once the log has left it, the next checkpoint covers all its frames.
    guard try leaveActiveFile(upkeep) else { return false }
    try checkpointer.writeCheckpoint(growsLog: false, upkeep)
    try eraseFreeLogFiles()
    // A loss of power must not bring back the names, and so the bytes, of unlinked segments.
    do throws(SystemError) { try folders.segments.sync() } catch { throw gate.fail(error) }
    return commitLock.withLock { held in !held.state.log.holdsOldFrames }
  }

  /// Continues the log in an erased file. Another file stays free for the next recovery (rule 8). If concurrent changes
  /// use the other free files, a checkpoint frees them. Returns false after ``mostTries`` tries.
  private func leaveActiveFile(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) -> Bool {
    for _ in 0..<LogEraser.mostTries {
      if try logSizer.moveLog(if: { _ in true }) { return true }
      try checkpointer.writeCheckpoint(growsLog: false, upkeep)
      try eraseFreeLogFiles()
    }
    return false
  }

  private static let mostTries = 8

  private func eraseFreeLogFiles() throws(StoreError) {
    while let taken = commitLock.withLock({ held in held.state.log.takeForErasing() }) {
      do throws(SystemError) {
        try taken.file.erase(taken.byteCount)
      } catch {
        commitLock.withLock { held in held.state.log.putBack(taken.file, isErased: false) }
        throw gate.fail(error)
      }
      commitLock.withLock { held in held.state.log.putBack(taken.file, isErased: true) }
    }
  }
}
