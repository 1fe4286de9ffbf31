// Taking the store's lock for an opening that writes.
extension Opening {
  /// Number of races for the name `LOCK` that an opening may lose to others. After that, it throws if it can neither
  /// open nor create the file. If it has locked a file that has lost its name, it continues, and its first check of the
  /// names detects the loss.
  private static let mostRaces = 100

  /// Locks `LOCK` and writes this process's id into it. Makes the file if there is none. Waits for another opening as
  /// long as the options say.
  func takeLock(_ root: any Directory) throws(StoreError) -> any File {
    var waited = 0
    var races = 0
    while true {
      guard let file = try openLock(root, isLastTry: races >= Opening.mostRaces) else {
        races += 1
        continue
      }
      if try system({ () throws(SystemError) in try file.tryLock() }) {
        // A file that lost its name after it was opened does not exclude other openings.
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

  /// Opens or makes `LOCK`. Returns nil if another opening made the file between the two calls.
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

  /// Writes this process's id into the locked file. Rule 8: the block and the name of `LOCK` are durable before it gets
  /// content, so later openings and the mark of a failed sync need no free space. A file without a process id is new,
  /// or its creator died early. Zeros keep it in that state until it is durable.
  private func noteProcess(in file: any File, _ root: any Directory) throws(SystemError) {
    let found = LockFile.read(file)
    let line = LockFile.contents(isMarked: found.isMarked)
    if !found.isOurs {
      // A crash before the line is written must not lose a mark in the file.
      try file.write(found.isMarked ? line : [UInt8](repeating: 0, count: LockFile.byteCount), at: 0)
      try file.sync()
      try root.sync()
    }
    try file.write(line, at: 0)
  }
}
