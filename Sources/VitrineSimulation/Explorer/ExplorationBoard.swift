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
    /// The inspected images, and the same with the expectations.
    var images: Set<UInt64> = []
    var looks: Set<UInt64> = []
    /// By workload: passes of the rounds that were begun, and the number of consecutive passes without a new image.
    var passes: [[Task]]
    var barrenPasses: [Int]
    var seenRecoveries: Set<UInt64> = []
    var waitingRecoveries: Set<UInt64> = []
    var sites: [Site: CrashReport.CallSite] = [:]
    /// By workload: the next task of faults, the number of consecutive parts in which no fault struck, and whether
    /// no fault is left.
    var faultTasks: [Task]
    var barrenParts: [Int]
    var hasNoFaultsLeft: [Bool]
    var isStopped = false
    var lastProgress: UInt64

    mutating func runDry(_ workload: Int) {
      report.workloads[workload].hasRunDry = true
      passes[workload] = []
    }
  }

  private let state: Guarded<State>
  private let began: UInt64
  private let deadline: UInt64
  private let statesEach: Int
  private let faultsEach: Int
  private let touchesAll: Bool
  /// The order of the workloads' turns if none is behind, so that no workload is always last.
  private let order: [Int]
  private let progress: @Sendable (CrashReport) -> Bool
  /// Ensures that `progress` is never called twice at once.
  private let telling = Guarded(())
  private let clock = Environment.posix.clock

  init(_ explorer: CrashExplorer, progress: @escaping @Sendable (CrashReport) -> Bool) {
    self.progress = progress
    let began = clock.monotonicNanoseconds()
    self.began = began
    deadline = explorer.seconds.map { began + UInt64(max(0, min($0, 1e9)) * 1e9) } ?? .max
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
    state = Guarded(
      State(
        report: report, passes: explorer.workloads.map { _ in [] }, barrenPasses: explorer.workloads.map { _ in 0 },
        faultTasks: explorer.workloads.indices.map { Task(kind: .faults, workload: $0, round: 0) },
        barrenParts: explorer.workloads.map { _ in 0 }, hasNoFaultsLeft: explorer.workloads.map(\.hasFaults),
        lastProgress: began))
  }

  private static let mostViolations = 20

  private func isOver(_ state: State) -> Bool { isEnded(state) || clock.monotonicNanoseconds() >= deadline }

  private func isEnded(_ state: State) -> Bool {
    state.isStopped || state.report.violations.count >= ExplorationBoard.mostViolations
  }

  /// Whether a workload gets no more states, or no more faults. After the time limit, ``CrashExplorer/touchesAll``
  /// decides.
  private func isOver(_ state: State, _ kind: Task.Kind, _ index: Int) -> Bool {
    if isEnded(state) { return true }
    if clock.monotonicNanoseconds() < deadline { return false }
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
            let first = Task(kind: .crashes, workload: index, round: workloads[index].rounds)
            best = (share, state.passes[index].last ?? first)
          }
        }
        if faultsEach > 0, !state.hasNoFaultsLeft[index], wantsFaults(state, index), !isOver(state, .faults, index) {
          let share = min(Double(workloads[index].faults) / Double(faultsEach), 0.99)
          if share < best?.share ?? 1 {
            best = (share, state.faultTasks[index])
          }
        }
      }
      guard let task = best?.task else { return nil }
      switch task.kind {
      case .crashes where task.pass == nil: state.report.workloads[task.workload].rounds += 1
      case .crashes: state.passes[task.workload].removeLast()
      case .faults: state.faultTasks[task.workload].part += 1
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

  /// Whether a workload lacks faults of its share, or calls of its first round that have to fail.
  private func wantsFaults(_ state: State, _ index: Int) -> Bool {
    let workload = state.report.workloads[index]
    return workload.faults < faultsEach
      || state.report.needsEachCall(workload) && workload.callsStruck < workload.calls
        && state.faultTasks[index].round == 0
  }

  /// The number of operations that one pass interrupts.
  private static let cutsOfPass = 20
  /// The estimated number of images per interruption.
  private static let imagesOfCut = 6
  /// After this many consecutive passes without a new image, a workload has no more.
  private static let mostBarrenPasses = 30

  /// Divides a round into passes, so that the first pass, or an unfinished round, is a sample of the whole. Enters
  /// all passes but the first. Returns the number of passes.
  func divide(_ task: Task, cuts: Int) -> Int {
    state.withLock { state in
      let missing = statesEach - state.report.workloads[task.workload].states
      let most = max(1, min(ExplorationBoard.cutsOfPass, missing / ExplorationBoard.imagesOfCut))
      let count = (cuts + most - 1) / most
      for number in (1..<max(count, 1)).reversed() {
        state.passes[task.workload].append(
          Task(kind: .crashes, workload: task.workload, round: task.round, pass: (number, count)))
      }
      return count
    }
  }

  /// Ends a pass that found this many new images.
  func endPass(_ workload: Int, newImages: Int) {
    state.withLock { state in
      if isOver(state, .crashes, workload) { return }
      state.barrenPasses[workload] = newImages > 0 ? 0 : state.barrenPasses[workload] + 1
      if state.barrenPasses[workload] >= ExplorationBoard.mostBarrenPasses { state.runDry(workload) }
    }
  }

  /// Notes a round without a verdict, since the order of the changes of several threads is not known.
  func noteUncertain(_ workload: Int) { state.withLock { $0.report.workloads[workload].roundsLeftOut += 1 } }

  /// Notes that further rounds give nothing new.
  func giveUpStates(_ workload: Int) { state.withLock { $0.runDry(workload) } }
  func giveUpFaults(_ workload: Int) { state.withLock { $0.hasNoFaultsLeft[workload] = true } }

  /// After this many consecutive parts in which no fault struck, none is left.
  private static let mostBarrenParts = 30

  /// Ends a part of a round of faults, in which this many struck. `isLast`: it was the last part, or lies behind
  /// it.
  func endPart(_ task: Task, struck: Int, isLast: Bool) {
    state.withLock { state in
      let workload = task.workload
      state.barrenParts[workload] = struck > 0 ? 0 : state.barrenParts[workload] + 1
      if state.barrenParts[workload] >= ExplorationBoard.mostBarrenParts { state.hasNoFaultsLeft[workload] = true }
      if isLast, state.faultTasks[workload].round == task.round {
        state.faultTasks[workload] = Task(kind: .faults, workload: workload, round: task.round + 1)
      }
    }
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
      let look = mixed(mixed(crash.fingerprint, UInt64(workload)), UInt64(crash.expected))
      guard state.looks.insert(look).inserted else { return nil }
      state.report.workloads[workload].looks += 1
      // Two workloads may reach the same disk.
      let isNew = state.images.insert(crash.fingerprint).inserted
      if isNew { state.report.workloads[workload].states += 1 }
      return isNew
    }
    if isNew != nil { tell() }
    return isNew
  }

  /// The share of the time limit in which all numbers should be reached.
  private static let shareOfTime = 0.85

  /// Returns the most double crashes so far: as many as inspections, or a quarter of that if states and faults are
  /// behind the time.
  private func mostDoubleCrashes(_ report: CrashReport) -> Int {
    guard deadline != .max else { return report.looks }
    func share(_ count: Int, _ wanted: Int) -> Double { wanted == 0 ? 1 : Double(count) / Double(wanted) }
    let done = min(share(report.states, report.statesWanted), share(report.faults, report.faultsWanted))
    let passed = Double(clock.monotonicNanoseconds() - began) / Double(deadline - began)
    return passed < done * ExplorationBoard.shareOfTime ? report.looks : report.looks / 4
  }

  /// Whether another recovery may still be interrupted.
  var hasRoomForRecovery: Bool { state.withLock { $0.report.doubleCrashes < mostDoubleCrashes($0.report) } }

  /// Enters the operations of a recovery. Returns false if another one did the same to the same files in the same
  /// order. Also returns false if this one has to wait, because `count` more double crashes would be too many.
  func enterRecovery(_ workload: Int, _ operations: [DiskOperation], _ count: Int) -> Bool {
    let shape = shape(operations, workload)
    return state.withLock { state in
      guard state.report.doubleCrashes + count <= mostDoubleCrashes(state.report) else {
        if !state.seenRecoveries.contains(shape) { state.waitingRecoveries.insert(shape) }
        return false
      }
      guard state.seenRecoveries.insert(shape).inserted else { return false }
      state.waitingRecoveries.remove(shape)
      state.report.recoveries += 1
      return true
    }
  }

  func hasSeenRecovery(_ workload: Int, _ operations: [DiskOperation]) -> Bool {
    let shape = shape(operations, workload)
    return state.withLock { $0.seenRecoveries.contains(shape) }
  }

  private func shape(_ operations: [DiskOperation], _ workload: Int) -> UInt64 {
    operations.reduce(UInt64(bitPattern: Int64(workload))) { shape, operation in
      "\(operation.name) \(operation.fileClass)".utf8.reduce(mixed(shape, 1)) { mixed($0, UInt64($1)) }
    }
  }

  /// Enters the calls of these operations, and counts the inspected states just before and just after each. `cuts` has
  /// the number of states for each number of complete operations.
  func cover(_ operations: [DiskOperation], _ cuts: [Int: Int]) {
    state.withLock { state in
      for operation in operations {
        let (before, behind) = (cuts[operation.index] ?? 0, cuts[operation.index + 1] ?? 0)
        let site = Site(operation)
        state.sites[site, default: CrashReport.CallSite(site)].cutBefore += before
        state.sites[site, default: CrashReport.CallSite(site)].cutAfter += behind
      }
    }
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
      report.seconds = Double(clock.monotonicNanoseconds() - began) / 1e9
      report.recoveriesLeftOut = state.waitingRecoveries.count
      report.callSites = state.sites.sorted { $0.key < $1.key }.map(\.value)
      return report
    }
  }

  private func tell() {
    let now = clock.monotonicNanoseconds()
    let isDue = state.withLock { state in
      // Another thread may have read the clock later and arrived here earlier.
      guard now > state.lastProgress, now - state.lastProgress > 250_000_000 else { return false }
      state.lastProgress = now
      return true
    }
    if isDue, !telling.withLock({ _ in progress(report()) }) { state.withLock { $0.isStopped = true } }
  }
}

/// The unit of counting: one call of the engine on one kind of files.
private struct Site: Hashable, Comparable {
  let source: CallSite?
  let operation: String
  let file: String

  init(_ operation: DiskOperation) {
    source = operation.site
    self.operation = operation.name
    file = operation.fileClass
  }

  static func < (one: Site, other: Site) -> Bool { one.order < other.order }

  private var order: (String, Int, String, String) { (source?.file ?? "", source?.line ?? 0, file, operation) }
}

extension CrashReport.CallSite {
  fileprivate init(_ site: Site) {
    self.init(source: site.source.map { "\($0)" } ?? "", operation: site.operation, file: site.file)
  }
}

extension DiskOperation {
  /// The folder of the file, or the name of a single file.
  fileprivate var fileClass: String {
    let parts = path.split(separator: "/").dropFirst()
    guard let first = parts.first else { return "the folder" }
    return parts.count > 1 ? "\(first)/*" : isOfFolder ? "\(first)/" : String(first)
  }

  private var isOfFolder: Bool {
    switch change {
    case .syncDirectory, .createDirectory: true
    default: false
    }
  }
}
