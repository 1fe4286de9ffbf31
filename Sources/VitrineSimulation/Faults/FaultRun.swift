import Vitrine

/// The result of an inspection.
enum Finding {
  case asPromised
  case wrong(String)
  /// The misfortune changed nothing.
  case nothingStruck

  init(_ wrong: String?) { self = wrong.map { .wrong($0) } ?? .asPromised }
}

/// One run with faults, and the promises that must hold all the same.
struct FaultRun {
  private let misfortunes: [Misfortune]
  private let seed: UInt64

  init(_ misfortunes: [Misfortune], seed: UInt64) {
    self.misfortunes = misfortunes
    self.seed = seed
  }

  private var mostHarm: Harm { misfortunes.map(\.harm).max() ?? .none }

  /// The harm that the store has reported: missing entries, or entries that may have returned.
  private func harm(_ store: RecordedStore) -> Harm {
    guard mostHarm == .entriesMayMiss else { return mostHarm }
    // If another fault has ended a store without a checkpoint, an unreadable log looks like one that ends early.
    if misfortunes.count > 1 { return .entriesMayBeOlder }
    return store.toldHarm
  }

  /// Returns the number of entries that may be missing. The store has reported some of them as lost. The others were
  /// evicted by a frame that is whole although its write failed.
  private func losses(_ store: RecordedStore) -> Int {
    let unheard = store.world.disk.wholeFailedWrites.reduce(0) { count, operation in
      count + operation.logged.count { if case .remove = $0 { true } else { false } }
    }
    return unheard + (harm(store) == .none ? 0 : store.toldLosses)
  }

  /// Returns the verification mode of an inspection, drawn from the seed and the moment. If pages are wrong, only modes
  /// that check payloads are used.
  private func verification(_ moment: Int) -> Verification {
    let modes: [Verification] = mostHarm == .pagesAreWrong ? [.firstRead, .always] : [.firstRead, .always, .never]
    return modes[Int(mixed(seed, UInt64(moment)) % UInt64(modes.count))]
  }

  private var events: [WorldEvent] {
    misfortunes.compactMap { if case .event(let event) = $0 { event } else { nil } }
  }

  private var damages: [PlantedDamage] {
    misfortunes.compactMap { if case .damage(let damage) = $0 { damage } else { nil } }
  }

  func plan(_ world: SimulatedWorld) {
    for misfortune in misfortunes {
      switch misfortune {
      case .call(let injection): world.disk.plan(injection.fault)
      case .event(let event): event.plan(world, String(RecordedStore.path.dropFirst()))
      case .damage: break
      }
    }
  }

  /// Removes all faults.
  func heal(_ disk: SimulatedDisk) {
    disk.removeFaults()
    disk.giveRoom()
  }

  /// Damage is planted at the end, and reports its own effect.
  func hasStruck(_ disk: SimulatedDisk) -> Bool {
    disk.strikeCount >= misfortunes.count - damages.count
  }

  func look(_ store: RecordedStore) throws -> Finding {
    let disk = store.world.disk
    let takesFolder = events.contains(where: \.takesFolder)
    // If a folder was moved away, the disk holds it and its successor.
    if let misuse = disk.misuse.first ?? (takesFolder ? nil : store.overBudget) { return .wrong(misuse) }
    // Reads also work while the fault lasts.
    if !events.isEmpty, !takesFolder, let wrong = whileOpen(store) { return .wrong(wrong) }
    if let wrong = onFullDisk(store) { return .wrong(wrong) }
    heal(disk)
    if takesFolder { return withoutFolder(store, disk) }
    if let wrong = whileOpen(store) { return .wrong(wrong) }
    guard let damage = damages.first else { return Finding(afterwards(store, disk)) }
    // Damage beside another fault is not inspected, because that would need an account of the possible harm of each.
    return misfortunes.count == 1 ? try damage.look(store, seed: seed) : .nothingStruck
  }

  private func whileOpen(_ store: RecordedStore) -> String? {
    // On a real machine, the page cache still has the right bytes while the store is open. The simulated disk has no
    // such cache, so wrong pages are inspected only afterwards.
    let harm = harm(store)
    if store.isClosed || harm == .pagesAreWrong { return nil }
    let found = Inspection.contents(store.store, store.history.keys)
    // A change that is refused because the folder is gone leaves no older value of its keys to be read. The history
    // does not have every such change: a body or a drawing may be refused before it begins.
    let concealed = events.contains(where: \.takesFolder) ? store.history.keys.count : 0
    return store.history.judge(
      found, crashedAfter: store.world.disk.operationCount, powerLost: false, harm: harm,
      missingCount: losses(store) + concealed
    ).map { "while it is open: \($0)" }
  }

  /// The process dies, or the power is lost, after the fault.
  private func afterwards(_ store: RecordedStore, _ disk: SimulatedDisk) -> String? {
    let end = disk.operationCount
    func wrong(_ moment: Int, _ policy: CrashPolicy?) -> String? {
      let states = disk.crashStates(after: moment)
      let inspection = Inspection(
        history: store.history, moment: moment, powerLost: policy != nil, verification: verification(moment),
        isAfterFault: true, harm: harm(store), missingCount: losses(store),
        extras: mostHarm == .none ? [] : .mayComplain)
      let left = policy.map(states.disk) ?? states.diskAfterProcessDeath()
      return inspection.run(store.world.rebooted(left))
        .map { "after \(moment) operations, \(policy.map { "power lost, \($0)" } ?? "the process died"): \($0)" }
    }
    for policy: CrashPolicy? in [nil, .everythingLost, .mixture(seed: seed)] {
      if let wrong = wrong(end, policy) { return wrong }
    }
    // Later operations may have made a broken promise true, so an earlier moment is inspected too. A fault that does
    // harm is left out, because the store reports that harm later.
    guard mostHarm == .none, events.allSatisfy({ !$0.takesFolder }) else { return nil }
    var numbers = SplitMix64(seed: mixed(seed, UInt64(end)))
    let moments = store.moments
    for policy in [CrashPolicy.everythingLost, .mixture(seed: mixed(seed, 1))] {
      if let wrong = wrong(moments.lowerBound + numbers.below(moments.count), policy) { return wrong }
    }
    return nil
  }

  /// Checks that removals work on a full disk, and puts once there is room again.
  private func onFullDisk(_ store: RecordedStore) -> String? {
    // If blocks are not promised, a frame of the log needs room too.
    guard misfortunes.count == 1, let event = events.first, event.kind == .filled || event.kind == .crowded,
      !store.isClosed, store.world.disk.promisesAllocation
    else { return nil }
    let key = store.history.keys.filter { store.store.contains($0) }.min()
    do {
      if let key {
        try store.history.run([.remove(key)], synced: true) { try store.store.remove(key, durability: .synced) }
      }
    } catch {
      return "a removal on a full disk failed: \(error)"
    }
    store.world.disk.giveRoom()
    let content = Content([1, 2, 3])
    let again = CacheKey("room again")
    do {
      // The budget may still be full.
      try store.evicting {
        try store.history.run([.put(again, content)], synced: false) { try store.store.put(content.bytes, for: again) }
      }
    } catch {
      return "a put failed after there was room again: \(error)"
    }
    return nil
  }

  /// The folder was removed while the store was open. No later change may count as durable; a folder that was moved
  /// away must be intact.
  private func withoutFolder(_ store: RecordedStore, _ disk: SimulatedDisk) -> Finding {
    guard let moment = disk.folderLost, moment >= store.openedAt, damages.isEmpty,
      events.count(where: \.takesFolder) == 1
    else { return .nothingStruck }
    if store.history.hasPromisedDurability(after: moment) { return .wrong("a change is durable without a folder") }
    if let wrong = whileOpen(store) { return .wrong(wrong) }
    let aside = "/\(WorldEvent.aside)"
    guard disk.hasItem(at: aside) else { return Finding(newStore(store)) }
    disk.remove(RecordedStore.path)
    disk.move(aside, to: RecordedStore.path)
    return Finding(afterwards(store, disk))
  }

  private func newStore(_ store: RecordedStore) -> String? {
    do {
      let fresh = try CacheStore.open(
        at: RecordedStore.path, options: store.options,
        environment: store.world.rebooted(store.world.disk.copy()).environment)
      if fresh.count != 0 { return "a new store has entries" }
      try fresh.put([1], for: "after", options: PutOptions(durability: .synced))
      try fresh.close()
      return nil
    } catch {
      return "no new store can be made in place of a removed one: \(error)"
    }
  }
}
