import Vitrine

/// A disk before its first recorded operation, and all operations since, oldest first. The two determine everything
/// about durability. The record begins when the disk is made, and again at each fold. A stopped disk takes no more
/// changes.
struct DiskJournal: Swift.Sequence, Sendable {
  /// The disk before the first operation.
  private(set) var initial: DiskState
  private(set) var operations: [DiskOperation] = []
  /// The line of the engine that makes the current call; nil between two calls.
  var caller: CallSite?
  private var stopsAfter: Int?
  /// The numbers of writes that wrote all their bytes but returned an error.
  private var wholeFailedNumbers: Set<Int> = []

  init(after initial: DiskState) { self.initial = initial }

  func makeIterator() -> IndexingIterator<[DiskOperation]> { operations.makeIterator() }

  // MARK: Reading

  /// The number of operations in the disk's life.
  var operationCount: Int { initial.operationCount + operations.count }

  /// The numbers of complete operations at which a crash can be explored.
  var moments: ClosedRange<Int> { initial.operationCount...operationCount }

  /// Returns the disk after the first `count` operations of its life.
  func state(after count: Int) -> DiskState {
    var state = initial
    for operation in operations.prefix(Swift.max(0, count - initial.operationCount)) { state.apply(operation) }
    return state
  }

  /// Returns the disk after `part` 256ths of the journal.
  func state(afterPart part: Int) -> DiskState {
    state(after: initial.operationCount + operations.count * part / 256)
  }

  /// The operations after the first `count` of the disk's life.
  func operations(since count: Int) -> ArraySlice<DiskOperation> {
    operations.suffix(Swift.max(0, operationCount - count))
  }

  /// The last complete operation at a moment; nil before the first.
  func operation(before moment: Int) -> DiskOperation? {
    let position = moment - initial.operationCount - 1
    return operations.indices.contains(position) ? operations[position] : nil
  }

  /// Writes that wrote all their bytes but returned an error.
  var wholeFailedWrites: [DiskOperation] { operations.filter { wholeFailedNumbers.contains($0.index) } }

  // MARK: Changes

  /// Appends a change of the current call. Throws if the disk stops before it.
  mutating func record(_ change: DiskOperation.Change, _ path: String) throws(SystemError) {
    try checkRunning("change", path)
    append(change, path, caller)
  }

  /// Appends an external change, which a stopped disk does not refuse.
  mutating func recordFromOutside(_ change: DiskOperation.Change, _ path: String) { append(change, path, nil) }

  private mutating func append(_ change: DiskOperation.Change, _ path: String, _ site: CallSite?) {
    operations.append(DiskOperation(index: operationCount, path: path, change: change, site: site, thread: .current))
  }

  /// Notes that the last operation wrote all its bytes although the write returns an error.
  mutating func noteWholeFailedWrite() { wholeFailedNumbers.insert(operationCount - 1) }

  /// Drops the operations so far. Unsynced changes stay unsynced.
  mutating func fold() {
    initial = state(after: operationCount)
    operations = []
  }

  // MARK: Stops

  /// After this many operations the disk stops; nil resumes.
  mutating func stop(after count: Int?) { stopsAfter = count }

  var isStopped: Bool { stopsAfter.map { operationCount >= $0 } ?? false }

  func checkRunning(_ operation: @autoclosure () -> String, _ path: String) throws(SystemError) {
    if isStopped { throw SystemError(code: ErrorCode.inputOutput, operation: operation(), path: path) }
  }
}
