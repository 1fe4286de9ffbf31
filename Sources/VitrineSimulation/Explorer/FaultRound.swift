import Vitrine

/// One round of a workload, run again and again with one call to the disk going wrong.
struct FaultRound {
  let workload: CrashWorkload
  let round: Int
  let seed: UInt64
  /// Nil when one fault alone is looked at.
  let board: ExplorationBoard?

  func run(_ index: Int) {
    guard let plain = try? workload.record(seed: seed) else { return board?.giveUpFaults(index) ?? () }
    var injections: [FaultInjection] = []
    for call in DiskCall.allCases {
      for occurrence in 1...max(1, plain.world.disk.callCount(call)) {
        for effect in FaultInjection.effects(of: call) {
          injections.append(FaultInjection(call: call, occurrence: occurrence, effect: effect))
        }
      }
    }
    // In an order of the seed, so that a part of them is a sample of all.
    var numbers = SplitMix64(seed: seed)
    injections.shuffle(using: &numbers)
    for injection in injections {
      guard let board, board.wantsFaults(index) else { return }
      guard let outcome = outcome(injection) else { continue }
      board.countFault(index)
      if let wrong = outcome.wrong {
        let place = CrashPlace(workload: workload.name, round: round, event: .fault(injection))
        board.add(CrashViolation(place: "\(place)", text: wrong, story: outcome.story))
      }
    }
  }

  func look(_ injection: FaultInjection) -> (text: String, story: [String])? {
    guard let outcome = outcome(injection), let wrong = outcome.wrong else { return nil }
    return (wrong, outcome.story)
  }

  /// Nil when the fault struck nothing.
  private func outcome(_ injection: FaultInjection) -> (wrong: String?, story: [String])? {
    var disk: SimulatedDisk?
    let store: RecordedStore
    do {
      store = try workload.record(seed: seed, isTolerant: true) {
        disk = $0
        $0.plan(injection.fault)
      }
    } catch {
      // The store could not be made, or opened again. It can be once the disk is well.
      guard let disk, disk.strikeCount > 0 else { return nil }
      disk.removeFaults()
      return (unmade(disk, error), ["\(error)"])
    }
    let world = store.world
    guard world.disk.strikeCount > 0 else { return nil }
    world.disk.removeFaults()
    return (wrong(store, injection), store.history.story(upTo: .max))
  }

  private func wrong(_ store: RecordedStore, _ injection: FaultInjection) -> String? {
    let disk = store.world.disk
    if let misuse = disk.misuse.first { return misuse }
    let moment = disk.operationCount
    if !store.isClosed {
      let living = Inspection.contents(store.store, store.history.keys)
      if let wrong = store.history.judge(
        living, crashedAfter: moment, powerLost: false, mayMiss: injection.mayLoseEntries)
      {
        return "while it is open: \(wrong)"
      }
    }
    // The process dies, and the power goes, behind the fault.
    let states = disk.crashStates()
    let left: [(name: String, disk: SimulatedDisk, powerLost: Bool)] = [
      ("the process has died", states.diskAfterProcessDeath(), false),
      ("all that was unsynced is lost", states.disk(.everythingLost), true),
      ("some of what was unsynced is lost", states.disk(.mixture(seed: seed)), true),
    ]
    for (name, disk, powerLost) in left {
      let inspection = Inspection(
        history: store.history, moment: moment, powerLost: powerLost, isAfterFault: true,
        mayMiss: injection.mayLoseEntries)
      if let wrong = inspection.run(store.world.rebooted(disk)) { return "\(name): \(wrong)" }
    }
    return nil
  }

  private func unmade(_ disk: SimulatedDisk, _ error: any Error) -> String? {
    let world = SimulatedWorld(seed: mixed(seed, 2), disk: disk.crashStates().diskAfterProcessDeath())
    do {
      let store = try CacheStore.open(
        at: RecordedStore.path, options: workload.options, environment: world.environment)
      try store.put([1], for: "after")
      guard store.bytes("after") == [1] else { return "unusable after \(error)" }
      try store.close()
      return nil
    } catch let later {
      return "cannot be opened after \(error), when the disk is well again: \(later)"
    }
  }
}
