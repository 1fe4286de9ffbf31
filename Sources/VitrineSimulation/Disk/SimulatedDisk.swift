import Vitrine

/// A file system in memory that knows what a loss of power would leave of it.
///
/// Every change goes into a journal under its index: writes, stores into mappings as they are announced, lengths,
/// blocks, names and syncs. One run therefore yields the disk after each of its operations under every policy
/// (``crashes(mixtures:seed:maximumAlone:after:expectation:)``), without running again.
///
/// May be used from any thread; one lock serializes all calls. What is asked about the whole disk (exports, crashes) is
/// of the moment of the call.
package final class SimulatedDisk: FileSystem {
  package struct Options: Sendable {
    /// Room for blocks of 4096 bytes. Folders and empty files take none.
    package var capacityByteCount = 16 << 30
    /// Address space for each file that is mapped; such a file cannot grow past it.
    package var mappingByteCount = 64 << 20
    /// False for a file system that writes every block to a new place: allocating then sets the length only.
    package var promisesAllocation = true
    /// Whether address space of files goes from disk to disk, which is quicker: see ``FileMemory``.
    package var reusesMemory = false

    package init() {}
  }

  let core: Guarded<DiskCore>
  /// What somebody else does while a sync is under way: the first of those to come that has this number.
  private let duringSync = Guarded<(left: Int, Meanwhile)?>(nil)

  package convenience init(_ options: Options = Options()) { self.init(DiskState(), options: options) }

  init(_ state: DiskState, options: Options) { core = Guarded(DiskCore(state, options: options)) }

  package func openDirectory(_ path: String, create: Bool, from site: CallSite) throws(SystemError) -> any Directory {
    try change(from: site) { (core) throws(SystemError) -> SimulatedDirectory in
      var components = DiskCore.components(path)
      guard let name = components.popLast() else {
        return SimulatedDirectory(
          disk: self, inode: DiskState.root, path: path, promisesAllocation: core.options.promisesAllocation)
      }
      let parentPath = "/" + components.joined(separator: "/")
      guard let parent = core.resolve(components) else {
        throw core.failure(ErrorCode.notFound, "open folder", path)
      }
      if core.directories[parent] == nil { throw core.failure(ErrorCode.notDirectory, "open folder", path) }
      let inode = try core.openDirectory(name, in: parent, parentPath, create: create)
      return SimulatedDirectory(
        disk: self, inode: inode, path: path, promisesAllocation: core.options.promisesAllocation)
    }
  }

  package func syncName(ofFolder path: String, from site: CallSite) throws(SystemError) {
    try change(from: site) { (core) throws(SystemError) in
      let parent = DiskCore.components(path).dropLast()
      let parentPath = "/" + parent.joined(separator: "/")
      guard let inode = core.resolve(Array(parent)) else {
        throw core.failure(ErrorCode.notFound, "sync folder", parentPath)
      }
      try core.syncDirectory(inode, parentPath)
    }
  }

  /// A call of the engine that may change the disk.
  func change<R>(
    from site: CallSite, _ body: (inout DiskCore) throws(SystemError) -> R
  ) throws(SystemError) -> R {
    try core.withLock { (core) throws(SystemError) -> R in
      core.caller = site
      defer { core.caller = nil }
      return try body(&core)
    }
  }

  // MARK: Time

  /// How many operations were carried out so far. A change acknowledged when the count was n must hold in every disk
  /// that a crash after n operations or more leaves.
  package var operationCount: Int { core.withLock { $0.operationCount } }

  /// What was carried out, oldest first, since the disk was made or its history folded.
  package var operations: [DiskOperation] { core.withLock { $0.journal } }
  /// Writes that did all that they were to do, and of which the caller heard that they failed.
  var wholeFailedWrites: [DiskOperation] {
    core.withLock { core in core.journal.filter { core.wholeFailedWrites.contains($0.index) } }
  }

  /// Those that were carried out after the first `count` of the disk's life.
  package func lastOperations(since count: Int) -> ArraySlice<DiskOperation> {
    core.withLock { $0.journal.suffix(Swift.max(0, $0.operationCount - count)) }
  }

  struct Meanwhile: Sendable {
    let isDurable: Bool
    let body: @Sendable () -> Void
  }

  /// Runs `body` once, in the middle of the sync of that number from now on, on the thread that syncs: the sync has not
  /// returned, and what was written before it began is durable already, or is not yet. 0 takes it back.
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

  /// Once so many operations are complete, every further call fails with `EIO` and changes nothing, as if the power had
  /// gone; the run that goes on unwinds without effect. Nil goes on.
  package func stop(afterOperations count: Int?) { core.withLock { $0.stopsAfter = count } }

  package var isStopped: Bool { core.withLock { $0.isStopped } }

  /// Forgets the journal up to now, to save memory in a long run. Crashes can be explored from here on; what is
  /// unsynced still is.
  package func foldHistory() {
    core.withLock { core in
      core.initial = core.state(after: core.operationCount)
      core.journal = []
    }
  }

  // MARK: Crashes

  /// What a crash after `count` operations can leave; after all of them when nil.
  package func crashStates(after count: Int? = nil) -> CrashStates {
    let (initial, journal, options) = core.withLock { ($0.initial, $0.journal, $0.options) }
    var state = initial
    for operation in journal.prefix(Swift.max(0, (count ?? .max) - initial.operationCount)) {
      state.apply(operation)
    }
    return CrashStates(state, options: options)
  }

  /// All disks that a loss of power can leave, at every moment of the history or at those given.
  ///
  /// - Parameters:
  ///   - mixtures: How many random disks to draw for each moment.
  ///   - maximumAlone: How many unsynced changes to keep, lose and tear one by one at each moment.
  ///   - maximumAloneNowAndThen: The same at one moment of eight, where it is more.
  ///   - takesFilesAlone: Whether to keep and lose each file and each folder.
  ///   - moments: Numbers of complete operations; all when nil.
  ///   - comparesShapes: Whether disks are equal that differ only in the bytes that were written, not in which operations
  ///     wrote them. The history must go back to the empty disk.
  ///   - expectation: A number that differs between moments at which different things must hold, such as how many
  ///     changes were acknowledged by then and which one was under way. Equal disks are left out among moments with one
  ///     number. By default no two moments have the same.
  package func crashes(
    mixtures: Int, seed: UInt64, maximumAlone: Int = .max, maximumAloneNowAndThen: Int = 0,
    takesFilesAlone: Bool = true, after moments: [Int]? = nil, comparesShapes: Bool = false,
    expectation: @escaping @Sendable (Int) -> Int = { $0 }
  ) -> CrashExploration {
    let (initial, journal, options) = core.withLock { ($0.initial, $0.journal, $0.options) }
    return CrashExploration(
      first: initial, journal: journal, options: options,
      moments: moments ?? Array(initial.operationCount...initial.operationCount + journal.count),
      mixtures: mixtures, seed: seed, maximumAlone: maximumAlone, maximumAloneNowAndThen: maximumAloneNowAndThen,
      takesFilesAlone: takesFilesAlone,
      comparesShapes: comparesShapes,
      expectation: expectation)
  }

  // MARK: Faults

  package func plan(_ fault: Fault) { core.withLock { $0.faults.add(fault) } }
  package func removeFaults() {
    core.withLock { core in
      core.faults.removeAll()
      core.interventions.removeAll()
      core.isReadOnly = false
    }
  }
  /// How many calls a fault struck.
  package var strikeCount: Int { core.withLock { $0.faults.strikeCount } }

  /// From now on there is only the room that removals free. With `refusingNewNames`, nothing can be created either,
  /// as where a folder would need a new block.
  package func fillUp(refusingNewNames: Bool = false) {
    core.withLock { $0.fillUp(refusingNewNames: refusingNewNames) }
  }

  package func setCapacity(_ byteCount: Int) {
    core.withLock { core in
      core.options.capacityByteCount = byteCount
      core.refusesNewNames = false
    }
  }

  // MARK: Observation

  /// Bytes of all blocks that files have, those of open files without a name included.
  package var usedByteCount: Int { core.withLock { $0.usedPageCount * Page.byteCount } }

  /// The most that it was since the disk was made.
  package var mostUsedByteCount: Int { core.withLock { $0.mostUsedPageCount * Page.byteCount } }
  /// Counts from what is used now.
  package func resetMostUsedByteCount() { core.withLock { $0.mostUsedPageCount = $0.usedPageCount } }

  var promisesAllocation: Bool { core.withLock { $0.options.promisesAllocation } }

  /// How often the engine made this call, failures included.
  package func callCount(_ call: DiskCall) -> Int { core.withLock { $0.calls[call] ?? 0 } }

  /// What would have been undefined on a real disk: stores past a file's end or into blocks it does not have. Tests
  /// expect none.
  package var misuse: [String] { core.withLock { $0.misuse } }
}
