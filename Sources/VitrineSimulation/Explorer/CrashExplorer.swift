import Dispatch
import Vitrine

/// Runs workloads on a simulated disk, and looks at the store in the states that a loss of power, the death of the process,
/// faults of the disk alone and in pairs, damage at rest and what others do to disk, folder and clock could leave: does it
/// open, is everything there that was promised and nothing that was not, does it go on working?
///
/// What a round does follows from seed, workload and round, so every violation can be repeated.
public struct CrashExplorer: Sendable {
  /// Each gets its share of states and faults.
  public var workloads: [CrashWorkload]
  /// The same one gives the same rounds.
  public var seed: UInt64
  /// How many distinct durable images to look at, over all workloads. Disks count as one that differ only in the bytes of
  /// what was written.
  public var states: Int
  /// How many faults of the disk to inject, over all workloads.
  public var faults: Int
  /// Stops after so many seconds, whatever is left. Nil: never.
  public var seconds: Double?
  /// How many rounds run at once, the caller's thread among them; more than there are processors gain nothing.
  public var threads: Int

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

  /// Explores, on the caller's thread and others, and blocks until the numbers are reached, the time is over, or
  /// `progress` says no. Progress is told a few times a second, by any of the threads but never by two at once. `watch` is
  /// told before each look, by each thread with its number (below ``threads``), where it is: should the look trap or never
  /// end, ``repeat(_:)`` finds the place again. Nil: it is done, or between two looks.
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

  /// Looks at the state or the fault again that a violation names (``CrashViolation/place``), which takes this explorer's
  /// seed and workloads. Nil: nothing is wrong there any more. Throws `invalidArgument` for what names nothing here. Takes
  /// as long as a round and a look.
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
