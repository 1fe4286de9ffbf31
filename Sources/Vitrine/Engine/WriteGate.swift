import Synchronization

/// Whether a store may be written: it is open, its folder is in place, and no write has failed.
final class WriteGate: StorePart {
  let context: StoreContext
  private let isForWriting: Bool
  /// Held for as long as the store is open; its lock goes with it.
  private let lockFile: Guarded<(any File)?>
  private let process = ForkGuard()
  private let status = Atomic<UInt8>(0)
  private let failure = Guarded<SystemError?>(nil)
  /// When all names of the folder were last looked at for a change, by the wall clock.
  private let lastNameCheck = Atomic<Int64>(.min)
  private let mistrusts = Atomic<Bool>(false)
  /// Set while a store is taken over on which a sync had failed: records of earlier openings are not shared.
  var mistrustsEarlierRecords: Bool {
    get { mistrusts.load(ordering: .relaxed) }
    set { mistrusts.store(newValue, ordering: .relaxed) }
  }

  init(_ context: StoreContext, lockFile: (any File)?) {
    self.context = context
    isForWriting = context.wal != nil
    self.lockFile = Guarded(lockFile)
  }

  /// Milliseconds for which a buffered put relies on an earlier look at the names.
  static let nameCheckMilliseconds: UInt64 = 100

  /// Throws `storeRemoved` when the folder has lost its name, or what was in it has gone; a synced acknowledgement
  /// depends on it. Without its `LOCK` the store may have another writer by now.
  func requireNamed() throws(StoreError) {
    // Another folder may have the name by now, with the old one's parts in it.
    if isRemoved { throw .storeRemoved }
    if isLockNamed, folders.areStillNamed { return }
    noteRemoved()
    throw .storeRemoved
  }

  /// The same before a change at the given time, by as little as a load: all names are looked at only now and then.
  @inline(__always)
  func requireNamed(at milliseconds: Int64) throws(StoreError) {
    let age = UInt64(bitPattern: milliseconds &- lastNameCheck.load(ordering: .relaxed))
    if age < WriteGate.nameCheckMilliseconds { return }
    try requireNamedAfterAWhile(milliseconds)
  }

  @inline(never)
  private func requireNamedAfterAWhile(_ milliseconds: Int64) throws(StoreError) {
    lastNameCheck.store(milliseconds, ordering: .relaxed)
    try requireNamed()
  }

  /// The same before a change that must not be lost on a folder that has gone.
  func requireNamedNow() throws(StoreError) {
    try requireNamed(at: environment.clock.wallMilliseconds())
    if isLockNamed { return }
    noteRemoved()
    throw .storeRemoved
  }

  private enum Status {
    static let closed: UInt8 = 1
    static let failed: UInt8 = 2
    static let removed: UInt8 = 4
    static let closing: UInt8 = 8
  }

  var isClosed: Bool { status.load(ordering: .relaxed) & Status.closed != 0 }

  var isReadOnly: Bool { wal == nil }

  var isClosing: Bool { status.load(ordering: .relaxed) & Status.closing != 0 }

  var hasFailed: Bool { status.load(ordering: .relaxed) & Status.failed != 0 }

  /// The folder was found deleted or replaced.
  var isRemoved: Bool { status.load(ordering: .relaxed) & Status.removed != 0 }

  /// No change will ever be written again.
  var writesNoMore: Bool { status.load(ordering: .relaxed) & (Status.removed | Status.failed) != 0 }

  func noteRemoved() { status.bitwiseOr(Status.removed, ordering: .relaxed) }

  /// False when it was closed before.
  func markClosed() -> Bool {
    status.bitwiseOr(Status.closed, ordering: .relaxed).oldValue & Status.closed == 0
  }

  /// Refuses every new change from here on; the closer itself may still write. False when somebody else is closing.
  func markClosing() -> Bool {
    status.bitwiseOr(Status.closing, ordering: .relaxed).oldValue & Status.closing == 0
  }

  func releaseLock() { lockFile.withLock { $0 = nil } }

  /// Whether the store's path still leads to the `LOCK` that this opening holds.
  var isLockNamed: Bool { lockFile.withLock { $0 }.map { folders.root.holds($0, CacheFormat.lockFile) } ?? true }

  /// This process is a child of the one that opened the store: neither lock nor upkeep came along.
  var isForkedChild: Bool { process.isInChild }

  /// Throws what forbids a change now. `closing` is for what closing itself does.
  func requireWritable(closing: Bool = false) throws(StoreError) {
    let status = status.load(ordering: .relaxed) & (closing ? ~Status.closing : .max)
    if status == 0, wal != nil, !isForkedChild { return }
    if wal == nil { throw isClosed ? .closed : .readOnly }
    if status & (Status.closed | Status.closing) != 0 || isForkedChild { throw .closed }
    if status & Status.removed != 0 { throw .storeRemoved }
    if let error = failure.withLock({ $0 }) { throw .writeFailed(error) }
  }

  func requireNoFailedSync() throws(StoreError) {
    if let error = failure.withLock({ $0 }) { throw .writeFailed(error) }
  }

  /// Ends all writing: what is in memory may not be what is on the disk. The mark in `LOCK` makes the next opening
  /// check and write anew what nobody vouches for (rule 7).
  func fail(_ error: SystemError) -> StoreError {
    // In a folder that is gone nothing can be made, and that is no trouble of the disk.
    if error.code == SystemError.missing, (try? requireNamed()) == nil { return .storeRemoved }
    failure.withLock { $0 = $0 ?? error }
    status.bitwiseOr(Status.failed, ordering: .relaxed)
    if let lockFile = lockFile.withLock({ $0 }) {
      try? lockFile.write(LockFile.contents(isMarked: true), at: 0)
      try? lockFile.sync()
    }
    return .writeFailed(error)
  }

  /// An error of a write that is not one of the log: no room is the caller's matter, all else ends writing.
  func writeError(_ error: SystemError) -> StoreError {
    if SystemCode.isNoSpace(error.code) { return .noSpace }
    // A refused mapping leaves the disk as it was.
    return SystemCode.isShortage(error.code) || error.operation == "map" ? .system(error) : fail(error)
  }
}
