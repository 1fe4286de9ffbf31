import Vitrine

/// One round of a workload, run again and again with one thing going wrong, or two.
struct FaultRound {
  let workload: CrashWorkload
  let round: Int
  let seed: UInt64
  /// Nil when one run alone is looked at.
  let board: ExplorationBoard?

  func run(_ index: Int) {
    guard let plain = try? workload.record(seed: seed) else { return board?.giveUpFaults(index) ?? () }
    // In an order of the seed, so that a part of them is a sample of all; every fourth time two of them.
    var numbers = SplitMix64(seed: seed)
    let all = Misfortune.all(of: plain.world.disk, seed: seed).shuffled(using: &numbers)
    for (number, misfortune) in all.enumerated() {
      guard let board, board.wantsFaults(index) else { return }
      look([misfortune], index, board)
      if number % 4 == 3 { look([misfortune, all[numbers.below(all.count)]], index, board) }
    }
  }

  private func look(_ misfortunes: [Misfortune], _ index: Int, _ board: ExplorationBoard) {
    guard let outcome = outcome(misfortunes) else { return }
    board.count(misfortunes, index)
    guard let wrong = outcome.wrong else { return }
    let place = CrashPlace(workload: workload.name, round: round, event: .fault(misfortunes))
    board.add(CrashViolation(place: "\(place)", text: wrong, story: outcome.story))
  }

  func look(_ misfortunes: [Misfortune]) -> (text: String, story: [String])? {
    guard let outcome = outcome(misfortunes), let wrong = outcome.wrong else { return nil }
    return (wrong, outcome.story)
  }

  /// Nil when one of them struck nothing.
  private func outcome(_ misfortunes: [Misfortune]) -> (wrong: String?, story: [String])? {
    var world: SimulatedWorld?
    let run = FaultRun(misfortunes, seed: seed)
    let store: RecordedStore
    do {
      store = try workload.record(seed: seed, isTolerant: true) {
        world = $0
        run.plan($0)
      }
    } catch {
      // The store could not be made, or opened again. It can be once the disk is well.
      guard let disk = world?.disk, run.hasStruck(disk) else { return nil }
      run.heal(disk)
      return (unmade(disk, error), ["\(error)"])
    }
    guard run.hasStruck(store.world.disk) else { return nil }
    let finding: Finding
    do { finding = try run.look(store) } catch { finding = .wrong("\(error)") }
    switch finding {
    case .nothingStruck: return nil
    case .asPromised: return (nil, [])
    case .wrong(let text): return (text, store.history.story(upTo: .max))
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
      return nil
    } catch let later {
      return "cannot be opened after \(error), when the disk is well again: \(later)"
    }
  }
}
