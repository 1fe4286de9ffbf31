/// Removes expired entries.
///
/// The expiry index has the records to read. A record, its last use and the clock determine whether a get would still
/// return the entry (``Lifetimes/timeLeft(_:_:)``). Eviction calls this first, so expired entries go before others, and
/// they do not count as evicted.
final class Expirer: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let signal: UpkeepSignal
  private let lifetimes: Lifetimes
  private let commits: CommitLog
  private let checker: RecordChecker
  private let checkpointer: Checkpointer
  private let entryRemover: EntryRemover
  private let expiryLock = ExpiryLock(())

  init(
    _ context: StoreContext, gate: WriteGate, signal: UpkeepSignal, lifetimes: Lifetimes, commits: CommitLog,
    checker: RecordChecker, checkpointer: Checkpointer, entryRemover: EntryRemover
  ) {
    self.context = context
    self.gate = gate
    self.signal = signal
    self.lifetimes = lifetimes
    self.commits = commits
    self.checker = checker
    self.checkpointer = checkpointer
    self.entryRemover = entryRemover
  }

  /// Number of notes that one foreground call or one round of upkeep reads, so that no call waits for the whole store.
  static let mostLooks = 16_384

  /// Number of notes that a close reads. It is smaller because each note may cost a read from the disk.
  private static let mostLooksAtClosing = 4096

  /// Number of notes read under one hold of the lock, so that other threads do not wait long.
  private static let step = 256

  /// Milliseconds until a record that could not be read is tried again.
  private static let unreadablePause: Int64 = 60_000

  struct Expiring {
    var removedCount = 0
    var byteCount = 0
    /// Whether some due notes have not been read.
    var mayBeMore = false
  }

  /// Removes every expired entry. Returns the number of entries removed.
  func removeExpired() throws(StoreError) -> Int {
    try gate.requireWritable()
    return try expire().removedCount
  }

  /// Removes expired entries for one round of upkeep.
  func removeExpiredAhead() {
    if let expiring = try? expire(lookingAt: Expirer.mostLooks), expiring.mayBeMore { signal.wake() }
  }

  /// Removes expired entries for a close, within the limit of ``mostLooksAtClosing``.
  func removeExpiredWhileClosing(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    _ = try expire(lookingAt: Expirer.mostLooksAtClosing, upkeep)
  }

  /// Whether there may be expired entries, without reading a record.
  var hasDueEntries: Bool {
    expiryLock.withLock { turn in
      noteEachIfIncomplete(turn)
      return expirations.isDue(at: environment.clock.wallMilliseconds())
    }
  }

  /// No entry expires before this moment, in milliseconds since 1970; `Int64.max` if none expires. Nil while another
  /// thread examines entries.
  var nextDue: Int64? {
    var due: Int64?
    expiryLock.tryWithLock { _ in due = expirations.nextDue }
    return due
  }

  /// Number of unexpired entries.
  func countEntries() -> Int {
    expiryLock.withLock { turn in
      noteEachIfIncomplete(turn)
      var expiredCount = 0
      var seen: Set<KeyHash> = []
      for note in expirations.takeDue(at: environment.clock.wallMilliseconds(), most: .max) {
        guard seen.insert(note.hash).inserted else { continue }
        var count = 0
        let next = examine(note.hash, turn) { _ in count += 1 }
        expiredCount += count
        if let due = count > 0 ? note.due : next { expirations.note(note.hash, due: due) }
      }
      return max(0, commitLock.withLock { held in held.state.index.keyCount } - expiredCount)
    }
  }

  /// Removes expired entries until `count` entries are removed, `byteCount` bytes are dead, or `most` notes are read.
  /// Takes the upkeep lock only if the log has no room for a removal.
  func expire(
    count: Int = .max, byteCount: Int = .max, lookingAt most: Int = .max
  ) throws(StoreError) -> Expiring {
    try expire(count: count, byteCount: byteCount, lookingAt: most, closing: false) { () throws(StoreError) in
      try checkpointer.checkpoint()
    }
  }

  /// Removes expired entries with the upkeep lock held, also while the store is being closed.
  func expire(
    count: Int = .max, byteCount: Int = .max, lookingAt most: Int, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> Expiring {
    try expire(count: count, byteCount: byteCount, lookingAt: most, closing: true) { () throws(StoreError) in
      try checkpointer.writeCheckpoint(upkeep)
    }
  }

  private func expire(
    count: Int, byteCount: Int, lookingAt most: Int, closing: Bool, makingRoom: () throws(StoreError) -> Void
  ) throws(StoreError) -> Expiring {
    // An entry that is used repeatedly is due repeatedly. The fixed moment makes this call read each entry once.
    let moment = environment.clock.wallMilliseconds()
    var sum = Expiring()
    var left = most
    while sum.removedCount < count, sum.byteCount < byteCount, closing || !gate.isClosing {
      if left <= 0 {
        sum.mayBeMore = true
        break
      }
      let looks = min(left, Expirer.step)
      let outcome = try expiryLock.withLock { turn throws(StoreError) in
        try expireSome(looks, dueBy: moment, closing: closing, turn)
      }
      guard let step = outcome else {
        try makingRoom()
        continue
      }
      if step.lookedAt == 0 { break }
      left -= step.lookedAt
      sum.removedCount += step.count
      sum.byteCount += step.byteCount
    }
    return sum
  }

  /// Removes expired entries of at most `most` notes. Returns nil if the log has no room.
  private func expireSome(
    _ most: Int, dueBy moment: Int64, closing: Bool, _ turn: borrowing ExpiryLock.Held
  ) throws(StoreError) -> (lookedAt: Int, count: Int, byteCount: Int)? {
    noteEachIfIncomplete(turn)
    let notes = expirations.takeDue(at: moment, most: most)
    var expired: [RecordName] = []
    for note in notes {
      if let due = examine(note.hash, turn, { expired.append($0) }) { expirations.note(note.hash, due: due) }
    }
    var sum = (lookedAt: notes.count, count: 0, byteCount: 0)
    var isDone = false
    defer { if !isDone { for note in notes { expirations.note(note.hash, due: note.due) } } }
    var rest = expired[...]
    while !rest.isEmpty {
      let part = rest.prefix(commits.largestRemoval)
      guard let removed = try entryRemover.tryToRemove(part, because: .expired, closing: closing) else {
        return sum.count == 0 ? nil : sum
      }
      sum.count += removed.count
      sum.byteCount += removed.byteCount
      rest = rest.dropFirst(part.count)
    }
    isDone = true
    return sum
  }

  private func noteEachIfIncomplete(_ turn: borrowing ExpiryLock.Held) {
    if expiry.takeIncomplete() { expirations.noteEach(all: lifetimes.limitsAge) }
  }

  /// Calls `expired` with each expired entry of the hash. Returns the earliest time at which one of the others may
  /// expire, in milliseconds since 1970; nil if none can. Reads heads, so the thread must hold no lock of a higher
  /// rank.
  private func examine(_ hash: KeyHash, _ turn: borrowing ExpiryLock.Held, _ expired: (RecordName) -> Void) -> Int64? {
    var next: Int64?
    var passed = PassedEntries()
    while let (slot, pin) = catalog.pinEntry(hash, besides: passed) {
      defer { pin.release() }
      passed.add(slot.location)
      guard lifetimes.limitsAge || slot.flags.contains(.expires) else { continue }
      var left = Expirer.unreadablePause
      if let header = checker.readableRecord(slot.location)?.header {
        left = lifetimes.timeLeft(header.lifetime, slot)
        if left <= 0 {
          expired(RecordName(hash: hash, location: slot.location, sequence: header.sequence))
          continue
        }
        if left == .max { continue }
      }
      next = min(next ?? .max, saturatingSum(environment.clock.wallMilliseconds(), left))
    }
    return next
  }
}
