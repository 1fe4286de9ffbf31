// Eviction: entries go in the policy's order, each by a removal in the log, until there is room for others. What their
// records took is dead then, and given back by whoever takes segments apart.
extension StoreCore {
  /// Removals that one frame of evictions holds at most, so that nobody waits long for it, and any log has room for it.
  private var mostEvictions: Int { min(256, largestRemoval) }

  /// After so many rounds in which whoever was next was used before it went, one goes all the same: in a small store that
  /// is read all the time nobody would ever go.
  private static let mostMisses = 8

  /// Evicts entries until `byteCount` bytes of records have died or `count` entries have gone, whichever comes first: the
  /// expired ones before all others. Answers how many went; 0 when there is nothing left to evict. Under the upkeep lock.
  func evict(byteCount: Int, count: Int = .max) throws(StoreError) -> Int {
    // What is only written anew costs nobody else his place.
    if mistrustsEarlierRecords { return 0 }
    let expired = try expire(
      count: count, byteCount: byteCount, lookingAt: StoreCore.mostLooks, isUnderUpkeep: true)
    var gone = expired.removedCount
    var died = expired.byteCount
    var missed = 0
    while gone < count, died < byteCount {
      switch try evictSome(byteCount: byteCount - died, count: count - gone, missed: &missed, closing: true) {
      case .none: return gone
      case .needsCheckpoint: try writeCheckpoint()
      case .evicted(let entries, let bytes):
        gone += entries
        died += bytes
      }
    }
    return gone
  }

  /// The same for at most `most` bytes, of which those that died are taken off.
  func evict(byteCount: Int, most: inout Int) throws(StoreError) -> Int {
    if most <= 0 { return 0 }
    if most == .max { return try evict(byteCount: byteCount) }
    let before = locked { evictor.record.byteCount }
    defer { most -= locked { evictor.record.byteCount } - before }
    return try evict(byteCount: min(byteCount, most))
  }

  /// Makes room for so many new entries, where the number of entries is limited. Takes no lock of upkeep, which may be
  /// busy for long.
  func evictEntries(toAdmit new: Int) throws(StoreError) {
    var missed = 0
    while true {
      let excess = locked { entryBudget == 0 ? 0 : catalog.keyCount + new - entryBudget }
      if excess <= 0 { return }
      if try expire(count: excess, lookingAt: StoreCore.mostLooks).removedCount > 0 { continue }
      switch try evictSome(byteCount: .max, count: excess, missed: &missed, closing: false) {
      case .none: throw .noSpace
      case .needsCheckpoint: try makeLogRoom()
      case .evicted: break
      }
    }
  }

  enum Eviction {
    case none
    case evicted(entries: Int, bytes: Int)
    case needsCheckpoint
  }

  /// `closing`: also while the store is being closed.
  private func evictSome(
    byteCount: Int, count: Int, missed: inout Int, closing: Bool
  ) throws(StoreError) -> Eviction {
    evictor.lock.lock()
    defer { evictor.lock.unlock() }
    // A guess by what entries take on average; it is looked at again after each frame.
    let average = max(1, locked { catalog.liveByteCount / max(1, catalog.keyCount) })
    let guess = min(count, max(1, min(byteCount / average, mostEvictions)))
    let insists = missed >= StoreCore.mostMisses
    let victims = insists ? [] : evictor.next(guess, in: catalog.keys)
    let heads = readAhead(
      victims.lazy.compactMap { victim in
        self.catalog.keys.location(of: victim.hash, stamp: victim.stamp).map { (victim.hash, $0) }
      })
    let outcome: Eviction
    do throws(StoreError) {
      outcome = try locked(with: heads) { () throws(StoreError) in
        try requireWritable(closing: closing)
        if !insists {
          return try evict(victims) { catalog.keys.location(of: $0.hash, stamp: $0.stamp) }
        }
        // Under this lock nothing goes and nothing moves. A use that comes now comes after the choice.
        let chosen = evictor.order.next(guess, in: catalog.keys).prefix(guess)
        return chosen.isEmpty ? .none : try evict(Array(chosen)) { $0.location }
      }
    } catch {
      evictor.putBack(victims[...])
      throw error
    }
    switch outcome {
    case .needsCheckpoint: evictor.putBack(victims[...])
    case .evicted(entries: 0, _): missed += 1
    case .evicted: missed = 0
    case .none: break
    }
    return outcome
  }

  /// Removes those of the victims that `location` still finds, in one frame. Under the commit lock.
  func evict(_ victims: [Victim], at location: (Victim) -> Location?) throws(StoreError) -> Eviction {
    let now = environment.clock.wallMilliseconds()
    let before = catalog.liveByteCount
    var changes = FrameChanges(capacity: victims.count)
    var ages: [Int64] = []
    for victim in victims {
      // Of two victims with one hash and one stamp, the place of the first is found twice.
      guard let location = location(victim), changes.remove(victim.hash, location, from: catalog) else { continue }
      let used = catalog.useTimes.time(of: victim.stamp, at: catalog.keys.clock) ?? now
      ages.append(max(0, now &- used))
    }
    if changes.list.isEmpty { return .evicted(entries: 0, bytes: 0) }
    guard try record(changes.list) else { return .needsCheckpoint }
    // What many of them shared has died once.
    let bytes = before - catalog.liveByteCount
    evictor.record.byteCount += bytes
    for age in ages { evictor.record.note(ageMilliseconds: age) }
    return .evicted(entries: changes.list.count, bytes: bytes)
  }

  /// Evicts entries wherever they are in the policy's order, if they are still where they were found. Takes the commit lock
  /// for each frame, and none before. Answers how many went.
  @discardableResult
  func evict(_ victims: [Victim]) throws(StoreError) -> Int {
    var rest = victims[...]
    var gone = 0
    while !rest.isEmpty {
      let part = Array(rest.prefix(mostEvictions))
      let heads = readAhead(part.map { ($0.hash, $0.location) })
      let outcome = try locked(with: heads) { () throws(StoreError) in
        try requireWritable()
        return try evict(part) { catalog.keys.find($0.hash, $0.location) ? $0.location : nil }
      }
      switch outcome {
      case .needsCheckpoint: try makeLogRoom()
      case .evicted(let count, _):
        gone += count
        rest = rest.dropFirst(part.count)
      case .none: rest = rest.dropFirst(part.count)
      }
    }
    return gone
  }

  /// Keeps ages from coming round: after 2^30 uses since the last time.
  func liftOldStamps() {
    evictor.lock.lock()
    defer { evictor.lock.unlock() }
    evictor.liftStamps(of: catalog)
  }
}
