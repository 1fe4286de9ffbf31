/// Overwrites the log files of earlier use.
final class LogEraser: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let checkpointer: Checkpointer

  init(_ context: StoreContext, gate: WriteGate, checkpointer: Checkpointer) {
    self.context = context
    self.gate = gate
    self.checkpointer = checkpointer
  }

  /// Overwrites every log file of earlier use with zeros, and goes on in an erased one. False when a file has to stay, since
  /// payloads in it are not vouched for.
  func eraseLog(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) -> Bool {
    guard let wal else { throw .readOnly }
    try checkpointer.writeCheckpoint(upkeep)
    try eraseFreeLogFiles(wal)
    do throws(SystemError) {
      // The active file holds old frames too. Each of its frames precedes this moment, so the next checkpoint covers it.
      let next = try commitLock.withLock { held throws(SystemError) in
        try wal.rotate(cut: wal.position) ? wal.active : nil
      }
      // That checkpoint names the file, and no frame is there yet for which anything would sync its header.
      try next?.file.sync()
    } catch {
      throw gate.fail(error)
    }
    try checkpointer.writeCheckpoint(upkeep)
    try eraseFreeLogFiles(wal)
    // The names of unlinked segments must not come back, with all that was in them.
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
