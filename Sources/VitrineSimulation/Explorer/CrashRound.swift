import Vitrine

/// One round of a workload, interrupted by a loss of power after every operation of the disk.
struct CrashRound {
  let workload: CrashWorkload
  let round: Int
  let seed: UInt64
  /// The counts of the exploration; nil if only one state is inspected.
  let board: ExplorationBoard?
  /// Called with the place before each inspection.
  var enter: (CrashPlace) -> Void = { _ in }

  /// The recovery is interrupted too in one of this many states, if no other recovery did the same. No multiple of
  /// the numbers of modes and extras, so that each of them has its turn.
  private static let doubleStride = 121
  /// The most states of an interrupted recovery that are inspected.
  private static let mostSeconds = 12

  func run(_ task: ExplorationBoard.Task) {
    guard let board else { return }
    let index = task.workload
    let begin = CrashPlace.Moment(operationCount: 0, policy: .everythingKept)
    enter(place(begin, nil, .firstRead))
    let (store, wrong) = record()
    if let wrong { board.add(violation(begin, nil, .firstRead, wrong.text, wrong.story)) }
    guard let store, wrong == nil else { return board.giveUpStates(index) }
    if store.isUncertain { return board.noteUncertain(index) }
    let all = Array(store.moments)
    let pass = task.pass ?? (0, board.divide(task, cuts: all.count))
    let first = (pass.number + Int(seed % UInt64(pass.count))) % pass.count
    let moments = stride(from: first, to: all.count, by: pass.count).map { all[$0] }
    var number = Int(mixed(seed, UInt64(pass.number)) % UInt64(CrashRound.doubleStride * 18))
    var newImages = 0
    var cuts: [Int: Int] = [:]
    var lastDeath = -1
    var (momentCount, isWhole) = (0, true)
    var lastMoment = -1
    for crash in store.crashes(
      mixtures: 4, seed: seed, maximumAlone: round == 0 ? .max : 5, maximumAloneNowAndThen: 64, after: moments)
    {
      guard board.isWanted(index) else {
        isWhole = false
        break
      }
      let moment = crash.operationCount
      if lastMoment != moment { momentCount += 1 }
      lastMoment = moment
      guard let isNewImage = board.enter(index, crash) else { continue }
      number += 1
      newImages += isNewImage ? 1 : 0
      cuts[moment, default: 0] += 1
      let isSample = number % CrashRound.doubleStride == 0
      // No mode may serve bytes that were not put. Modes and extras take turns.
      let verification = [Verification.firstRead, .always, .never][number % 3]
      let extras = Inspection.Extras.each[number / 3 % Inspection.Extras.each.count].union(.always)
      look(
        Cut(place: .init(operationCount: moment, policy: crash.policy), description: "\(crash)", disk: crash.disk),
        store, verification, extras, board, index, isSample: isSample)
      // The death of the process alone is tried once at each moment.
      if lastDeath == moment { continue }
      lastDeath = moment
      look(
        Cut(
          place: .init(operationCount: moment, policy: nil), description: "the process died after \(moment) operations",
          disk: { crash.states.diskAfterProcessDeath() }),
        store, verification, .always, board, index, isSample: isSample)
    }
    board.cover(store.world.disk.operations, cuts)
    if round == 0 { board.noteMoments(index, of: all.count, cut: momentCount - (isWhole ? 0 : 1)) }
    board.endPass(index, newImages: newImages)
  }

  /// Runs the workload. A violation found here does not depend on where the round is interrupted.
  private func record() -> (store: RecordedStore?, wrong: (text: String, story: [String])?) {
    let store: RecordedStore
    do { store = try workload.make(seed: seed, promisesAllocation: promisesAllocation) } catch {
      return (nil, ("\(error)", []))
    }
    do { try workload.run(store, seed: seed) } catch { return (store, ("\(error)", story(store, .max))) }
    let wrong = store.world.disk.misuse.first ?? store.overBudget
    return (store, wrong.map { ($0, story(store, .max)) })
  }

  /// Inspects the store that is left, and then interrupts its recovery.
  private func look(
    _ cut: Cut, _ store: RecordedStore, _ verification: Verification, _ extras: Inspection.Extras,
    _ board: ExplorationBoard, _ index: Int, isSample: Bool
  ) {
    enter(place(cut.place, nil, verification))
    let inspection = Inspection(
      history: store.history, moment: cut.place.operationCount, powerLost: cut.place.policy != nil,
      verification: verification, isAfterFault: workload.hasFaults, extras: self.extras(extras))
    if let wrong = inspection.run(store.world.rebooted(cut.disk())) {
      board.add(
        violation(
          cut.place, nil, verification, "\(cut.description): \(wrong)", story(store, cut.place.operationCount)))
    }
    cutRecovery(store, cut, verification, board, index, isSample: isSample)
  }

  /// Every fourth round is on a copy-on-write file system, which promises no blocks, as long as the disk has room:
  /// then no write uses a mapping.
  private var promisesAllocation: Bool { workload.hasFaults || round % 4 != 3 }

  private func extras(_ extras: Inspection.Extras) -> Inspection.Extras {
    var extras = extras
    // The loss of log frames by a failed sync is damage of the disk, and may be reported.
    if !workload.traits.isDisjoint(with: [.mayComplain, .hasFaults]) { extras.insert(.mayComplain) }
    if !promisesAllocation || workload.traits.contains(.needsRoomToOpen) { extras.remove(.opensFull) }
    return extras
  }

  /// Interrupts the power again during recovery: after each of its operations, if no other recovery did the same to
  /// the same files in the same order.
  private func cutRecovery(
    _ store: RecordedStore, _ first: Cut, _ verification: Verification, _ board: ExplorationBoard, _ index: Int,
    isSample: Bool
  ) {
    // The unsynced changes after the death of a process differ from those after a loss of power.
    let kind = first.place.policy == nil ? ~index : index
    guard isSample || board.hasRoomForRecovery else { return }
    let start = CrashPlace.Moment(operationCount: 0, policy: .everythingKept)
    enter(place(first.place, start, verification))
    let recovery: CutRecovery
    do { recovery = try CutRecovery(store, first, verification) } catch {
      let text = "\(first.description): a recovery failed: \(error)"
      return board.add(violation(first.place, start, verification, text, story(store, first.place.operationCount)))
    }
    let operations = recovery.world.disk.operations
    if !isSample, board.hasSeenRecovery(kind, operations) { return }
    let isNew = board.enterRecovery(kind, operations, 3 * operations.count)
    guard isNew || isSample else { return }
    let seconds = seconds(of: recovery.world.disk)
    let step = isNew ? 1 : max(1, seconds.count / CrashRound.mostSeconds)
    let before = recovery.before()
    var cuts: [Int: Int] = [:]
    defer { board.cover(operations, cuts) }
    for (number, second) in seconds.enumerated() where number % step == Int(seed % UInt64(step)) {
      if board.isOver { return }
      let moment = CrashPlace.Moment(operationCount: second.operationCount, policy: second.policy)
      enter(place(first.place, moment, verification))
      let inspection = inspection(store, recovery, before, moment, verification)
      board.countDoubleCrash()
      cuts[second.operationCount, default: 0] += 1
      if let wrong = recovery.misuse ?? inspection.run(recovery.world.rebooted(second.disk())) {
        board.add(
          violation(
            first.place, moment, verification, "\(first.description), then \(second): \(wrong)",
            story(store, first.place.operationCount) + story(recovery.world.disk, second.operationCount, "recovery")))
      }
    }
  }

  private func inspection(
    _ store: RecordedStore, _ recovery: CutRecovery, _ before: CutRecovery.Before, _ second: CrashPlace.Moment,
    _ verification: Verification
  ) -> Inspection {
    // All extras take three times as long.
    let extras: Inspection.Extras = second.operationCount % 4 == 0 ? .always : []
    return Inspection(
      history: store.history, moment: recovery.first.place.operationCount, powerLost: second.policy != nil,
      verification: verification, isAfterFault: workload.hasFaults,
      harm: recovery.isUnmarked && second.policy != nil ? .entriesMayBeOlder : .none, missingCount: before.evictedCount,
      predecessor: recovery.predecessor(of: second, before), extras: self.extras(extras))
  }

  /// Returns, after each operation, all changes kept, all lost, and one other policy.
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

  // MARK: A single state

  func look(
    _ first: CrashPlace.Moment, _ second: CrashPlace.Moment?, _ verification: Verification
  ) -> (text: String, story: [String])? {
    let (recorded, wrong) = record()
    guard wrong == nil, let store = recorded else { return wrong }
    let states = store.world.disk.crashStates(after: first.operationCount)
    let cut = Cut(
      place: first, description: "",
      disk: { first.policy.map(states.disk) ?? states.diskAfterProcessDeath() })
    let all = Inspection.Extras(Inspection.Extras.each).union(.always)
    var story = story(store, first.operationCount)
    guard let second else {
      let inspection = Inspection(
        history: store.history, moment: first.operationCount, powerLost: first.policy != nil,
        verification: verification, isAfterFault: workload.hasFaults, extras: extras(all))
      return inspection.run(store.world.rebooted(cut.disk())).map { ($0, story) }
    }
    let recovery: CutRecovery
    do { recovery = try CutRecovery(store, cut, verification) } catch { return ("a recovery failed: \(error)", story) }
    story += self.story(recovery.world.disk, second.operationCount, "recovery")
    if let misuse = recovery.misuse { return (misuse, story) }
    let left = recovery.world.disk.crashStates(after: second.operationCount)
    let disk = second.policy.map(left.disk) ?? left.diskAfterProcessDeath()
    let inspection = inspection(store, recovery, recovery.before(), second, verification)
    return inspection.run(recovery.world.rebooted(disk)).map { ($0, story) }
  }

  // MARK: Reports

  private func place(
    _ first: CrashPlace.Moment, _ second: CrashPlace.Moment?, _ verification: Verification
  ) -> CrashPlace {
    CrashPlace(workload: workload.name, round: round, event: .crash(first, second: second, verification))
  }

  private func violation(
    _ first: CrashPlace.Moment, _ second: CrashPlace.Moment?, _ verification: Verification, _ text: String,
    _ story: [String]
  ) -> CrashViolation {
    CrashViolation(place: "\(place(first, second, verification))", text: text, story: story)
  }

  /// Returns the requests to the store, and the last operations of the disk.
  private func story(_ store: RecordedStore, _ moment: Int) -> [String] {
    store.history.story(upTo: moment) + story(store.world.disk, moment, "disk")
  }

  private func story(_ disk: SimulatedDisk, _ moment: Int, _ name: String) -> [String] {
    disk.operations.filter { $0.index < moment }.suffix(12).map { "\(name): \($0)" }
  }
}

/// The end of a run, and the disk that is left.
struct Cut {
  let place: CrashPlace.Moment
  let description: String
  /// Returns a new disk each time.
  let disk: () -> SimulatedDisk
}
