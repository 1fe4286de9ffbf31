import Vitrine

/// One round of a workload, cut off by loss of power after every operation of the disk.
struct CrashRound {
  let workload: CrashWorkload
  let round: Int
  let seed: UInt64
  /// Nil when one state alone is looked at.
  let board: ExplorationBoard?

  /// Of every so many states the recovery is cut off too, somewhere, if it does what others have done.
  private static let doubleStride = 40
  /// Of the states that such a cut-off recovery leaves, so many at most are looked at.
  private static let mostSeconds = 12

  func run(_ index: Int) {
    let store: RecordedStore
    do {
      store = try workload.record(seed: seed)
    } catch {
      board?.add(violation(.init(operationCount: 0, policy: .everythingKept), nil, .firstRead, "\(error)", []))
      board?.giveUpStates(index)
      return
    }
    if let misuse = store.world.disk.misuse.first {
      board?.add(violation(.init(operationCount: 0, policy: .everythingKept), nil, .firstRead, misuse, []))
    }
    var number = 0
    var newCount = 0
    var last = store.firstMoment
    var lastDeath = -1
    for crash in store.crashes(mixtures: 4, seed: seed, maximumAlone: 5) {
      guard let board, board.isWanted(index) else { break }
      last = crash.operationCount
      guard board.enter(index, crash) else { continue }
      number += 1
      newCount += 1
      let isSample = number % CrashRound.doubleStride == 0
      // No mode may serve what was not put.
      let verification = [Verification.firstRead, .always, .never][number % 3]
      let extras = Inspection.Extras.each[number % Inspection.Extras.each.count]
      look(
        Cut(place: .init(operationCount: last, policy: crash.policy), description: "\(crash)", disk: crash.disk),
        store, verification, extras, board, index, isSample: isSample)
      // The process alone dies once at each moment.
      if lastDeath == last { continue }
      lastDeath = last
      look(
        Cut(
          place: .init(operationCount: last, policy: nil), description: "the process died after \(last) operations",
          disk: { crash.states.diskAfterProcessDeath() }),
        store, verification, [], board, index, isSample: isSample)
    }
    board?.cover(store.world.disk.operations.filter { $0.index >= store.firstMoment && $0.index < last })
    if newCount == 0 { board?.giveUpStates(index) }
  }

  /// Where a run ends, and the disk that is left.
  private struct Cut {
    let place: CrashPlace.Moment
    let description: String
    /// A new one each time.
    let disk: () -> SimulatedDisk
  }

  /// Looks at the store that is left, and then cuts its recovery off.
  private func look(
    _ cut: Cut, _ store: RecordedStore, _ verification: Verification, _ extras: Inspection.Extras,
    _ board: ExplorationBoard, _ index: Int, isSample: Bool
  ) {
    let inspection = Inspection(
      history: store.history, moment: cut.place.operationCount, powerLost: cut.place.policy != nil,
      verification: verification, extras: self.extras(extras))
    if let wrong = inspection.run(store.world.rebooted(cut.disk())) {
      board.add(
        violation(
          cut.place, nil, verification, "\(cut.description): \(wrong)", story(store, cut.place.operationCount)))
    }
    cutRecovery(store, cut, verification, board, index, isSample: isSample)
  }

  private func extras(_ extras: Inspection.Extras) -> Inspection.Extras {
    workload.mayComplain ? extras.union(.mayComplain) : extras
  }

  /// Cuts the power again while recovery is at work: behind each of its operations, if no other recovery did the same
  /// to the same files in the same order.
  private func cutRecovery(
    _ store: RecordedStore, _ first: Cut, _ verification: Verification, _ board: ExplorationBoard, _ index: Int,
    isSample: Bool
  ) {
    // What a death leaves unsynced is another matter than what a loss of power leaves.
    let kind = first.place.policy == nil ? ~index : index
    guard isSample || board.hasRoomForRecovery,
      let recovery = try? recovered(store, first.disk(), first.place, verification)
    else { return }
    let operations = recovery.world.disk.operations
    if !isSample, board.hasSeenRecovery(kind, operations) { return }
    let isNew = board.enterRecovery(kind, operations, 3 * operations.count)
    guard isNew || isSample else { return }
    let seconds = seconds(of: recovery.world.disk)
    let step = isNew ? 1 : max(1, seconds.count / CrashRound.mostSeconds)
    for (number, second) in seconds.enumerated() where number % step == Int(seed % UInt64(step)) {
      if board.isOver { return }
      let inspection = Inspection(
        history: store.history, moment: first.place.operationCount, powerLost: true, verification: verification,
        harm: recovery.hasEvicted ? .entriesMayMiss : .none, extras: extras([]))
      board.countDoubleCrash()
      if let wrong = inspection.run(recovery.world.rebooted(second.disk())) {
        let moment = CrashPlace.Moment(operationCount: second.operationCount, policy: second.policy)
        board.add(
          violation(
            first.place, moment, verification, "\(first.description), then \(second): \(wrong)",
            story(store, first.place.operationCount) + story(recovery.world.disk, second.operationCount, "recovery")))
      }
    }
  }

  /// Behind each operation all kept, all lost, and one of the rest.
  private func seconds(of disk: SimulatedDisk) -> [Crash] {
    var seconds: [Crash] = []
    var others: [Crash] = []
    func endMoment() {
      if !others.isEmpty { seconds.append(others[Int(mixed(seed, UInt64(seconds.count)) % UInt64(others.count))]) }
      others = []
    }
    for crash in disk.crashes(mixtures: 2, seed: seed, maximumAlone: 1, takesFilesAlone: false) {
      if let other = others.first, other.operationCount != crash.operationCount { endMoment() }
      switch crash.policy {
      case .everythingKept, .everythingLost: seconds.append(crash)
      default: others.append(crash)
      }
    }
    endMoment()
    return seconds
  }

  /// A store that was opened on what a crash left, has done its first upkeep, and is let go as by a kill. Every second one
  /// has an option changed: then a checkpoint is written before anything that the crash left was checked. Every third one
  /// is closed: then a checkpoint vouches for all that it left.
  private func recovered(
    _ store: RecordedStore, _ disk: SimulatedDisk, _ place: CrashPlace.Moment, _ verification: Verification
  ) throws -> (world: SimulatedWorld, hasEvicted: Bool) {
    let world = store.world.rebooted(disk)
    var options = StoreOptions(verification: verification)
    if place.operationCount % 2 == 1 { options.compressionLevel = 7 }
    let again = try CacheStore.open(at: RecordedStore.path, options: options, environment: world.environment)
    world.background.runAll()
    if place.operationCount % 3 == 1 { try again.close() }
    // A smaller budget, known by then, may have cost entries of which the history knows nothing.
    let hasEvicted = again.statistics().evictedCount > 0
    again.abandon()
    return (world, hasEvicted)
  }

  // MARK: One state alone

  func look(
    _ first: CrashPlace.Moment, _ second: CrashPlace.Moment?, _ verification: Verification
  ) throws -> (text: String, story: [String])? {
    let store = try workload.record(seed: seed)
    let disk = left(store.world.disk, first)
    var world = store.world.rebooted(disk)
    var harm = Harm.none
    var story = story(store, first.operationCount)
    if let second {
      let recovery = try recovered(store, disk, first, verification)
      if recovery.hasEvicted { harm = .entriesMayMiss }
      story += self.story(recovery.world.disk, second.operationCount, "recovery")
      world = recovery.world.rebooted(left(recovery.world.disk, second))
    }
    let inspection = Inspection(
      history: store.history, moment: first.operationCount, powerLost: (second ?? first).policy != nil,
      verification: verification, harm: harm, extras: extras(Inspection.Extras(Inspection.Extras.each)))
    return inspection.run(world).map { ($0, story) }
  }

  private func left(_ disk: SimulatedDisk, _ moment: CrashPlace.Moment) -> SimulatedDisk {
    let states = disk.crashStates(after: moment.operationCount)
    return moment.policy.map(states.disk) ?? states.diskAfterProcessDeath()
  }

  private func violation(
    _ first: CrashPlace.Moment, _ second: CrashPlace.Moment?, _ verification: Verification, _ text: String,
    _ story: [String]
  ) -> CrashViolation {
    let place = CrashPlace(
      workload: workload.name, round: round, event: .crash(first, second: second, verification))
    return CrashViolation(place: "\(place)", text: text, story: story)
  }

  /// What was asked of the store, and the last that the disk did.
  private func story(_ store: RecordedStore, _ moment: Int) -> [String] {
    store.history.story(upTo: moment) + story(store.world.disk, moment, "disk")
  }

  private func story(_ disk: SimulatedDisk, _ moment: Int, _ name: String) -> [String] {
    disk.operations.filter { $0.index < moment }.suffix(12).map { "\(name): \($0)" }
  }
}
