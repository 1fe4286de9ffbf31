import Vitrine

/// One round of a workload, repeated with one fault or two. It runs on a disk that promises its blocks, and on one that
/// does not. On the latter the engine writes by calls, which can fail, instead of by mappings.
struct FaultRound {
  let workload: CrashWorkload
  let round: Int
  let seed: UInt64
  /// The counts of the exploration; nil if only one run is inspected.
  let board: ExplorationBoard?
  /// Called with the place before each inspection.
  var enter: (CrashPlace) -> Void = { _ in }

  /// The number of faults in one part; other workloads have their turn between parts.
  private static let partCount = 25

  func run(_ task: ExplorationBoard.Task) {
    let index = task.workload
    let begin = CrashPlace.Moment(operationCount: 0, policy: .everythingKept)
    let start = CrashPlace(workload: workload.name, round: round, event: .crash(begin, second: nil, .firstRead))
    enter(start)
    guard let board else { return }
    // The stores are kept until the calls are counted, because a store makes calls when it is released.
    let plain: [RecordedStore]
    do {
      plain = try [true, false].map { promisesAllocation in
        let store = try workload.make(seed: seed, promisesAllocation: promisesAllocation)
        try workload.run(store, seed: seed)
        return store
      }
    } catch {
      board.add(CrashViolation(place: "\(start)", text: "without any fault: \(error)", story: []))
      return board.giveUpFaults(index)
    }
    let tour = FaultTour(plain.map(\.world.disk), seed: seed)
    withExtendedLifetime(plain) {}
    if round == 0, task.part == 0 { board.noteCalls(tour.callCount, ways: tour.wayCount, index) }
    let all = tour.stops
    let part = min(task.part * FaultRound.partCount, all.count)..<min((task.part + 1) * FaultRound.partCount, all.count)
    var count = 0
    for number in part {
      guard board.wantsFaults(index) else { return }
      let stop = all[number]
      let isStruck = ([stop.misfortune] + stop.others).contains {
        look([$0], stop.promisesAllocation, index, board)
      }
      if isStruck {
        count += 1
        if round == 0, stop.isFirstOfCall { board.countCall(index) }
      }
      if round == 0, case .call = stop.misfortune { board.countWay(index) }
      if number % 8 == 7 {
        // Also tried together with another fault.
        var numbers = SplitMix64(seed: mixed(seed, UInt64(number)))
        let pair = [stop.misfortune, all[numbers.below(all.count)].misfortune]
        if look(pair, stop.promisesAllocation, index, board) { count += 2 }
      }
    }
    board.endPart(task, struck: count, isLast: part.upperBound == all.count)
  }

  /// Runs the round with these faults. Returns whether all of them struck.
  private func look(
    _ misfortunes: [Misfortune], _ promisesAllocation: Bool, _ index: Int, _ board: ExplorationBoard
  ) -> Bool {
    let event = CrashPlace.Event.fault(misfortunes, promisesAllocation: promisesAllocation)
    let place = CrashPlace(workload: workload.name, round: round, event: event)
    enter(place)
    guard let outcome = outcome(misfortunes, promisesAllocation) else { return false }
    board.count(misfortunes, index)
    if let wrong = outcome.wrong {
      board.add(CrashViolation(place: "\(place)", text: wrong, story: outcome.story))
    }
    return true
  }

  func look(_ misfortunes: [Misfortune], promisesAllocation: Bool) -> (text: String, story: [String])? {
    guard let outcome = outcome(misfortunes, promisesAllocation), let wrong = outcome.wrong else { return nil }
    return (wrong, outcome.story)
  }

  /// Returns the outcome of a run with these faults; nil if one of them did not strike.
  private func outcome(
    _ misfortunes: [Misfortune], _ promisesAllocation: Bool
  ) -> (wrong: String?, story: [String])? {
    var world: SimulatedWorld?
    let run = FaultRun(misfortunes, seed: seed)
    let store: RecordedStore
    do {
      store = try workload.make(seed: seed, isTolerant: true, promisesAllocation: promisesAllocation) {
        world = $0
        run.plan($0)
      }
    } catch {
      // The store could not be made. An opening must succeed once the disk works again.
      guard let disk = world?.disk, run.hasStruck(disk) else { return nil }
      run.heal(disk)
      return (unmade(disk, error), ["\(error)"])
    }
    var story: [String] {
      store.history.story(upTo: .max) + store.world.disk.operations.suffix(12).map { "disk: \($0)" }
    }
    do {
      try workload.run(store, seed: seed)
    } catch let unexpected as RecordedStore.Unexpected {
      return ("\(unexpected)", story)
    } catch is StoreError {
      // The store could not be closed or opened again. Its earlier promises hold all the same.
    } catch {
      return ("not an error of the store: \(error)", story)
    }
    guard run.hasStruck(store.world.disk), !store.isUncertain else { return nil }
    let finding: Finding
    do { finding = try run.look(store) } catch { finding = .wrong("\(error)") }
    switch finding {
    case .nothingStruck: return nil
    case .asPromised: return (nil, [])
    case .wrong(let text): return (text, story)
    }
  }

  private func unmade(_ disk: SimulatedDisk, _ error: any Error) -> String? {
    let world = SimulatedWorld(seed: mixed(seed, 2), disk: disk.crashStates().diskAfterProcessDeath())
    do {
      let store = try CacheStore.open(
        at: RecordedStore.path, options: workload.options, environment: world.environment)
      try store.put([1], for: "after")
      guard store.bytes("after") == [1] else { return "unusable after \(error)" }
      try store.close()
      return world.disk.misuse.first
    } catch let later {
      return "cannot be opened after \(error), with the disk working again: \(later)"
    }
  }
}
