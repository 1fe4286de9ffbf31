// Eviction: entries go in the policy's order, each by a removal in the log, until there is room for others. What their
// records took is dead then, and given back by whoever takes segments apart.
extension StoreCore {
  /// Removals that one frame of evictions holds at most, so that nobody waits long for it.
  private static let mostEvictions = 256

  /// Evicts entries until `byteCount` bytes of records have died or `count` entries have gone, whichever comes first.
  /// Answers how many went; 0 when there is nothing left to evict. Under the upkeep lock.
  func evict(byteCount: Int, count: Int = .max) throws(StoreError) -> Int {
    var gone = 0
    var died = 0
    while gone < count, died < byteCount {
      switch try evictSome(byteCount: byteCount - died, count: count - gone) {
      case .none: return gone
      case .needsCheckpoint: try writeCheckpoint()
      case .evicted(let entries, let bytes):
        gone += entries
        died += bytes
      }
    }
    return gone
  }

  /// Makes room for so many new entries, where the number of entries is limited. Takes no lock of upkeep, which may be
  /// busy for long.
  func evictEntries(toAdmit new: Int) throws(StoreError) {
    while true {
      let excess = locked { entryBudget == 0 ? 0 : catalog.keyCount + new - entryBudget }
      if excess <= 0 { return }
      switch try evictSome(byteCount: .max, count: excess) {
      case .none: throw .noSpace
      case .needsCheckpoint: try checkpoint()
      case .evicted: break
      }
    }
  }

  private enum Eviction {
    case none
    case evicted(entries: Int, bytes: Int)
    case needsCheckpoint
  }

  private func evictSome(byteCount: Int, count: Int) throws(StoreError) -> Eviction {
    evictor.lock.lock()
    defer { evictor.lock.unlock() }
    // A guess by what entries take on average; it is looked at again after each frame.
    let average = max(1, locked { catalog.liveByteCount / max(1, catalog.keyCount) })
    let guess = min(count, max(1, min(byteCount / average, StoreCore.mostEvictions)))
    let victims = evictor.next(guess, in: catalog.keys)
    if victims.isEmpty { return .none }
    // Whoever was not asked for for long lies on the disk: its head is read before anybody waits for it.
    for victim in victims { bringIn(victim) }
    let now = environment.clock.wallMilliseconds()
    let outcome: Eviction
    do throws(StoreError) {
      outcome = try locked { () throws(StoreError) in
        try requireWritable()
        var changes: [Change] = []
        var bytes = 0
        var ages: [(bytes: Int, age: Int64)] = []
        let clock = catalog.keys.clock.now
        for victim in victims {
          guard let location = catalog.keys.location(of: victim.hash, stamp: victim.stamp) else { continue }
          let displaced = catalog.displaced(at: location)
          let isLast = catalog.contents.count(displaced.content, displaced.contentLocation) == 1
          let size = (displaced.headUnits + (isLast ? displaced.payloadUnits : 0)) * Unit.byteCount
          let used = catalog.useTimes.withLock { $0.time(of: victim.stamp, at: clock) } ?? now
          changes.append(.remove(victim.hash, displaced))
          ages.append((size, max(0, now &- used)))
          bytes += size
        }
        guard !changes.isEmpty else { return .evicted(entries: 0, bytes: 0) }
        guard try record(changes) else { return .needsCheckpoint }
        for (bytes, age) in ages { evictor.record.note(byteCount: bytes, ageMilliseconds: age) }
        return .evicted(entries: changes.count, bytes: bytes)
      }
    } catch {
      evictor.putBack(victims[...])
      throw error
    }
    if case .needsCheckpoint = outcome { evictor.putBack(victims[...]) }
    return outcome
  }

  private func bringIn(_ victim: Victim) {
    guard let location = catalog.keys.location(of: victim.hash, stamp: victim.stamp) else { return }
    let pinned = catalog.keys.withEntry(victim.hash, location) { catalog.segments.pin($0.location.slot) }
    guard let pin = pinned else { return }
    _ = catalog.record(at: location, checks: true)
    pin.release()
  }

  /// Keeps ages from coming round: after 2^30 uses since the last time.
  func liftOldStamps() {
    evictor.lock.lock()
    defer { evictor.lock.unlock() }
    evictor.liftStamps(of: catalog.keys)
  }
}
