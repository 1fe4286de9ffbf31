/// Disks that a loss of power during a recorded run could leave, one after the other, without repetition. At each
/// moment, the policies of a selection determine the disks.
///
/// The journal is read once. Iterate from one thread. To use two processors, make an exploration for each with its own
/// share of `moments`.
///
/// ```swift
/// for crash in disk.crashes(mixtures: 4, seed: seed) {
///   check(crash.disk(), acknowledgedAfter: crash.operationCount, "\(crash)")
/// }
/// ```
package struct CrashExploration: Sequence {
  private let journal: DiskJournal
  private let options: SimulatedDisk.Options
  private let moments: [Int]
  private let selection: PolicySelection
  private let expectation: @Sendable (Int) -> Int
  /// The journal by its ``DiskOperation/shapes(of:)``, if disks with equal shapes count as one.
  private let shapes: [DiskOperation]?

  init(
    _ journal: DiskJournal, options: SimulatedDisk.Options, moments: [Int], selection: PolicySelection,
    comparesShapes: Bool, expectation: @escaping @Sendable (Int) -> Int
  ) {
    self.journal = journal
    self.options = options
    self.moments = Set(moments.filter(journal.moments.contains)).sorted()
    self.selection = selection
    self.expectation = expectation
    shapes = comparesShapes ? DiskOperation.shapes(of: journal.operations) : nil
  }

  package func makeIterator() -> Iterator { Iterator(self) }

  package struct Iterator: IteratorProtocol {
    private let exploration: CrashExploration
    private var state: DiskState
    private var shape: DiskState
    private var shapeStates: CrashStates?
    private var nextMoment = 0
    private var states: CrashStates?
    private var policies: ArraySlice<CrashPolicy> = []
    private var seen: Set<UInt64> = []

    init(_ exploration: CrashExploration) {
      self.exploration = exploration
      state = exploration.journal.initial
      shape = exploration.journal.initial
    }

    package mutating func next() -> Crash? {
      while true {
        while let states, let policy = policies.popFirst() {
          let fingerprint = (shapeStates ?? states).surviving(policy).durableFingerprint
          // The expectations differ between moments, so one disk may be right at one and wrong at another.
          let expected = exploration.expectation(states.operationCount)
          if seen.insert(mixed(fingerprint, UInt64(bitPattern: Int64(expected)))).inserted {
            return Crash(
              last: exploration.journal.operation(before: states.operationCount), policy: policy,
              fingerprint: fingerprint,
              expected: expected, states: states)
          }
        }
        guard nextMoment < exploration.moments.count else { return nil }
        advance(to: exploration.moments[nextMoment])
        nextMoment += 1
      }
    }

    private mutating func advance(to moment: Int) {
      let first = exploration.journal.moments.lowerBound
      let range = (state.operationCount - first)..<(moment - first)
      for operation in exploration.journal.operations[range] { state.apply(operation) }
      if let shapes = exploration.shapes {
        for operation in shapes[range] { shape.apply(operation) }
        shapeStates = CrashStates(shape, options: exploration.options)
      }
      let states = CrashStates(state, options: exploration.options)
      policies = states.policies(exploration.selection)[...]
      self.states = states
    }
  }
}

/// One loss of power: its moment, the surviving changes, and the disk it left.
package struct Crash: Sendable, CustomStringConvertible {
  /// The last operation that was complete; nil before the first.
  package let last: DiskOperation?
  package let policy: CrashPolicy
  /// Equal for disks that cannot be told apart. With compared shapes, the written bytes may differ.
  package let fingerprint: UInt64
  /// The number of the expectations at that moment.
  package let expected: Int
  /// All disks that a crash at the same moment could leave.
  package let states: CrashStates

  /// The number of complete operations.
  package var operationCount: Int { states.operationCount }

  /// A new disk at each call.
  package func disk() -> SimulatedDisk { states.disk(policy) }

  /// Enough to make the disk again: `disk.crashStates(after:).disk(policy)`.
  package var description: String {
    "power lost after \(operationCount) operations (\(last?.description ?? "none")): \(policy)"
  }
}
