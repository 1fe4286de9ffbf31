import Synchronization

/// Decides whether a store may be written: it is open, its folder is in place, and no write has failed.
final class WriteGate: StorePart {
  let context: StoreContext
  private let isForWriting: Bool
  /// The file `LOCK`, which this opening has locked; nil in a read-only opening and after ``releaseLock()``. If the
  /// store ends without that call, the release of the file releases the lock.
  private let lockFile: Guarded<(any File)?>
  private let process = ForkGuard()
  private let status = Atomic<UInt8>(0)
  private let failure = Guarded<SystemError?>(nil)
  /// When all names of the folder were last checked before a change, in milliseconds by the wall clock.
  private let lastNameCheck = Atomic<Int64>(.min)
  private let mistrusts = Atomic<Bool>(false)
  /// True during failed-sync recovery. Meanwhile, puts do not share unvouched records of earlier openings.
  var mistrustsEarlierRecords: Bool { mistrusts.load(ordering: .relaxed) }

  /// Runs `body` while records of earlier openings are not shared.
  func mistrustingEarlierRecords(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    mistrusts.store(true, ordering: .relaxed)
    defer { mistrusts.store(false, ordering: .relaxed) }
    try body()
  }

  init(_ context: StoreContext, lockFile: (any File)?) {
    self.context = context
    isForWriting = context.wal != nil
    self.lockFile = Guarded(lockFile)
  }

  /// Milliseconds for which a buffered put relies on an earlier check of the names.
  static let nameCheckMilliseconds: UInt64 = 100

  /// Throws `storeRemoved` if the folder has lost its name or its parts are gone. A synced acknowledgement depends on
  /// this check. Without its `LOCK`, the store may have another writer by now.
  func requireNamed() throws(StoreError) {
    // Another folder may have the name by now, and hold the parts of the old folder.
    if isRemoved { throw .storeRemoved }
    if isLockNamed, folders.areStillNamed { return }
    throw refusal()
  }

  /// The error of a store whose folder has lost its name. A store that is closed or read-only says so.
  private func refusal() -> StoreError {
    if isClosed { return .closed }
    if isReadOnly { return .readOnly }
    noteRemoved()
    return .storeRemoved
  }

  /// Throws as ``requireNamed()`` does, but checks the names at most once in ``nameCheckMilliseconds``. The parameter
  /// is the wall-clock time. Costs one load if the names are not checked.
  @inline(__always)
  func requireNamed(at milliseconds: Int64) throws(StoreError) {
    let age = UInt64(bitPattern: milliseconds &- lastNameCheck.load(ordering: .relaxed))
    if age < WriteGate.nameCheckMilliseconds { return }
    try requireNamedAfterAWhile(milliseconds)
  }

  @inline(never)
  private func requireNamedAfterAWhile(_ milliseconds: Int64) throws(StoreError) {
    try requireNamed()
    // Afterwards: other threads must not rely on a check that has not ended.
    lastNameCheck.store(milliseconds, ordering: .relaxed)
  }

  /// Throws as ``requireNamed(at:)`` does, and always checks the name of `LOCK`. For a change that must not be lost in
  /// a removed folder.
  func requireNamedNow() throws(StoreError) {
    try requireNamed(at: environment.clock.wallMilliseconds())
    if isLockNamed { return }
    throw refusal()
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

  /// True if the folder was found deleted or replaced.
  var isRemoved: Bool { status.load(ordering: .relaxed) & Status.removed != 0 }

  /// True if this opening will not write any change again.
  var writesNoMore: Bool { status.load(ordering: .relaxed) & (Status.removed | Status.failed) != 0 }

  func noteRemoved() {
    status.bitwiseOr(Status.removed, ordering: .relaxed)
    wal?.end()
  }

  /// Returns false if the store was closed before.
  func markClosed() -> Bool {
    defer { wal?.end() }
    return status.bitwiseOr(Status.closed, ordering: .relaxed).oldValue & Status.closed == 0
  }

  /// Refuses every new change from now on; only the closing call itself may still write. Returns false if another call
  /// is closing.
  func markClosing() -> Bool {
    status.bitwiseOr(Status.closing, ordering: .relaxed).oldValue & Status.closing == 0
  }

  /// Releases the lock, even if another thread checks the name of `LOCK` at this moment.
  func releaseLock() {
    lockFile.withLock { lockFile in
      lockFile?.unlock()
      lockFile = nil
    }
  }

  /// Whether the store's path still leads to the `LOCK` that this opening holds.
  var isLockNamed: Bool { lockFile.withLock { $0 }.map { folders.root.holds($0, CacheFormat.lockFile) } ?? true }

  /// True if this process is a child of the one that opened the store: a child inherits neither the lock nor upkeep.
  var isForkedChild: Bool { process.isInChild }

  /// Throws `closed` in a child of the process that opened the store: the locks may be held there forever.
  func requireOwnProcess() throws(StoreError) { if isForkedChild { throw .closed } }

  /// Throws the error that forbids a change now. `closing` is true for the writes of closing itself.
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

  /// Ends all writing, because memory may differ from the disk. The mark in `LOCK` makes the next opening check and
  /// write anew the payloads that no checkpoint vouches for (rule 7).
  func fail(_ error: SystemError) -> StoreError {
    // Nothing was written: the log has ended for a reason that is known.
    if error == WAL.refusal { return reasonOfEnd ?? .closed }
    // In a removed folder no file can be created; that is not a failure of the disk.
    if error.code == SystemError.missing, (try? requireNamed()) == nil { return isClosed ? .closed : .storeRemoved }
    // A close that runs meanwhile waits until the mark is written; then it releases the lock.
    let before = lockFile.withLock { lockFile in
      failure.withLock { $0 = $0 ?? error }
      let before = status.bitwiseOr(Status.failed, ordering: .relaxed).oldValue
      wal?.end()
      guard let lockFile else { return before }
      try? lockFile.write(LockFile.contents(isMarked: true), at: 0)
      try? lockFile.sync()
      return before
    }
    let ends = Status.failed | Status.closed | Status.removed
    if before & ends == 0 { context.events.send(.failed(.writeFailed(error))) }
    return .writeFailed(error)
  }

  /// The error of a store that writes no more; nil for one that does.
  private var reasonOfEnd: StoreError? {
    if isClosed { return .closed }
    if isRemoved { return .storeRemoved }
    return failure.withLock { $0 }.map { .writeFailed($0) }
  }

  /// Returns the error for a failed write outside the log. Lack of space and of other resources is left to the caller;
  /// every other error ends writing.
  func writeError(_ error: SystemError) -> StoreError {
    if SystemCode.isNoSpace(error.code) { return .noSpace }
    // A refused mapping leaves the disk unchanged.
    return SystemCode.isShortage(error.code) || error.operation == "map" ? .system(error) : fail(error)
  }
}
