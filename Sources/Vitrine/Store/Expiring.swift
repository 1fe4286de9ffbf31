// The way out of entries that have expired. The expiry index tells which records to look at, and the record, its last use
// and the clock tell whether a get would still give the entry (``StoreCore/timeLeft(_:_:)``). So eviction takes the expired
// first, and they are not counted.
extension StoreCore {
  /// Notes that one call in the foreground, and one round of upkeep, looks at: nothing waits for a whole store.
  static let mostLooks = 16_384
  /// Closing looks at fewer: each may be a read from the disk.
  private static let mostLooksAtClosing = 4096
  /// Notes that are looked at under one hold of the lock, so that others do not wait for long.
  private static let step = 256
  /// Milliseconds until a record that could not be read is looked at again.
  private static let unreadablePause: Int64 = 60_000

  struct Expiring {
    var removedCount = 0
    var byteCount = 0
    /// Some notes that were due have not been looked at.
    var mayBeMore = false
  }

  /// Removes every entry that has expired; returns how many.
  func removeExpired() throws(StoreError) -> Int {
    try requireWritable()
    return try expire().removedCount
  }

  /// The share of one round of upkeep.
  func removeExpiredAhead() {
    if let expiring = try? expire(lookingAt: StoreCore.mostLooks), expiring.mayBeMore { wake() }
  }

  /// The bounded share of a close. Under the upkeep lock.
  func removeExpiredWhileClosing() throws(StoreError) {
    _ = try expire(lookingAt: StoreCore.mostLooksAtClosing, isUnderUpkeep: true)
  }

  /// Whether there may be expired entries, as far as is known without reading any record.
  var hasDueEntries: Bool {
    expiryLock.lock()
    defer { expiryLock.unlock() }
    noteEachIfIncomplete()
    return expirations.isDue(at: environment.clock.wallMilliseconds())
  }

  /// Entries that have not expired.
  func countEntries() -> Int {
    expiryLock.lock()
    defer { expiryLock.unlock() }
    noteEachIfIncomplete()
    var expiredCount = 0
    var seen: Set<KeyHash> = []
    for note in expirations.takeDue(at: environment.clock.wallMilliseconds(), most: .max) {
      guard seen.insert(note.hash).inserted else { continue }
      var count = 0
      let next = examine(note.hash) { _ in count += 1 }
      expiredCount += count
      if let due = count > 0 ? note.due : next { expirations.note(note.hash, due: due) }
    }
    return max(0, locked { catalog.keyCount } - expiredCount)
  }

  /// Removes expired entries until `count` have gone, or `byteCount` bytes have died, or as many notes have been looked at.
  /// `isUnderUpkeep`: under the upkeep lock, and also while the store is being closed. Else the lock is taken only where the
  /// log has no room for a removal.
  func expire(
    count: Int = .max, byteCount: Int = .max, lookingAt most: Int = .max, isUnderUpkeep: Bool = false
  ) throws(StoreError) -> Expiring {
    // An entry that is used again and again is due again and again: each is looked at once.
    let moment = environment.clock.wallMilliseconds()
    var sum = Expiring()
    var left = most
    while sum.removedCount < count, sum.byteCount < byteCount, isUnderUpkeep || !isClosing {
      if left <= 0 {
        sum.mayBeMore = true
        break
      }
      guard let step = try expireSome(min(left, StoreCore.step), dueBy: moment, closing: isUnderUpkeep) else {
        if isUnderUpkeep { try writeCheckpoint() } else { try checkpoint() }
        continue
      }
      if step.lookedAt == 0 { break }
      left -= step.lookedAt
      sum.removedCount += step.count
      sum.byteCount += step.byteCount
    }
    return sum
  }

  /// One step; nil when the log has no room for it now.
  private func expireSome(
    _ most: Int, dueBy moment: Int64, closing: Bool
  ) throws(StoreError) -> (lookedAt: Int, count: Int, byteCount: Int)? {
    expiryLock.lock()
    defer { expiryLock.unlock() }
    noteEachIfIncomplete()
    let notes = expirations.takeDue(at: moment, most: most)
    var expired: [RecordName] = []
    for note in notes {
      if let due = examine(note.hash, { expired.append($0) }) { expirations.note(note.hash, due: due) }
    }
    var sum = (lookedAt: notes.count, count: 0, byteCount: 0)
    var isDone = false
    defer { if !isDone { for note in notes { expirations.note(note.hash, due: note.due) } } }
    for start in stride(from: 0, to: expired.count, by: largestRemoval) {
      let part = expired[start..<min(start + largestRemoval, expired.count)]
      guard let removed = try tryToRemove(part, closing: closing) else { return sum.count == 0 ? nil : sum }
      sum.count += removed.count
      sum.byteCount += removed.byteCount
    }
    isDone = true
    return sum
  }

  /// Under the expiry lock.
  private func noteEachIfIncomplete() {
    if expiry.takeIncomplete() { expirations.noteEach(all: limitsAge) }
  }

  /// Calls `expired` with each entry of the hash that has expired. Answers when the first of the others may expire, if any
  /// of them does. Reads heads; under the expiry lock and no other.
  private func examine(_ hash: KeyHash, _ expired: (RecordName) -> Void) -> Int64? {
    var next: Int64?
    var skip = 0
    while let (slot, pin) = catalog.keys.find(
      hash, skip: skip, counts: false, { slot in (slot, self.catalog.segments.pin(slot.location.slot)) })
    {
      defer { pin.release() }
      skip += 1
      guard limitsAge || slot.flags.contains(.expires) else { continue }
      var left = StoreCore.unreadablePause
      if let header = readableRecord(slot.location)?.header {
        left = timeLeft(header.lifetime, slot)
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
