import Dispatch
import Vitrine

/// Changes from several threads. They come when one is under way and waits for the disk, each as far as it gets by
/// itself, so that the order of their frames, and with it the history, is known and follows from the seed.
extension RecordedStore {
  /// What another thread does.
  public enum Bystander: Sendable {
    case put(String, [UInt8], synced: Bool)
    case remove(String, synced: Bool)
  }

  /// Runs `body`, and while its sync of that number (counted from 1) is under way, each bystander's change on a thread of
  /// its own, one begun after the other: a buffered change ends there, a synced one shares a later sync. Returns when all
  /// have. Where there is no such sync they follow the body, and so do those behind one that waits for the body. Their keys
  /// must be others than those of the body, and what that changes must be there to be changed.
  public func overlap(sync number: Int = 1, _ bystanders: [Bystander], _ body: () throws -> Void) throws {
    try evicting { try run(bystanders, inSync: number, of: body) }
  }

  private func run(_ bystanders: [Bystander], inSync number: Int, of body: () throws -> Void) throws {
    let waiting = DispatchGroup()
    let outcomes = Guarded<[(History.StepID, moment: Int?)]>([])
    var startedCount = 0
    let run = Unchecked { [self] in
      // A change that nobody sees yet has no frame yet: those of the bystanders come before it.
      let unseen = history.underWay.flatMap { change in isSeen(change.changes) ? nil : change.position }
      for (count, bystander) in bystanders.enumerated() {
        startedCount += 1
        if start(bystander, at: unseen.map { $0 + count }, waiting, outcomes) { continue }
        // It waits for the body, or its thread got no time. Its frame comes behind those that are there; whether it comes
        // before the body's, nobody knows.
        if unseen != nil { isUncertain = true }
        return
      }
    }
    world.disk.planDuringSync(number) { run.body() }
    defer {
      waiting.wait()
      for bystander in bystanders[startedCount...] {
        _ = start(bystander, at: nil, waiting, outcomes)
        waiting.wait()
      }
      for (step, moment) in outcomes.withLock({ $0 }) {
        if let moment { history.acknowledge(step, at: moment) } else { history.fail(step) }
      }
    }
    do {
      defer { world.disk.planDuringSync(0) {} }
      try body()
    }
  }

  private func isSeen(_ changes: [History.Change]) -> Bool {
    changes.allSatisfy { change in
      switch change {
      case .put(let key, let content): Inspection.content(store, key) == content
      case .remove(let key): !store.contains(key)
      case .removeAll: store.count == 0
      }
    }
  }

  private func framesStored(since moment: Int) -> Bool {
    world.disk.lastOperations(since: moment).contains { $0.name == "store" && $0.path.contains("/wal/") }
  }

  /// Answers whether it has got as far as it can.
  private func start(
    _ bystander: Bystander, at position: Int?, _ waiting: DispatchGroup,
    _ outcomes: Guarded<[(History.StepID, moment: Int?)]>
  ) -> Bool {
    let change: History.Change
    let isSynced: Bool
    switch bystander {
    case .put(let name, let bytes, let synced): (change, isSynced) = (.put(CacheKey(name), Content(bytes)), synced)
    case .remove(let name, let synced): (change, isSynced) = (.remove(CacheKey(name)), synced)
    }
    let step = history.begin([change], synced: isSynced, at: position)
    let began = world.disk.operationCount
    let isOver = Guarded(false)
    let store = store
    let disk = world.disk
    waiting.enter()
    RecordedStore.threads.async {
      let durability: Durability = isSynced ? .synced : .buffered
      var moment: Int?
      do {
        switch change {
        case .put(let key, let content):
          try store.put(content.bytes, for: key, options: PutOptions(durability: durability))
        case .remove(let key): try store.remove(key, durability: durability)
        case .removeAll: break
        }
        moment = disk.operationCount
      } catch {}
      outcomes.withLock { $0.append((step, moment)) }
      isOver.withLock { $0 = true }
      waiting.leave()
    }
    // Until it has ended, or waits behind its frame; or for something else, which nothing here can see.
    let clock = Environment.posix.clock
    let end = clock.monotonicNanoseconds() + RecordedStore.longestWait
    while !isOver.withLock({ $0 }), !framesStored(since: began) {
      if clock.monotonicNanoseconds() >= end { return false }
      clock.sleep(milliseconds: 0)
    }
    return true
  }

  private static let threads = DispatchQueue(label: "vitrine.bystanders", attributes: .concurrent)
  /// Long enough for a thread of a machine that has much else to do.
  private static let longestWait: UInt64 = 500_000_000
}

/// A body that goes to another place on the same thread.
private struct Unchecked: @unchecked Sendable {
  let body: () -> Void
  init(_ body: @escaping () -> Void) { self.body = body }
}
