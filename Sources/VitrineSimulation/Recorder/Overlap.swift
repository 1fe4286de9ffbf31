import Dispatch
import Vitrine

/// Changes from several threads. They start while another change waits for the disk, and each runs as far as it can
/// by itself. So the order of their frames, and with it the history, is known and follows from the seed.
struct Overlap {
  private let recorded: RecordedStore
  private let bystanders: [RecordedStore.Bystander]

  init(_ recorded: RecordedStore, _ bystanders: [RecordedStore.Bystander]) {
    self.recorded = recorded
    self.bystanders = bystanders
  }

  private var history: History { recorded.history }
  private var disk: SimulatedDisk { recorded.world.disk }

  /// Runs `body`, and the bystanders in its sync of that number. If the order of the changes is not known afterwards,
  /// the history notes that.
  func run(inSync number: Int, of body: () throws -> Void) throws {
    let waiting = DispatchGroup()
    var started: [Started] = []
    let run = Unchecked {
      // A change that is not visible yet has no frame yet: those of the bystanders come before it.
      let unseen = history.underWay.flatMap { change in isSeen(change.changes) ? nil : change.position }
      for (count, bystander) in bystanders.enumerated() {
        started.append(start(bystander, at: unseen.map { $0 + count }, precedesBody: unseen != nil, waiting))
        // It waits for the body, or its thread got no time.
        if !hasGoneFar(started[count]) { return }
      }
    }
    // The disk may have completed the sync when they start, or not.
    let isDurable = mixed(UInt64(disk.operationCount), UInt64(number)) & 1 == 0
    disk.planDuringSync(number, isDurable: isDurable) { run.body() }
    defer {
      waiting.wait()
      if !areInOrder(started) { history.noteUnknownOrder() }
      for bystander in bystanders[started.count...] {
        started.append(start(bystander, at: nil, precedesBody: false, waiting))
        waiting.wait()
      }
      for bystander in started {
        let end = bystander.end.withLock { $0 }
        if let end, end.isAcknowledged {
          history.acknowledge(bystander.step, at: end.moment)
        } else {
          history.fail(bystander.step)
        }
      }
    }
    do {
      defer { disk.planDuringSync(0, isDurable: true) {} }
      try body()
    }
  }

  private func isSeen(_ changes: [History.Change]) -> Bool {
    let store = recorded.store
    return changes.allSatisfy { change in
      switch change {
      case .put(let key, let content): Inspection.content(store, key) == content
      case .remove(let key): !store.contains(key)
      case .removeAll: store.count == 0
      }
    }
  }

  /// A bystander's change in progress.
  private struct Started {
    let bystander: RecordedStore.Bystander
    let step: History.StepID
    let began: Int
    /// Its step precedes that of the body in progress.
    let precedesBody: Bool
    /// Its thread, and the number of complete operations when it began: an earlier one may belong to another
    /// thread. Nil until then.
    let thread = Guarded<(identity: ThreadIdentity, status: ThreadStatus, began: Int)?>(nil)
    /// The number of operations after which it ended, and whether it was acknowledged.
    let end = Guarded<(moment: Int, isAcknowledged: Bool)?>(nil)
  }

  private func start(
    _ bystander: RecordedStore.Bystander, at position: Int?, precedesBody: Bool, _ waiting: DispatchGroup
  ) -> Started {
    let key = bystander.key
    let (change, isSynced): (History.Change, Bool) =
      switch bystander {
      case .put(_, let bytes, let synced): (.put(key, Content(bytes)), synced)
      case .remove(_, let synced): (.remove(key), synced)
      }
    let started = Started(
      bystander: bystander, step: history.begin([change], synced: isSynced, at: position),
      began: disk.operationCount,
      precedesBody: precedesBody)
    let (store, disk) = (recorded.store, disk)
    waiting.enter()
    Overlap.threads.async {
      started.thread.withLock { $0 = (.current, ThreadStatus(), disk.operationCount) }
      let durability: Durability = isSynced ? .synced : .buffered
      var isAcknowledged = true
      do {
        switch bystander {
        case .put(_, let bytes, _): try store.put(bytes, for: key, options: PutOptions(durability: durability))
        case .remove: try store.remove(key, durability: durability)
        }
      } catch {
        isAcknowledged = false
      }
      started.end.withLock { $0 = (disk.operationCount, isAcknowledged) }
      waiting.leave()
    }
    return started
  }

  /// Waits until it has ended, or waits behind its frame. Returns false if it waits for something else, which is
  /// invisible here, or gets no time.
  private func hasGoneFar(_ bystander: Started) -> Bool {
    let clock = Environment.posix.clock
    let end = clock.monotonicNanoseconds() + Overlap.longestWait
    var looksAsleep = 0
    while bystander.end.withLock({ $0 == nil }), frame(of: bystander) == nil {
      if clock.monotonicNanoseconds() >= end || looksAsleep >= Overlap.mostLooksAsleep { return false }
      let isAsleep = bystander.thread.withLock { $0?.status.isAsleep ?? false }
      looksAsleep = isAsleep ? looksAsleep + 1 : 0
      clock.sleep(milliseconds: isAsleep ? 1 : 0)
    }
    return true
  }

  /// Returns whether the frames are in the order of the history's changes: a thread that gets little time may come
  /// later than it should.
  private func areInOrder(_ bystanders: [Started]) -> Bool {
    var last = -1
    for bystander in bystanders {
      guard let frame = frame(of: bystander) else { continue }
      if frame < last { return false }
      last = frame
      if bystander.precedesBody {
        let next = self.frame(since: bystander.began, of: .current) { !$0.isEmpty }
        if let next, next < frame { return false }
      } else if history.hasBegun(after: bystander.step, by: frame, otherThan: bystanders.map(\.step)) {
        return false
      }
    }
    return true
  }

  /// Returns the operation that stored the frame of its change. Its thread may make others before it: a put may
  /// open a segment, or evict.
  private func frame(of bystander: Started) -> Int? {
    guard let thread = bystander.thread.withLock({ $0 }) else { return nil }
    // Its identity may be reused by a later thread.
    let end = bystander.end.withLock { $0?.moment ?? .max }
    let frame = frame(since: thread.began, of: thread.identity) { $0.contains(where: bystander.bystander.isLogged) }
    return frame.flatMap { $0 < end ? $0 : nil }
  }

  private func frame(since moment: Int, of thread: ThreadIdentity, where isIt: ([Change]) -> Bool) -> Int? {
    disk.lastOperations(since: moment).first { $0.thread == thread && isIt($0.logged) }?.index
  }

  private static let threads = DispatchQueue(label: "vitrine.bystanders", attributes: .concurrent)
  /// Long enough for a thread of a busy machine.
  private static let longestWait: UInt64 = 500_000_000
  /// A thread that was asleep at this many consecutive samples, 1 ms apart, waits for the body.
  private static let mostLooksAsleep = 10
}

extension RecordedStore.Bystander {
  var key: CacheKey {
    switch self {
    case .put(let name, _, _), .remove(let name, _): CacheKey(name)
    }
  }

  /// Whether the log has this change as `change`.
  fileprivate func isLogged(as change: Change) -> Bool {
    switch (self, change) {
    case (.put, .put), (.remove, .remove): true
    default: false
    }
  }
}

/// A body that is called at another place.
///
/// Invariant: the thread that made it calls it, or waits until the call has ended.
private struct Unchecked: @unchecked Sendable {
  let body: () -> Void
  init(_ body: @escaping () -> Void) { self.body = body }
}
