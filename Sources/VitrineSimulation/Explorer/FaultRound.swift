import Vitrine

/// One round of a workload, run again and again with one call to the disk going wrong.
struct FaultRound {
  let workload: CrashWorkload
  let round: Int
  let seed: UInt64
  /// Nil when one fault alone is looked at.
  let board: ExplorationBoard?

  /// Which call goes wrong, and how.
  struct Injection: CustomStringConvertible {
    enum Effect: String, CaseIterable {
      case io, full, descriptors, limit, torn, lost, short, flip
    }

    let call: DiskCall
    let occurrence: Int
    let effect: Effect

    init(call: DiskCall, occurrence: Int, effect: Effect) {
      self.call = call
      self.occurrence = occurrence
      self.effect = effect
    }

    init?(words: [String]) {
      guard words.count == 3, let call = DiskCall.allCases.first(where: { "\($0)" == words[0] }),
        let occurrence = Int(words[1]), occurrence > 0, let effect = Effect(rawValue: words[2])
      else { return nil }
      self.init(call: call, occurrence: occurrence, effect: effect)
    }

    var description: String { "\(call):\(occurrence):\(effect.rawValue)" }

    var fault: Fault {
      let what: Fault.Effect =
        switch effect {
        case .io: .fail(ErrorCode.inputOutput)
        case .full: .fail(ErrorCode.noSpace)
        case .descriptors: .fail(ErrorCode.tooManyFiles)
        case .limit: .fail(ErrorCode.fileTooLarge)
        case .torn: .failAfterWriting(byteCount: occurrence * 37 % 700, ErrorCode.inputOutput)
        case .lost: .loseUnsyncedPages(ErrorCode.inputOutput)
        case .short: .readShort(byteCount: occurrence * 13 % 300)
        case .flip: .flipBit(byte: occurrence * 7919, bit: occurrence & 7)
        }
      return Fault(call, occurrence: occurrence, what)
    }

    /// Whether the disk then gives other bytes than it was given, or none: an entry may go for it.
    var mayLoseEntries: Bool {
      switch call {
      case .read, .map, .openFile, .status: true
      default: false
      }
    }

    /// What makes sense for each call.
    static func effects(of call: DiskCall) -> [Effect] {
      switch call {
      case .openDirectory, .list, .status, .lock: [.io]
      case .createDirectory, .createFile: [.io, .full, .descriptors]
      case .remove, .rename, .syncDirectory, .availableSpace: [.io]
      case .openFile: [.io, .descriptors]
      case .read: [.io, .short, .flip]
      case .write: [.io, .full, .limit, .torn]
      case .allocate: [.io, .full, .limit]
      case .truncate: [.io, .limit]
      case .syncFile, .writeBack: [.io, .lost]
      case .map: [.io, .descriptors]
      }
    }
  }

  func run(_ index: Int) {
    guard let plain = try? workload.record(seed: seed) else { return board?.giveUpFaults(index) ?? () }
    var injections: [Injection] = []
    for call in DiskCall.allCases {
      for occurrence in 1...max(1, plain.world.disk.callCount(call)) {
        for effect in Injection.effects(of: call) {
          injections.append(Injection(call: call, occurrence: occurrence, effect: effect))
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

  func look(_ injection: Injection) -> (text: String, story: [String])? {
    guard let outcome = outcome(injection), let wrong = outcome.wrong else { return nil }
    return (wrong, outcome.story)
  }

  /// Nil when the fault struck nothing.
  private func outcome(_ injection: Injection) -> (wrong: String?, story: [String])? {
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
      return (unmade(disk, injection, error), ["\(error)"])
    }
    let world = store.world
    guard world.disk.strikeCount > 0 else { return nil }
    world.disk.removeFaults()
    return (wrong(store, injection), store.history.story(upTo: .max))
  }

  private func wrong(_ store: RecordedStore, _ injection: Injection) -> String? {
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
      if let wrong = inspection.run(store.rebooted(disk)) { return "\(name): \(wrong)" }
    }
    return nil
  }

  private func unmade(_ disk: SimulatedDisk, _ injection: Injection, _ error: any Error) -> String? {
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
