import Vitrine

/// What a look at the store shows.
enum Finding {
  case asPromised
  case wrong(String)
  /// The misfortune changed nothing.
  case nothingStruck

  init(_ wrong: String?) { self = wrong.map { .wrong($0) } ?? .asPromised }
}

/// One run in which something goes wrong, and what must hold all the same.
struct FaultRun {
  private let misfortunes: [Misfortune]
  private let seed: UInt64

  init(_ misfortunes: [Misfortune], seed: UInt64) {
    self.misfortunes = misfortunes
    self.seed = seed
  }

  private var mostHarm: Harm { misfortunes.map(\.harm).max() ?? .none }

  /// What is missing, or has come back, was told of.
  private func harm(_ store: RecordedStore) -> Harm {
    guard mostHarm == .entriesMayMiss else { return mostHarm }
    // Where another one has ended a store without a checkpoint, a log that cannot be read is one that ends early.
    if misfortunes.count > 1 { return .entriesMayBeOlder }
    return store.toldHarm
  }

  /// As many entries may be missing for what the disk did not give as the store has said, and those whose eviction stands in
  /// a frame that is whole though its write failed.
  private func losses(_ store: RecordedStore) -> Int {
    let unheard = store.world.disk.wholeFailedWrites.reduce(0) { count, operation in
      count + operation.logged.count { if case .remove = $0 { true } else { false } }
    }
    return unheard + (harm(store) == .none ? 0 : store.toldLosses)
  }

  /// Each mode in turn. What is wrong on the disk for good is only found by those that check.
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

  /// Nothing goes wrong any more.
  func heal(_ disk: SimulatedDisk) {
    disk.removeFaults()
    disk.core.withLock { $0.giveRoom() }
  }

  /// Damage comes when all is over, and has its own way to tell.
  func hasStruck(_ disk: SimulatedDisk) -> Bool {
    disk.strikeCount >= misfortunes.count - damages.count
  }

  func look(_ store: RecordedStore) throws -> Finding {
    let disk = store.world.disk
    let takesFolder = events.contains(where: \.takesFolder)
    // Where a folder was taken, the disk holds it and the next one.
    if let misuse = disk.misuse.first ?? (takesFolder ? nil : store.overBudget) { return .wrong(misuse) }
    // Reads go on also while it lasts.
    if !events.isEmpty, !takesFolder, let wrong = whileOpen(store) { return .wrong(wrong) }
    if let wrong = onFullDisk(store) { return .wrong(wrong) }
    heal(disk)
    if takesFolder { return withoutFolder(store, disk) }
    if let wrong = whileOpen(store) { return .wrong(wrong) }
    guard let damage = damages.first else { return Finding(afterwards(store, disk)) }
    // Together with something else it would need an account of what each may cost.
    return misfortunes.count == 1 ? try damage.look(store, seed: seed) : .nothingStruck
  }

  private func whileOpen(_ store: RecordedStore) -> String? {
    // What a disk has put in the wrong place is still right in the memory of the one who wrote it; here it is not.
    let harm = harm(store)
    if store.isClosed || harm == .pagesAreWrong { return nil }
    let found = Inspection.contents(store.store, store.history.keys)
    // A change that is refused because the folder has gone leaves no older value of its keys to be read, and the history does
    // not have every such change: a body or a drawing may be refused before it begins.
    let concealed = events.contains(where: \.takesFolder) ? store.history.keys.count : 0
    return store.history.judge(
      found, crashedAfter: store.world.disk.operationCount, powerLost: false, harm: harm,
      missingCount: losses(store) + concealed
    ).map { "while it is open: \($0)" }
  }

  /// The process dies, and the power goes, behind the fault.
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
    // What came behind it may have made good what was promised too early. What another fault may cost is told of later.
    guard mostHarm == .none, events.allSatisfy({ !$0.takesFolder }) else { return nil }
    var numbers = SplitMix64(seed: mixed(seed, UInt64(end)))
    let moments = store.moments
    for policy in [CrashPolicy.everythingLost, .mixture(seed: mixed(seed, 1))] {
      if let wrong = wrong(moments.lowerBound + numbers.below(moments.count), policy) { return wrong }
    }
    return nil
  }

  /// On a full disk removals work, and puts do again once there is room.
  private func onFullDisk(_ store: RecordedStore) -> String? {
    // Where blocks are not promised, a frame of the log needs room too.
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
    store.world.disk.core.withLock { $0.giveRoom() }
    let content = Content([1, 2, 3])
    let again = CacheKey("room again")
    do {
      // The budget may be full all the same.
      try store.evicting {
        try store.history.run([.put(again, content)], synced: false) { try store.store.put(content.bytes, for: again) }
      }
    } catch {
      return "a put failed after there was room again: \(error)"
    }
    return nil
  }

  /// The folder went while the store was open. Nothing that came after it may count as durable; a folder that was moved
  /// away is as good as any other.
  private func withoutFolder(_ store: RecordedStore, _ disk: SimulatedDisk) -> Finding {
    guard let moment = disk.folderLost, moment >= store.openedAt, damages.isEmpty,
      events.count(where: \.takesFolder) == 1
    else { return .nothingStruck }
    if store.history.hasPromisedDurability(after: moment) { return .wrong("something counts as durable in no folder") }
    if let wrong = whileOpen(store) { return .wrong(wrong) }
    let aside = "/\(WorldEvent.aside)"
    guard disk.core.withLock({ $0.resolve(aside) }) != nil else { return Finding(newStore(store)) }
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
      return "no new store can be made where one was removed: \(error)"
    }
  }
}
