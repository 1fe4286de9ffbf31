import Dispatch
import Vitrine

/// Runs workloads on a simulated disk, and inspects the store in the states that faults could leave: a loss of
/// power, the death of the process, faults of the disk alone and in pairs, damage of a closed store, and external
/// changes of disk, folder and clock. It checks that the store opens, has everything it promised and nothing else,
/// and continues to work.
///
/// Seed, workload and round number determine a round, so every violation can be repeated.
public struct CrashExplorer: Sendable {
  /// Each workload gets an equal share of states and faults.
  public var workloads: [CrashWorkload]
  /// The seed of all random choices. Equal seeds give equal rounds.
  public var seed: UInt64
  /// The number of distinct durable images to inspect, over all workloads. Disks that differ only in written bytes
  /// count as one.
  public var states: Int
  /// The number of disk faults to inject, over all workloads.
  public var faults: Int
  /// The time limit in seconds; nil for none.
  public var seconds: Double?
  /// Whether the exploration goes on after the time limit with the workloads that have no state or no fault yet, until
  /// each has one. Then the result does not depend on how fast the machine is.
  public var touchesAll = false
  /// The number of rounds that run at once, one of them on the caller's thread. A number above that of the processors
  /// gains nothing.
  public var threads: Int

  /// Makes an explorer. The exploration begins with its run.
  public init(
    workloads: [CrashWorkload] = CrashWorkload.all, seed: UInt64, states: Int = 20_000, faults: Int = 2_000,
    seconds: Double? = nil, threads: Int = 2
  ) {
    self.workloads = workloads
    self.seed = seed
    self.states = states
    self.faults = faults
    self.seconds = seconds
    self.threads = max(1, threads)
  }

  /// Explores on the caller's thread and others, and blocks until the numbers are reached, the time is over, or
  /// `progress` returns false. `progress` is called a few times a second, by any of the threads but never by two at
  /// once. Each thread calls `watch` before each inspection, with its number (below ``threads``) and the place: if
  /// the inspection traps or never ends, ``repeat(_:)`` finds the place again. A nil place means that the thread has
  /// finished a task.
  public func run(
    progress: @escaping @Sendable (CrashReport) -> Bool = { _ in true },
    watch: @escaping @Sendable (_ thread: Int, _ place: String?) -> Void = { _, _ in }
  ) -> CrashReport {
    let board = ExplorationBoard(self, progress: progress)
    DispatchQueue.concurrentPerform(iterations: threads) { thread in
      while let task = board.next() {
        explore(task, board) { watch(thread, "\($0)") }
        watch(thread, nil)
      }
    }
    return board.report()
  }

  private func explore(
    _ task: ExplorationBoard.Task, _ board: ExplorationBoard, _ enter: @escaping (CrashPlace) -> Void
  ) {
    let workload = workloads[task.workload]
    let seed = workload.seed(seed, round: task.round)
    switch task.kind {
    case .crashes:
      CrashRound(workload: workload, round: task.round, seed: seed, board: board, enter: enter).run(task)
    case .faults:
      FaultRound(workload: workload, round: task.round, seed: seed, board: board, enter: enter).run(task)
    }
  }

  /// Repeats the inspection of the state or the fault that a violation names (``CrashViolation/place``), with this
  /// explorer's seed and workloads. Returns nil if nothing is wrong there any more. Throws `invalidArgument` for a
  /// place that does not exist. Takes as long as a round and an inspection.
  public func `repeat`(_ place: String) throws -> CrashViolation? {
    guard let place = CrashPlace(place), let workload = workloads.first(where: { $0.name == place.workload }) else {
      throw StoreError.invalidArgument("no workload and place is named \(place)")
    }
    let seed = workload.seed(seed, round: place.round)
    let wrong: (text: String, story: [String])?
    switch place.event {
    case .crash(let first, let second, let verification):
      wrong = CrashRound(workload: workload, round: place.round, seed: seed, board: nil)
        .look(first, second, verification)
    case .fault(let misfortunes, let promisesAllocation):
      wrong = FaultRound(workload: workload, round: place.round, seed: seed, board: nil)
        .look(misfortunes, promisesAllocation: promisesAllocation)
    }
    return wrong.map { CrashViolation(place: "\(place)", text: $0.text, story: $0.story) }
  }
}
