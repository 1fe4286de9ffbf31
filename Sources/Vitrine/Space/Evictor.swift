/// Evicts single entries in the order of their stamps, each by a removal in the log, until there is room for others.
/// Their records are dead then, and compaction frees the space.
final class Evictor: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let commits: CommitLog
  private let checkpointer: Checkpointer
  private let readAhead: ReadAhead
  private let expirer: Expirer
  private let evictionLock: EvictionLock

  init(
    _ context: StoreContext, gate: WriteGate, commits: CommitLog, checkpointer: Checkpointer, readAhead: ReadAhead,
    expirer: Expirer
  ) {
    self.context = context
    self.gate = gate
    self.commits = commits
    self.checkpointer = checkpointer
    self.readAhead = readAhead
    self.expirer = expirer
    evictionLock = EvictionLock(VictimQueues())
  }

  /// The largest number of removals in one frame, so that other threads do not wait long for it and any log has room
  /// for it.
  private var mostEvictions: Int { min(256, commits.largestRemoval) }

  /// After this many consecutive rounds in which all chosen victims were used before their removal, victims are chosen
  /// and removed under one lock. Otherwise a small store that is read all the time would never evict.
  private static let mostMisses = 8

  /// The same for the entries of a style, which are fewer.
  private static let mostMissesOfStyle = 2

  /// Evicts entries until `byteCount` bytes of records are dead or `count` entries are removed, whichever comes first.
  /// Expired entries go before all others. Returns the number of entries removed; 0 if nothing can be evicted now.
  func evict(
    byteCount: Int, count: Int = .max, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> Int {
    // Rewriting existing entries must not evict others.
    if gate.mistrustsEarlierRecords { return 0 }
    let expired = try expirer.expire(
      count: count, byteCount: byteCount, lookingAt: Expirer.mostLooks, upkeep)
    var gone = expired.removedCount
    var died = expired.byteCount
    var missed = 0
    while gone < count, died < byteCount {
      switch try evictSome(byteCount: byteCount - died, count: count - gone, missed: &missed, closing: true) {
      case .none: return gone
      case .needsCheckpoint: try checkpointer.writeCheckpoint(upkeep)
      case .evicted(let entries, let bytes):
        gone += entries
        died += bytes
      }
    }
    return gone
  }

  /// Evicts entries until about `byteCount` or `most` bytes are dead, whichever is less, and subtracts the bytes
  /// evicted from `most`. The last frame may evict more, since it is chosen by the average size of an entry.
  func evict(
    byteCount: Int, most: inout Int, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> Int {
    if most <= 0 { return 0 }
    if most == .max { return try evict(byteCount: byteCount, upkeep) }
    let before = commitLock.withLock { held in held.state.record.eviction.byteCount }
    defer { most -= commitLock.withLock { held in held.state.record.eviction.byteCount } - before }
    return try evict(byteCount: min(byteCount, most), upkeep)
  }

  /// Makes room for new entries if the number of entries is limited. Does not take the upkeep lock, which may be held
  /// for long.
  func evictEntries(toAdmit new: Int) throws(StoreError) {
    var missed = 0
    while true {
      let excess = commitLock.withLock { held in
        held.state.entryBudget == 0 ? 0 : held.state.index.keyCount + new - held.state.entryBudget
      }
      if excess <= 0 { return }
      if try expirer.expire(count: excess, lookingAt: Expirer.mostLooks).removedCount > 0 { continue }
      switch try evictSome(byteCount: .max, count: excess, missed: &missed, closing: false) {
      case .none: throw .noSpace
      case .needsCheckpoint: try checkpointer.freeLogFiles()
      case .evicted: break
      }
    }
  }

  enum Eviction {
    case none
    case evicted(entries: Int, bytes: Int)
    case needsCheckpoint
  }

  /// Removes some of the next victims. With `closing`, it does so while the store is being closed too.
  private func evictSome(
    byteCount: Int, count: Int, missed: inout Int, closing: Bool
  ) throws(StoreError) -> Eviction {
    try evictionLock.withLock { queue throws(StoreError) in
      try evictSome(byteCount: byteCount, count: count, missed: &missed, closing: closing, queue)
    }
  }

  private func evictSome(
    byteCount: Int, count: Int, missed: inout Int, closing: Bool, _ queue: borrowing EvictionLock.Held
  ) throws(StoreError) -> Eviction {
    // An estimate from the average size of an entry; the caller checks the result after each frame.
    let average = max(
      1, commitLock.withLock { held in held.state.index.liveByteCount / max(1, held.state.index.keyCount) })
    let guess = min(count, max(1, min(byteCount / average, mostEvictions)))
    let insists = missed >= Evictor.mostMisses
    let victims = insists ? [] : queue.state.all.next(guess, in: catalog.keys)
    let heads = readAhead.readAhead(
      victims.lazy.compactMap { victim in
        self.catalog.keys.location(of: victim.hash, stamp: victim.stamp).map { (victim.hash, $0) }
      })
    let outcome: Eviction
    do throws(StoreError) {
      outcome = try commits.locked(with: heads) { held throws(StoreError) in
        try gate.requireWritable(closing: closing)
        if !insists {
          return try evict(victims, held) { catalog.keys.location(of: $0.hash, stamp: $0.stamp) }
        }
        // Under this lock no entry is removed or moved. A use from here on counts as later than the choice.
        let chosen = StampOrder.next(guess, in: catalog.keys).prefix(guess)
        return chosen.isEmpty ? .none : try evict(Array(chosen), held) { $0.location }
      }
    } catch {
      queue.state.all.putBack(victims[...])
      throw error
    }
    switch outcome {
    case .needsCheckpoint: queue.state.all.putBack(victims[...])
    case .evicted(entries: 0, _): missed += 1
    case .evicted: missed = 0
    case .none: break
    }
    return outcome
  }

  /// Evicts the least recently used entries of a style, until at least `count` entries and at least `byteCount` bytes
  /// of values are gone, but at most one frame of removals. Returns the number of entries evicted; 0 if there are none.
  func evict(style tag: UInt16, count: Int, byteCount: Int) throws(StoreError) -> Int {
    var missed = 0
    while true {
      let outcome = try evictionLock.withLock { queues throws(StoreError) in
        try evictSome(of: tag, count, byteCount, insists: missed >= Evictor.mostMissesOfStyle, queues)
      }
      switch outcome {
      case .none: return 0
      case .needsCheckpoint: try checkpointer.freeLogFiles()
      case .evicted(entries: 0, _): missed += 1
      case .evicted(let entries, _): return entries
      }
    }
  }

  private func evictSome(
    of tag: UInt16, _ count: Int, _ byteCount: Int, insists: Bool, _ queues: borrowing EvictionLock.Held
  ) throws(StoreError) -> Eviction {
    let guess = byteCount > 0 ? mostEvictions : min(count, mostEvictions)
    let victims = insists ? [] : queues.state.next(guess, ofStyle: tag, in: catalog.keys)
    // The style has no victims, or all of them were used during the search.
    if victims.isEmpty, !insists { return .evicted(entries: 0, bytes: 0) }
    let heads = readAhead.readAhead(
      victims.lazy.compactMap { victim in
        self.catalog.keys.location(of: victim.hash, stamp: victim.stamp).map { (victim.hash, $0) }
      })
    var left = victims[...]
    // Victims that are not reached, or not removed, come first the next time.
    var hasFrame = false
    defer { queues.state.putBack(hasFrame ? left : victims[...], ofStyle: tag) }
    return try commits.locked(with: heads) { held throws(StoreError) in
      try gate.requireWritable()
      let chosen =
        insists ? Array(StampOrder.next(guess, ofStyle: tag, in: catalog.keys).prefix(guess)) : victims
      if chosen.isEmpty { return .none }
      var freed = (count: 0, byteCount: 0)
      let outcome = try evict(chosen, held) { victim in
        if freed.count >= count, freed.byteCount >= byteCount { return nil }
        if !insists { left = left.dropFirst() }
        let location = insists ? victim.location : catalog.keys.location(of: victim.hash, stamp: victim.stamp)
        guard let location else { return nil }
        freed.count += 1
        freed.byteCount += held.state.index.lockedRecord(at: location, checks: false)?.header.logicalByteCount ?? 0
        return location
      }
      if case .evicted = outcome { hasFrame = true }
      return outcome
    }
  }

  /// Removes the victims that `location` still finds, in one frame.
  func evict(
    _ victims: [Victim], _ held: borrowing CommitLock.Held, at location: (Victim) -> Location?
  ) throws(StoreError) -> Eviction {
    let now = environment.clock.wallMilliseconds()
    let before = held.state.index.liveByteCount
    var changes = FrameChanges(capacity: victims.count)
    var ages: [Int64] = []
    for victim in victims {
      // For two victims with equal hash and stamp, `location` returns the place of the first twice.
      guard let location = location(victim), changes.remove(victim.hash, location, from: &held.state.index) else {
        continue
      }
      let used = catalog.useTimes.time(of: victim.stamp, at: catalog.keys.clock) ?? now
      ages.append(max(0, now &- used))
    }
    if changes.list.isEmpty { return .evicted(entries: 0, bytes: 0) }
    guard try commits.record(changes.list, because: .evicted, held) else { return .needsCheckpoint }
    // A payload that several victims shared counts once.
    let bytes = before - held.state.index.liveByteCount
    held.state.record.noteEviction(byteCount: bytes, ages: ages)
    context.events.noteEviction(entries: changes.list.count, bytes: bytes, at: now)
    return .evicted(entries: changes.list.count, bytes: bytes)
  }

  /// Evicts the given entries, whatever their stamps, if they are still where they were found. Takes the commit lock
  /// once for each frame. Returns the number of entries evicted.
  @discardableResult
  func evict(_ victims: [Victim]) throws(StoreError) -> Int {
    try evict(victims, closing: false, at: placeIfFound) { () throws(StoreError) in try checkpointer.freeLogFiles() }
  }

  /// Evicts entries as above, for a thread that holds the upkeep lock, also while the store is being closed.
  func evict(_ victims: [Victim], _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) -> Int {
    try evict(victims, closing: true, at: placeIfFound) { () throws(StoreError) in
      try checkpointer.writeCheckpoint(upkeep)
    }
  }

  /// Evicts the given entries unless they were used since they were found. Takes the commit lock once for each frame.
  /// Returns the number of entries evicted.
  func evictUnused(_ victims: [Victim]) throws(StoreError) -> Int {
    try evict(victims, closing: false) {
      catalog.keys.location(of: $0.hash, stamp: $0.stamp)
    } freeLogFiles: { () throws(StoreError) in
      try checkpointer.freeLogFiles()
    }
  }

  private func placeIfFound(_ victim: Victim) -> Location? {
    catalog.keys.find(victim.hash, victim.location) ? victim.location : nil
  }

  private func evict(
    _ victims: [Victim], closing: Bool, at location: (Victim) -> Location?,
    freeLogFiles: () throws(StoreError) -> Void
  ) throws(StoreError) -> Int {
    var rest = victims[...]
    var gone = 0
    while !rest.isEmpty {
      let part = Array(rest.prefix(mostEvictions))
      let heads = readAhead.readAhead(part.map { ($0.hash, $0.location) })
      let outcome = try commits.locked(with: heads) { held throws(StoreError) in
        try gate.requireWritable(closing: closing)
        return try evict(part, held, at: location)
      }
      switch outcome {
      case .needsCheckpoint: try freeLogFiles()
      case .evicted(let count, _):
        gone += count
        rest = rest.dropFirst(part.count)
      case .none: rest = rest.dropFirst(part.count)
      }
    }
    return gone
  }

  /// Prevents recency stamps from wrapping around. Has an effect at the first call, and after 2^30 uses since the last
  /// effect.
  func liftOldStamps() {
    evictionLock.withLock { queue in queue.state.liftStamps(of: catalog) }
  }

  /// Evicts the least recently used styles of a URL, never its original. Takes the commit lock once for each frame.
  /// Returns the number of entries evicted.
  func evictStyles(of url: KeyHash, _ count: Int) throws(StoreError) -> Int {
    let now = catalog.keys.clock.now
    var found: [(age: UInt32, victim: Victim)] = []
    catalog.keys.forEachStyle(url) { slot, hash in
      if hash.styleTag == Style.original.tag || slot.flags.contains(.pinned) { return }
      let victim = Victim(hash: hash, stamp: slot.stamp, location: slot.location)
      found.append((RecencyClock.age(of: slot.stamp, at: now), victim))
    }
    // Usually one style is evicted, for which one pass is enough.
    if count > 1 {
      found.sort { $0.age > $1.age }
    } else {
      found = found.max { $0.age < $1.age }.map { [$0] } ?? []
    }
    let victims = found.prefix(count).map(\.victim)
    // The commit lock is not held here, because heads not used for long may have to be read from the disk.
    return try evict(victims)
  }
}
