/// The tasks of one workload that are left, and the signs that further ones give nothing new.
struct WorkloadBacklog {
  private let workload: Int
  /// The passes left of begun rounds of crashes. The last element is next.
  private var passes: [ExplorationBoard.Task] = []
  /// The number of consecutive passes without a new image.
  private var barrenPasses = 0
  private(set) var nextFaults: ExplorationBoard.Task
  /// The number of consecutive parts in which no fault struck.
  private var barrenParts = 0
  private(set) var hasNoFaultsLeft: Bool

  /// After this many consecutive passes without a new image, a workload has no more.
  private static let mostBarrenPasses = 30
  /// After this many consecutive parts in which no fault struck, none is left.
  private static let mostBarrenParts = 30

  init(workload: Int, hasNoFaults: Bool) {
    self.workload = workload
    nextFaults = ExplorationBoard.Task(kind: .faults, workload: workload, round: 0)
    hasNoFaultsLeft = hasNoFaults
  }

  // MARK: Crashes

  /// Returns the next pass, or the first one of a new round.
  func nextCrashes(newRound round: Int) -> ExplorationBoard.Task {
    passes.last ?? ExplorationBoard.Task(kind: .crashes, workload: workload, round: round)
  }

  mutating func takePass() { passes.removeLast() }

  /// Adds the passes of a round that follow its first one.
  mutating func addPasses(round: Int, count: Int) {
    for number in (1..<max(count, 1)).reversed() {
      passes.append(
        ExplorationBoard.Task(kind: .crashes, workload: workload, round: round, pass: (number, count)))
    }
  }

  /// Ends a pass that found this many new images. Returns whether to drop further passes.
  mutating func endPass(newImages: Int) -> Bool {
    barrenPasses = newImages > 0 ? 0 : barrenPasses + 1
    return barrenPasses >= WorkloadBacklog.mostBarrenPasses
  }

  mutating func dropPasses() { passes = [] }

  // MARK: Faults

  mutating func takeFaults() { nextFaults.part += 1 }

  /// Ends a part of a round of faults, in which this many struck. `isLast`: it was the last part, or lies behind it.
  mutating func endPart(_ task: ExplorationBoard.Task, struck: Int, isLast: Bool) {
    barrenParts = struck > 0 ? 0 : barrenParts + 1
    if barrenParts >= WorkloadBacklog.mostBarrenParts { hasNoFaultsLeft = true }
    if isLast, nextFaults.round == task.round {
      nextFaults = ExplorationBoard.Task(kind: .faults, workload: workload, round: task.round + 1)
    }
  }

  mutating func dropFaults() { hasNoFaultsLeft = true }
}
