// Erasure: after it, no file of the store holds bytes of entries that were removed before it. Removed bytes lie in two
// places. Dead records lie in segments: compaction copies what lives beside them and unlinks the files. Frames carry small
// records: the log's files are overwritten with zeros once a durable checkpoint covers them (rule 6), so a crash at any
// point finds a file that no recovery needs.
extension StoreCore {
  /// Overwrites every log file of earlier use with zeros, and goes on in an erased one. False when a file has to stay, since
  /// payloads in it are not vouched for. Under the upkeep lock.
  func eraseLog() throws(StoreError) -> Bool {
    guard let wal else { throw .readOnly }
    try writeCheckpoint()
    try eraseFreeLogFiles(wal)
    do throws(SystemError) {
      // The active file holds old frames too. Each of its frames precedes this moment, so the next checkpoint covers it.
      let next = try locked { () throws(SystemError) in try wal.rotate(cut: wal.position) ? wal.active : nil }
      // That checkpoint names the file, and no frame is there yet for which anything would sync its header.
      try next?.file.sync()
    } catch {
      throw fail(error)
    }
    try writeCheckpoint()
    try eraseFreeLogFiles(wal)
    // The names of unlinked segments must not come back, with all that was in them.
    do throws(SystemError) { try folders.segments.sync() } catch { throw fail(error) }
    return locked { !wal.holdsOldFrames }
  }

  private func eraseFreeLogFiles(_ wal: WAL) throws(StoreError) {
    while let file = locked({ wal.takeForErasing() }) {
      do throws(SystemError) {
        try wal.erase(file)
      } catch {
        locked { wal.putBack(file, isErased: false) }
        throw fail(error)
      }
      locked { wal.putBack(file, isErased: true) }
    }
  }

  /// Removes with `remove`, and returns once no file of the store holds bytes of removed entries.
  func erasing(_ remove: () throws(StoreError) -> Int) throws(StoreError) -> Int {
    let removed = try remove()
    if try !compact(progress: { _, _ in true }).isErased {
      throw .system(
        SystemError(code: 16, operation: "erase (unfinished bodies or no room for copies) in", path: folders.root.path))
    }
    return removed
  }
}
