/// The results of an exploration.
public struct CrashReport: Sendable {
  /// The results of one workload.
  public struct Workload: Sendable {
    /// The name of the workload.
    public var name: String
    /// Rounds that were run, each with sizes and an order of its own.
    public var rounds = 0
    /// Rounds without a verdict, since the order of the changes of several threads is not known.
    public var roundsLeftOut = 0
    /// Distinct durable images that no other workload had reached; images that differ only in written bytes are
    /// one.
    public var states = 0
    /// The number of inspections. An image is inspected again if something else is expected of it.
    public var looks = 0
    /// The number of moments of its first round. Each follows an operation of the disk.
    public var moments = 0
    /// The number of these moments at which the power was lost in all possible ways.
    public var momentsCut = 0
    /// Faults that struck.
    public var faults = 0
    /// Calls that its first round makes to the disk without faults.
    public var calls = 0
    /// The number of these calls that failed, each in a separate run.
    public var callsStruck = 0
    /// The number of ways in which these calls can fail, over all calls.
    public var ways = 0
    /// The number of these ways that were tried.
    public var waysTried = 0
    /// Whether its disk fails by its own plan, and no other faults are injected.
    public var hasOwnFaults = false
    /// Whether further rounds gave no new image.
    public var hasRunDry = false
  }

  /// A call of the engine that changes the disk, and the number of states in which such a call was the last
  /// complete operation, or the first incomplete one. Some calls that were made may have no such state.
  public struct CallSite: Sendable {
    /// The line of the engine, such as `WAL.swift:54`; empty for external changes of the disk.
    public var source: String
    /// The name of the operation, for example `sync` or `store`.
    public var operation: String
    /// The kind of file, for example `wal/*`, `segments/*`, `checkpoints/*` or `STORE`.
    public var file: String
    /// States in which such a call was the first that was not complete.
    public var cutBefore = 0
    /// States in which such a call was the last that was complete.
    public var cutAfter = 0
  }

  /// The explorer's seed: with it, ``CrashExplorer/repeat(_:)`` finds a violation again.
  public var seed: UInt64
  /// The results of each workload, in the explorer's order.
  public var workloads: [Workload]
  /// The number of crashes that interrupted the recovery from another crash.
  public var doubleCrashes = 0
  /// Distinct recoveries that were interrupted after every one of their operations.
  public var recoveries = 0
  /// Other recoveries, left out because they would have exceeded the limit of double crashes. The limit is the number
  /// of inspections, or a quarter of it if states and faults are behind schedule.
  public var recoveriesLeftOut = 0
  /// Calls of the engine that change the disk, with the states that cut them off.
  public var callSites: [CallSite] = []
  /// Faults that struck, by the call to the disk and its result, or by the external event.
  public var faultsByKind: [String: Int] = [:]
  /// The number of runs in which two faults struck.
  public var faultPairs = 0
  /// Broken promises. Empty when the exploration found none.
  public var violations: [CrashViolation] = []
  /// The time so far.
  public var seconds = 0.0
  /// The requested number of states.
  public var statesWanted: Int
  /// The requested number of faults.
  public var faultsWanted: Int

  /// The sum of ``Workload/states`` over all workloads.
  public var states: Int { workloads.reduce(0) { $0 + $1.states } }
  /// The sum of ``Workload/roundsLeftOut`` over all workloads.
  public var roundsLeftOut: Int { workloads.reduce(0) { $0 + $1.roundsLeftOut } }
  /// The sum of ``Workload/looks`` over all workloads.
  public var looks: Int { workloads.reduce(0) { $0 + $1.looks } }
  /// The sum of ``Workload/faults`` over all workloads.
  public var faults: Int { workloads.reduce(0) { $0 + $1.faults } }
  /// The sum of ``Workload/calls`` over all workloads.
  public var calls: Int { workloads.reduce(0) { $0 + $1.calls } }
  /// The sum of ``Workload/callsStruck`` over all workloads.
  public var callsStruck: Int { workloads.reduce(0) { $0 + $1.callsStruck } }
  /// The sum of ``Workload/moments`` over all workloads.
  public var moments: Int { workloads.reduce(0) { $0 + $1.moments } }
  /// The sum of ``Workload/momentsCut`` over all workloads.
  public var momentsCut: Int { workloads.reduce(0) { $0 + $1.momentsCut } }
  /// The sum of ``Workload/ways`` over all workloads.
  public var ways: Int { workloads.reduce(0) { $0 + $1.ways } }
  /// The sum of ``Workload/waysTried`` over all workloads.
  public var waysTried: Int { workloads.reduce(0) { $0 + $1.waysTried } }

  /// The fewest states of each workload, unless its share is smaller.
  static let fewestStates = 5000

  /// The requested numbers that were not reached, a line each; empty if all were.
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

  /// Whether each call of a workload's first round has to fail once. This is required if these calls are at most three
  /// times the workload's share of the faults.
  func needsEachCall(_ workload: Workload) -> Bool {
    workload.calls <= 3 * (faultsWanted / max(1, workloads.count))
  }

  /// Workloads without any of the requested states or faults, a line each.
  public var untouched: [String] {
    workloads.flatMap { workload in
      (workload.states == 0 && statesWanted > 0 ? ["\(workload.name): no state"] : [])
        + (workload.faults == 0 && faultsWanted > 0 && !workload.hasOwnFaults ? ["\(workload.name): no fault"] : [])
    }
  }
}

/// A state that broke a promise.
public struct CrashViolation: Sendable {
  /// The name of the place, for ``CrashExplorer/repeat(_:)``.
  public let place: String
  /// The broken promise.
  public let text: String
  /// The requests to the store until then, and the last operations of the disk, oldest first.
  public let story: [String]
}
