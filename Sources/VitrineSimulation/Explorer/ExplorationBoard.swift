import Vitrine

/// The open and finished tasks of an exploration, shared by all its threads.
final class ExplorationBoard: Sendable {
  struct Task {
    enum Kind { case crashes, faults }
    let kind: Kind
    let workload: Int
    let round: Int
    /// A round of crashes is done in passes; each interrupts a part of the operations. Nil for the first pass,
    /// which determines their number.
    var pass: (number: Int, count: Int)?
    /// A round of faults is done in parts; each tries a part of the possible faults.
    var part = 0
  }

  private struct State {
    var report: CrashReport
    /// By workload.
    var backlogs: [WorkloadBacklog]
    var images = InspectedImages()
    var recoveries = InterruptedRecoveries()
    var calls = CoveredCalls()
    var isStopped = false
    var lastProgress: UInt64

    mutating func runDry(_ workload: Int) {
      report.workloads[workload].hasRunDry = true
      backlogs[workload].dropPasses()
    }
  }

  private let state: Guarded<State>
  private let time: ExplorationTime
  private let statesEach: Int
  private let faultsEach: Int
  private let touchesAll: Bool
  /// The order of the workloads' turns if none is behind, so that no workload is always last.
  private let order: [Int]
  private let progress: @Sendable (CrashReport) -> Bool
  /// Ensures that `progress` is never called twice at once.
  private let telling = Guarded(())

  init(_ explorer: CrashExplorer, progress: @escaping @Sendable (CrashReport) -> Bool) {
    self.progress = progress
    time = ExplorationTime(seconds: explorer.seconds)
    touchesAll = explorer.touchesAll
    let count = max(1, explorer.workloads.count)
    func share(_ wanted: Int, of count: Int) -> Int {
      max(0, wanted) / count + (wanted > 0 && wanted % count > 0 ? 1 : 0)
    }
    statesEach = share(explorer.states, of: count)
    faultsEach = share(explorer.faults, of: max(1, explorer.workloads.count { !$0.hasFaults }))
    var numbers = SplitMix64(seed: explorer.seed)
    order = explorer.workloads.indices.shuffled(using: &numbers)
    let report = CrashReport(
      seed: explorer.seed,
      workloads: explorer.workloads.map { CrashReport.Workload(name: $0.name, hasOwnFaults: $0.hasFaults) },
      statesWanted: max(0, explorer.states), faultsWanted: max(0, explorer.faults))
    let backlogs = explorer.workloads.enumerated().map { WorkloadBacklog(workload: $0, hasNoFaults: $1.hasFaults) }
    state = Guarded(State(report: report, backlogs: backlogs, lastProgress: time.began))
  }

  private static let mostViolations = 20

  private func isOver(_ state: State) -> Bool { isEnded(state) || time.isOver }

  private func isEnded(_ state: State) -> Bool {
    state.isStopped || state.report.violations.count >= ExplorationBoard.mostViolations
  }

  /// Whether a workload gets no more states, or no more faults. After the time limit, ``CrashExplorer/touchesAll``
  /// decides.
  private func isOver(_ state: State, _ kind: Task.Kind, _ index: Int) -> Bool {
    if isEnded(state) { return true }
    if !time.isOver { return false }
    let workload = state.report.workloads[index]
    return !touchesAll || (kind == .crashes ? workload.states : workload.faults) > 0
  }

  /// Returns a task of the workload that is furthest behind, crashes and faults in turn; nil if all is done.
  func next() -> Task? {
    state.withLock { state in
      let workloads = state.report.workloads
      var best: (share: Double, task: Task)?
      for index in order {
        if statesEach > 0, !workloads[index].hasRunDry, workloads[index].states < statesEach,
          !isOver(state, .crashes, index)
        {
          let share = Double(workloads[index].states) / Double(statesEach)
          if share < best?.share ?? 1 {
            best = (share, state.backlogs[index].nextCrashes(newRound: workloads[index].rounds))
          }
        }
        if faultsEach > 0, !state.backlogs[index].hasNoFaultsLeft, wantsFaults(state, index),
          !isOver(state, .faults, index)
        {
          let share = min(Double(workloads[index].faults) / Double(faultsEach), 0.99)
          if share < best?.share ?? 1 {
            best = (share, state.backlogs[index].nextFaults)
          }
        }
      }
      guard let task = best?.task else { return nil }
      switch task.kind {
      case .crashes where task.pass == nil: state.report.workloads[task.workload].rounds += 1
      case .crashes: state.backlogs[task.workload].takePass()
      case .faults: state.backlogs[task.workload].takeFaults()
      }
      return task
    }
  }

  var isOver: Bool { state.withLock { isOver($0) } }

  func isWanted(_ workload: Int) -> Bool {
    state.withLock { !isOver($0, .crashes, workload) && $0.report.workloads[workload].states < statesEach }
  }

  func wantsFaults(_ workload: Int) -> Bool {
    state.withLock { !isOver($0, .faults, workload) && wantsFaults($0, workload) }
  }

  /// Whether a workload has fewer faults than its share, or has calls of its first round that must still fail once.
  private func wantsFaults(_ state: State, _ index: Int) -> Bool {
    let workload = state.report.workloads[index]
    return workload.faults < faultsEach
      || state.report.needsEachCall(workload) && workload.callsStruck < workload.calls
        && state.backlogs[index].nextFaults.round == 0
  }

  /// The number of operations that one pass interrupts.
  private static let cutsOfPass = 20
  /// The estimated number of images per interruption.
  private static let imagesOfCut = 6

  /// Divides a round into passes, so that the first pass, or an unfinished round, is a sample of the whole. Enters
  /// all passes but the first. Returns the number of passes.
  func divide(_ task: Task, cuts: Int) -> Int {
    state.withLock { state in
      let missing = statesEach - state.report.workloads[task.workload].states
      let most = max(1, min(ExplorationBoard.cutsOfPass, missing / ExplorationBoard.imagesOfCut))
      let count = (cuts + most - 1) / most
      state.backlogs[task.workload].addPasses(round: task.round, count: count)
      return count
    }
  }

  /// Ends a pass that found this many new images.
  func endPass(_ workload: Int, newImages: Int) {
    state.withLock { state in
      if isOver(state, .crashes, workload) { return }
      if state.backlogs[workload].endPass(newImages: newImages) { state.runDry(workload) }
    }
  }

  /// Notes a round without a verdict, since the order of the changes of several threads is not known.
  func noteUncertain(_ workload: Int) { state.withLock { $0.report.workloads[workload].roundsLeftOut += 1 } }

  /// Notes that further rounds give nothing new.
  func giveUpStates(_ workload: Int) { state.withLock { $0.runDry(workload) } }
  func giveUpFaults(_ workload: Int) { state.withLock { $0.backlogs[workload].dropFaults() } }

  /// Ends a part of a round of faults, in which this many struck. `isLast`: it was the last part, or lies behind
  /// it.
  func endPart(_ task: Task, struck: Int, isLast: Bool) {
    state.withLock { $0.backlogs[task.workload].endPart(task, struck: struck, isLast: isLast) }
  }

  /// Notes that this many more moments of a workload's first round were interrupted in all ways.
  func noteMoments(_ workload: Int, of count: Int, cut: Int) {
    state.withLock {
      $0.report.workloads[workload].moments = count
      $0.report.workloads[workload].momentsCut += max(0, cut)
    }
  }

  /// Notes the number of calls that the first round of a workload makes, and of the ways in which they can fail.
  func noteCalls(_ count: Int, ways: Int, _ workload: Int) {
    state.withLock {
      $0.report.workloads[workload].calls = count
      $0.report.workloads[workload].ways = ways
    }
  }
  /// Counts one of these ways as tried.
  func countWay(_ workload: Int) { state.withLock { $0.report.workloads[workload].waysTried += 1 } }
  /// Counts a call that has failed for the first time.
  func countCall(_ workload: Int) { state.withLock { $0.report.workloads[workload].callsStruck += 1 } }

  /// Enters a state. Returns whether its image is new; nil if it was inspected already with the same expectations.
  func enter(_ workload: Int, _ crash: Crash) -> Bool? {
    let isNew = state.withLock { state -> Bool? in
      let isNew = state.images.enter(crash.fingerprint, workload: workload, expected: crash.expected)
      guard let isNew else { return nil }
      state.report.workloads[workload].looks += 1
      if isNew { state.report.workloads[workload].states += 1 }
      return isNew
    }
    if isNew != nil { tell() }
    return isNew
  }

  /// The share of the time limit in which all numbers should be reached.
  private static let shareOfTime = 0.85

  /// Returns the present limit of double crashes: the number of inspections, or a quarter of it if states and faults
  /// are behind schedule.
  private func mostDoubleCrashes(_ report: CrashReport) -> Int {
    guard let passed = time.share else { return report.looks }
    func share(_ count: Int, _ wanted: Int) -> Double { wanted == 0 ? 1 : Double(count) / Double(wanted) }
    let done = min(share(report.states, report.statesWanted), share(report.faults, report.faultsWanted))
    return passed < done * ExplorationBoard.shareOfTime ? report.looks : report.looks / 4
  }

  /// Whether another recovery may still be interrupted.
  var hasRoomForRecovery: Bool { state.withLock { $0.report.doubleCrashes < mostDoubleCrashes($0.report) } }

  /// Enters the operations of a recovery. Returns false if another one did the same to the same files in the same
  /// order. Also returns false if this one has to wait, because `count` more double crashes would be too many.
  func enterRecovery(_ workload: Int, _ operations: [DiskOperation], _ count: Int) -> Bool {
    let shape = InterruptedRecoveries.Shape(operations, workload: workload)
    return state.withLock { state in
      guard state.report.doubleCrashes + count <= mostDoubleCrashes(state.report) else {
        state.recoveries.leaveOut(shape)
        return false
      }
      guard state.recoveries.enter(shape) else { return false }
      state.report.recoveries += 1
      return true
    }
  }

  func hasSeenRecovery(_ workload: Int, _ operations: [DiskOperation]) -> Bool {
    let shape = InterruptedRecoveries.Shape(operations, workload: workload)
    return state.withLock { $0.recoveries.contains(shape) }
  }

  /// Enters the calls of these operations, and counts the inspected states just before and just after each. `cuts` has
  /// the number of states for each number of complete operations.
  func cover(_ operations: [DiskOperation], _ cuts: [Int: Int]) {
    state.withLock { $0.calls.cover(operations, cuts) }
  }

  func countDoubleCrash() {
    state.withLock { $0.report.doubleCrashes += 1 }
    tell()
  }

  func count(_ misfortunes: [Misfortune], _ workload: Int) {
    state.withLock { state in
      state.report.workloads[workload].faults += misfortunes.count
      if misfortunes.count == 2 { state.report.faultPairs += 1 }
      for misfortune in misfortunes { state.report.faultsByKind[misfortune.kind, default: 0] += 1 }
    }
    tell()
  }

  func add(_ violation: CrashViolation) { state.withLock { $0.report.violations.append(violation) } }

  func report() -> CrashReport {
    state.withLock { state in
      var report = state.report
      report.seconds = time.seconds
      report.recoveriesLeftOut = state.recoveries.leftOutCount
      report.callSites = state.calls.sorted
      return report
    }
  }

  private func tell() {
    let now = time.now
    let isDue = state.withLock { state in
      // Another thread may have read the clock later and arrived here earlier.
      guard now > state.lastProgress, now - state.lastProgress > 250_000_000 else { return false }
      state.lastProgress = now
      return true
    }
    if isDue, !telling.withLock({ _ in progress(report()) }) { state.withLock { $0.isStopped = true } }
  }
}
