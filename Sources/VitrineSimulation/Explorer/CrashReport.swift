/// What an exploration has seen.
public struct CrashReport: Sendable {
  /// One workload's part.
  public struct Workload: Sendable {
    public var name: String
    public var rounds = 0
    /// Those of them of which nothing can be said, since the order of what several threads did is not known.
    public var roundsLeftOut = 0
    /// Distinct durable images looked at, which no other workload had come to: those that differ in nothing but the bytes of what was
    /// written are one.
    public var states = 0
    /// Looks at them: an image is looked at again where something else is expected of it.
    public var looks = 0
    /// Moments of its first round, each behind an operation of the disk; and how many of them were cut off in all the ways
    /// that there are.
    public var moments = 0
    public var momentsCut = 0
    /// Faults that struck.
    public var faults = 0
    /// Calls that its first round makes to the disk when nothing goes wrong.
    public var calls = 0
    /// How many of them have gone wrong, each in a run of its own.
    public var callsStruck = 0
    /// In how many ways all of them together can go wrong, and how many of those were tried.
    public var ways = 0
    public var waysTried = 0
    /// Whether its disk fails by its own plan, and no other faults come.
    public var hasOwnFaults = false
    /// Whether further rounds gave no image that was not seen.
    public var hasRunDry = false
  }

  /// A call of the engine that changes the disk, and in how many states such a call was the last that was complete, or the first that was
  /// not. Of some that were made there may be none.
  public struct CallSite: Sendable {
    /// The line of the engine, such as `WAL.swift:54`; empty for what others did to the disk.
    public var source: String
    /// Such as `sync`, `store`.
    public var operation: String
    /// Such as `wal/*`, `segments/*`, `checkpoints/*`, `STORE`.
    public var file: String
    public var cutBefore = 0
    public var cutAfter = 0
  }

  /// Of the explorer; with it, ``CrashExplorer/repeat(_:)`` finds a violation again.
  public var seed: UInt64
  /// In the explorer's order.
  public var workloads: [Workload]
  /// States in which the recovery from a state was cut off in turn.
  public var doubleCrashes = 0
  /// Recoveries that did something different each, and were cut off behind every one of their operations.
  public var recoveries = 0
  /// Others that were not, because by then there were as many double crashes as looks.
  public var recoveriesLeftOut = 0
  public var callSites: [CallSite] = []
  /// Faults that struck, by the call to the disk and what became of it, or by what others did.
  public var faultsByKind: [String: Int] = [:]
  /// How many times two struck in one run.
  public var faultPairs = 0
  public var violations: [CrashViolation] = []
  /// So far.
  public var seconds = 0.0
  /// What was aimed at.
  public var statesWanted: Int
  public var faultsWanted: Int

  /// Over all workloads.
  public var states: Int { workloads.reduce(0) { $0 + $1.states } }
  /// Over all workloads.
  public var roundsLeftOut: Int { workloads.reduce(0) { $0 + $1.roundsLeftOut } }
  /// Over all workloads.
  public var looks: Int { workloads.reduce(0) { $0 + $1.looks } }
  /// Over all workloads.
  public var faults: Int { workloads.reduce(0) { $0 + $1.faults } }
  /// Over all workloads.
  public var calls: Int { workloads.reduce(0) { $0 + $1.calls } }
  /// Over all workloads.
  public var callsStruck: Int { workloads.reduce(0) { $0 + $1.callsStruck } }
  /// Over all workloads.
  public var moments: Int { workloads.reduce(0) { $0 + $1.moments } }
  /// Over all workloads.
  public var momentsCut: Int { workloads.reduce(0) { $0 + $1.momentsCut } }
  /// Over all workloads.
  public var ways: Int { workloads.reduce(0) { $0 + $1.ways } }
  /// Over all workloads.
  public var waysTried: Int { workloads.reduce(0) { $0 + $1.waysTried } }

  /// Of each workload, unless its share is smaller.
  static let fewestStates = 5000

  /// What was aimed at and not reached, a line each; empty when all was.
  public var shortfalls: [String] {
    var lines: [String] = []
    if states < statesWanted { lines.append("\(states) states of \(statesWanted)") }
    if faults < faultsWanted { lines.append("\(faults) faults of \(faultsWanted)") }
    let fewest = min(CrashReport.fewestStates, statesWanted / max(1, workloads.count))
    for workload in workloads where workload.states < fewest {
      let why = workload.hasRunDry ? ", and has no more" : ""
      lines.append("\(workload.name): \(workload.states) states of \(fewest)\(why)")
    }
    for workload in workloads where needsEachCall(workload) && workload.callsStruck < workload.calls {
      lines.append("\(workload.name): \(workload.callsStruck) of \(workload.calls) calls struck")
    }
    return lines
  }

  /// Whether each call of its first round is to go wrong: where there are no more than three times its share of the faults.
  func needsEachCall(_ workload: Workload) -> Bool {
    workload.calls <= 3 * (faultsWanted / max(1, workloads.count))
  }

  /// Workloads that had no state or no fault of those that were aimed at, a line each.
  public var untouched: [String] {
    workloads.flatMap { workload in
      (workload.states == 0 && statesWanted > 0 ? ["\(workload.name): no state"] : [])
        + (workload.faults == 0 && faultsWanted > 0 && !workload.hasOwnFaults ? ["\(workload.name): no fault"] : [])
    }
  }
}

/// A state in which something was not as promised.
public struct CrashViolation: Sendable {
  /// Names it, for ``CrashExplorer/repeat(_:)``.
  public let place: String
  /// What was wrong.
  public let text: String
  /// What was asked of the store until then, and what it last did to the disk, oldest first.
  public let story: [String]
}
