import Vitrine

/// A file system in memory that can show all states that a loss of power would leave.
///
/// Every change goes into a journal under its index: writes, stores into mappings as they are announced, lengths,
/// blocks, names and syncs. One run therefore yields the disk after each of its operations under every policy
/// (``crashes(mixtures:seed:maximumAlone:after:expectation:)``), without running again.
///
/// May be used from any thread; one lock serializes all calls. Exports and crashes of the whole disk show the
/// moment of the call.
package final class SimulatedDisk: FileSystem {
  package struct Options: Sendable {
    /// The space for blocks of 4096 bytes. Folders and empty files take none.
    package var capacityByteCount = 16 << 30
    /// Address space for each file that is mapped; such a file cannot grow past it.
    package var mappingByteCount = 64 << 20
    /// Whether allocation provides blocks. A file system that writes every block to a new place sets the length only.
    package var promisesAllocation = true
    /// Whether disks reuse the address space of files, which is faster: see ``FileMemory``.
    package var reusesMemory = false

    package init() {}
  }

  let core: Guarded<DiskCore>
  /// The body to run in the middle of a sync, and the number of syncs until that one.
  private let duringSync = Guarded<(left: Int, Meanwhile)?>(nil)

  package convenience init(_ options: Options = Options()) { self.init(DiskState(), options: options) }

  init(_ state: DiskState, options: Options) { core = Guarded(DiskCore(state, options: options)) }

  package func openDirectory(_ path: String, create: Bool, from site: CallSite) throws(SystemError) -> any Directory {
    try change(from: site) { (core) throws(SystemError) -> SimulatedDirectory in
      var components = DiskPath.components(path)
      guard let name = components.popLast() else {
        return SimulatedDirectory(
          disk: self, inode: DiskState.root, path: path, promisesAllocation: core.options.promisesAllocation)
      }
      let parentPath = "/" + components.joined(separator: "/")
      guard let parent = core.files.resolve(components) else {
        throw core.failure(ErrorCode.notFound, "open folder", path)
      }
      if !core.files.isFolder(parent) { throw core.failure(ErrorCode.notDirectory, "open folder", path) }
      let inode = try core.openDirectory(name, in: parent, parentPath, create: create)
      return SimulatedDirectory(
        disk: self, inode: inode, path: path, promisesAllocation: core.options.promisesAllocation)
    }
  }

  package func syncName(ofFolder path: String, from site: CallSite) throws(SystemError) {
    try change(from: site) { (core) throws(SystemError) in
      let parent = DiskPath.components(path).dropLast()
      let parentPath = "/" + parent.joined(separator: "/")
      guard let inode = core.files.resolve(Array(parent)) else {
        throw core.failure(ErrorCode.notFound, "sync folder", parentPath)
      }
      try core.syncDirectory(inode, parentPath)
    }
  }

  /// Makes a call of the engine that may change the disk.
  func change<R>(
    from site: CallSite, _ body: (inout DiskCore) throws(SystemError) -> R
  ) throws(SystemError) -> R {
    try core.withLock { (core) throws(SystemError) -> R in
      core.journal.caller = site
      defer { core.journal.caller = nil }
      return try body(&core)
    }
  }

  // MARK: Time

  /// The number of operations so far. A change acknowledged when the count was n must hold in every disk that a
  /// crash after n operations or more leaves.
  package var operationCount: Int { core.withLock { $0.journal.operationCount } }

  /// The operations, oldest first, since the disk was made or its history folded.
  package var operations: [DiskOperation] { core.withLock { $0.journal.operations } }
  /// Writes that wrote all their bytes but returned an error.
  var wholeFailedWrites: [DiskOperation] { core.withLock { $0.journal.wholeFailedWrites } }

  /// The operations after the first `count` of the disk's life.
  package func lastOperations(since count: Int) -> ArraySlice<DiskOperation> {
    core.withLock { $0.journal.operations(since: count) }
  }

  struct Meanwhile: Sendable {
    let isDurable: Bool
    let body: @Sendable () -> Void
  }

  /// Runs `body` once, in the middle of the sync of that number from now on, on the thread that syncs. The sync has not
  /// returned yet. `isDurable` tells whether the writes before it are durable at that time. The number 0 cancels the
  /// plan.
  package func planDuringSync(_ number: Int, isDurable: Bool, _ body: @escaping @Sendable () -> Void) {
    duringSync.withLock { $0 = number > 0 ? (number, Meanwhile(isDurable: isDurable, body: body)) : nil }
  }

  func takeDuringSync() -> Meanwhile? {
    duringSync.withLock { planned in
      planned?.left -= 1
      guard let (left, meanwhile) = planned, left == 0 else { return nil }
      planned = nil
      return meanwhile
    }
  }

  /// After this many complete operations, every further call fails with `EIO` and changes nothing, as if the power
  /// was lost; the run then unwinds without effect. Nil resumes.
  package func stop(afterOperations count: Int?) { core.withLock { $0.journal.stop(after: count) } }

  package var isStopped: Bool { core.withLock { $0.journal.isStopped } }

  /// Drops the journal up to now, to save memory in a long run. Crashes can be explored from here on; unsynced
  /// changes stay unsynced.
  package func foldHistory() { core.withLock { $0.journal.fold() } }

  // MARK: Crashes

  /// Returns the states that a crash after `count` operations can leave; after all of them if nil.
  package func crashStates(after count: Int? = nil) -> CrashStates {
    let (journal, options) = core.withLock { ($0.journal, $0.options) }
    return CrashStates(journal.state(after: count ?? .max), options: options)
  }

  /// Returns all disks that a loss of power can leave, at every moment of the history or at the given ones.
  ///
  /// - Parameters:
  /// - mixtures: The number of random disks to draw for each moment.
  /// - maximumAlone: The number of unsynced changes to keep, lose and tear one by one at each moment.
  /// - maximumAloneNowAndThen: The same at one moment of eight, if it is larger.
  /// - takesFilesAlone: Whether to keep and lose each file and each folder.
  /// - moments: Numbers of complete operations; all if nil.
  /// - comparesShapes: Whether disks are equal that differ only in the written bytes, not in the operations that
  ///   wrote them. The history must begin with the empty disk.
  /// - expectation: A number that differs between moments with different expectations, such as the number of
  ///   acknowledged changes and the change in progress. Equal disks are left out among moments with one number. By
  ///   default no two moments have the same.
  package func crashes(
    mixtures: Int, seed: UInt64, maximumAlone: Int = .max, maximumAloneNowAndThen: Int = 0,
    takesFilesAlone: Bool = true, after moments: [Int]? = nil, comparesShapes: Bool = false,
    expectation: @escaping @Sendable (Int) -> Int = { $0 }
  ) -> CrashExploration {
    let (journal, options) = core.withLock { ($0.journal, $0.options) }
    let selection = PolicySelection(
      mixtures: mixtures, seed: seed, maximumAlone: maximumAlone, maximumAloneNowAndThen: maximumAloneNowAndThen,
      takesFilesAlone: takesFilesAlone)
    return CrashExploration(
      journal, options: options, moments: moments ?? Array(journal.moments), selection: selection,
      comparesShapes: comparesShapes, expectation: expectation)
  }

  // MARK: Faults

  package func plan(_ fault: Fault) { core.withLock { $0.faults.add(fault) } }
  package func removeFaults() {
    core.withLock { core in
      core.faults.removeAll()
      core.interventions.removeAll()
    }
  }

  /// Runs `intervention` before the call of that number, counted from 1 over all kinds, on the thread that makes
  /// it. It counts as a fault that struck, unless it is harmless.
  func plan(
    before call: Int, isHarmless: Bool = false, _ intervention: @escaping InterventionPlan.Intervention
  ) {
    core.withLock { core in
      core.interventions.add(before: call) { core in
        if !isHarmless { core.faults.noteStrike() }
        intervention(&core)
      }
    }
  }

  /// The number of calls that a fault struck.
  package var strikeCount: Int { core.withLock { $0.faults.strikeCount } }

  /// Leaves only the room that removals free from now on. With `refusingNewNames`, nothing can be created either,
  /// as if a folder needed a new block.
  package func fillUp(refusingNewNames: Bool = false) {
    core.withLock { $0.space.fillUp(refusingNewNames: refusingNewNames) }
  }

  package func setCapacity(_ byteCount: Int) { core.withLock { $0.space.setCapacity(byteCount) } }

  /// Gives as much room as a new disk has.
  func giveRoom() { core.withLock { $0.space.giveRoom() } }

  // MARK: Observation

  /// Bytes of all blocks of files, including open files without a name.
  package var usedByteCount: Int { core.withLock { $0.space.usedPageCount * Page.byteCount } }

  /// The highest used byte count since the disk was made.
  package var mostUsedByteCount: Int { core.withLock { $0.space.mostUsedPageCount * Page.byteCount } }
  /// Restarts the maximum from the present value.
  package func resetMostUsedByteCount() { core.withLock { $0.space.resetMostUsed() } }

  var promisesAllocation: Bool { core.withLock { $0.options.promisesAllocation } }

  /// The number of times the engine made this call, failures included.
  package func callCount(_ call: DiskCall) -> Int { core.withLock { $0.calls[call] } }

  /// Calls of all kinds so far.
  var callCount: Int { core.withLock { $0.calls.total } }

  /// The number of operations after which a folder was moved away or removed; nil if none was.
  var folderLost: Int? { core.withLock { $0.folderLost } }

  /// Calls with undefined results on a real disk: stores past a file's end or into unallocated blocks. Tests expect
  /// none.
  package var misuse: [String] { core.withLock { $0.misuse.texts } }
}
