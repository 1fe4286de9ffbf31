import Vitrine

/// The state of a simulated disk, behind its lock: the visible files, and the journal that determines everything
/// about durability.
///
/// The two are separate on purpose. Live files know nothing of syncs, and ``DiskState`` knows nothing of handles. If
/// they disagree about a byte, a store was not announced.
struct DiskCore {
  var options: SimulatedDisk.Options
  var initial: DiskState
  var journal: [DiskOperation] = []
  var files: [Int: LiveFile] = [:]
  /// Entries by folder. A removed folder has none.
  var directories: [Int: [String: Int]] = [:]
  var faults = FaultPlan()
  var interventions = InterventionPlan()
  var calls: [DiskCall: Int] = [:]
  var misuse: [String] = []
  /// The numbers of writes that wrote all their bytes but returned an error.
  var wholeFailedWrites: Set<Int> = []
  var stopsAfter: Int?
  /// The engine's line of the current call.
  var caller: CallSite?
  var refusesNewNames = false
  /// Refuses every change, like a file system after an error.
  var isReadOnly = false
  /// The number of operations after which the store's folder was moved away or removed.
  var folderLost: Int?
  var usedPageCount = 0 { didSet { mostUsedPageCount = Swift.max(mostUsedPageCount, usedPageCount) } }
  var mostUsedPageCount = 0
  private var nextInode: Int
  private var nextHandle: UInt64 = 1

  init(_ state: DiskState, options: SimulatedDisk.Options) {
    self.options = options
    initial = state
    nextInode = state.nextInode
    var waiting = [DiskState.root]
    while let inode = waiting.popLast() {
      let entries = state.directories[inode]?.live ?? [:]
      directories[inode] = entries
      for child in entries.values {
        if let file = state.files[child] {
          files[child] = LiveFile(number: child, content: file.live)
          usedPageCount += file.live.allocatedPageCount
        } else {
          waiting.append(child)
        }
      }
    }
  }

  var operationCount: Int { initial.operationCount + journal.count }
  var isStopped: Bool { stopsAfter.map { operationCount >= $0 } ?? false }
  var freePageCount: Int { Swift.max(0, options.capacityByteCount / Page.byteCount - usedPageCount) }

  /// Returns the disk after the first `count` operations of its life.
  func state(after count: Int) -> DiskState {
    var state = initial
    for operation in journal.prefix(Swift.max(0, count - initial.operationCount)) { state.apply(operation) }
    return state
  }

  /// Begins every call: a stopped disk refuses it, a planned fault may strike it.
  mutating func begin(_ call: DiskCall, _ path: String) throws(SystemError) -> Fault.Effect? {
    try checkRunning("\(call)", path)
    calls[call, default: 0] += 1
    interventions.calls += 1
    while let intervention = interventions.due() { intervention(&self) }
    if isReadOnly, call.changes { throw failure(ErrorCode.readOnlyFileSystem, "\(call)", path) }
    let effect = faults.effect(on: call, path: path)
    switch effect {
    case .fail(let code): throw SystemError(code: code, operation: "\(call)", path: path)
    case .failAfterWriting(_, let code) where call != .write:
      throw SystemError(code: code, operation: "\(call)", path: path)
    default: return effect
    }
  }

  /// Journals a change, which the caller then makes. Throws if the disk stops before it.
  mutating func record(_ change: DiskOperation.Change, _ path: String) throws(SystemError) {
    try checkRunning("change", path)
    recordUnchecked(change, path, caller)
  }

  /// Journals an external change, which a stopped disk does not refuse.
  mutating func recordFromOutside(_ change: DiskOperation.Change, _ path: String) { recordUnchecked(change, path, nil) }

  private mutating func recordUnchecked(_ change: DiskOperation.Change, _ path: String, _ site: CallSite?) {
    journal.append(
      DiskOperation(index: operationCount, path: path, change: change, site: site, thread: .current))
  }

  private func checkRunning(_ operation: @autoclosure () -> String, _ path: String) throws(SystemError) {
    if isStopped { throw SystemError(code: ErrorCode.inputOutput, operation: operation(), path: path) }
  }

  mutating func newInode() -> Int {
    defer { nextInode += 1 }
    return nextInode
  }

  mutating func newHandle() -> UInt64 {
    defer { nextHandle += 1 }
    return nextHandle
  }

  /// Changes a file and keeps the account of blocks.
  mutating func change(_ file: LiveFile, _ body: (LiveFile) -> Void) {
    let before = file.content.allocatedPageCount
    body(file)
    usedPageCount += file.content.allocatedPageCount - before
  }

  /// Removes the last name of a file.
  mutating func loseName(_ inode: Int) {
    files[inode]?.isNamed = false
    releaseIfUnused(inode)
  }

  mutating func loseHold(on file: LiveFile) {
    file.holdCount -= 1
    releaseIfUnused(file.number)
  }

  private mutating func releaseIfUnused(_ inode: Int) {
    guard let file = files[inode], !file.isNamed, file.holdCount == 0 else { return }
    usedPageCount -= file.content.allocatedPageCount
    files[inode] = nil
  }
}
