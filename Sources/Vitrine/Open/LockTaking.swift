// How an opening for writing gets the store's lock.
extension Opening {
  /// Races with other openings for the name `LOCK` after which an opening gives up.
  private static let mostRaces = 100

  /// Locks `LOCK`, which it makes where there is none, and notes this process in it. Waits for another opening as long as
  /// the options say.
  func takeLock(_ root: any Directory) throws(StoreError) -> any File {
    var waited = 0
    var races = 0
    while true {
      guard let file = try openLock(root, isLastTry: races >= Opening.mostRaces) else {
        races += 1
        continue
      }
      if try system({ () throws(SystemError) in try file.tryLock() }) {
        // A file that lost its name since it was opened keeps no other opening away.
        guard root.holds(file, CacheFormat.lockFile) || races >= Opening.mostRaces else {
          races += 1
          continue
        }
        try system { () throws(SystemError) in try noteProcess(in: file, root) }
        return file
      }
      guard waited < options.waitForLockMilliseconds else {
        throw .locked(processID: LockFile.read(file).processID)
      }
      let pause = min(20, options.waitForLockMilliseconds - waited)
      environment.clock.sleep(milliseconds: pause)
      waited += pause
    }
  }

  /// Nil when another opening made or removed `LOCK` between two calls.
  private func openLock(_ root: any Directory, isLastTry: Bool) throws(StoreError) -> (any File)? {
    do throws(SystemError) {
      return try root.openFile(CacheFormat.lockFile, .readWrite)
    } catch {
      guard error.code == SystemError.missing else { throw .system(error) }
    }
    do throws(SystemError) {
      return try root.openFile(CacheFormat.lockFile, .create)
    } catch {
      guard error.code == SystemError.exists, !isLastTry else { throw .system(error) }
      return nil
    }
  }

  /// Writes this process into the locked file. Rule 8: `LOCK` has its block and its name on the disk before anything stands in
  /// it, so that later openings, and the mark of a failed sync, need no room. A file without a process is a new one, or
  /// the opening that made it died before that; zeros keep it so until it is durable.
  private func noteProcess(in file: any File, _ root: any Directory) throws(SystemError) {
    let found = LockFile.read(file)
    let line = LockFile.contents(isMarked: found.isMarked)
    if !found.isOurs {
      // A mark that may be in it must not be lost by a crash before the line is written.
      try file.write(found.isMarked ? line : [UInt8](repeating: 0, count: LockFile.byteCount), at: 0)
      try file.sync()
      try root.sync()
    }
    try file.write(line, at: 0)
  }
}
