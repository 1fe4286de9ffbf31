/// Walks over all entries while changes go on. Each shard's entries are copied under its lock. Then their records are
/// read one after another, each pinned while it is read. An entry put during the walk may be missed. No entry is
/// visited twice unless it was put again. If a record is moved meanwhile, the walk finds its entry again by the hash
/// and by the number of the record, because a move keeps the number.
final class EntryWalk: StorePart {
  let context: StoreContext
  private let lifetimes: Lifetimes
  private let checker: RecordChecker

  init(_ context: StoreContext, lifetimes: Lifetimes, checker: RecordChecker) {
    self.context = context
    self.lifetimes = lifetimes
    self.checker = checker
  }

  /// Calls `body` with the record, the hash and the index slot of each entry whose head is whole, until `body` returns
  /// false. Leaves out expired entries, unless `includesExpired`. Looks once at each record, in no order. Neither
  /// checks payloads nor counts as use.
  func forEachRecord<E: Error>(
    includesExpired: Bool = false, _ body: (RecordView, KeyHash, KeySlot) throws(E) -> Bool
  ) throws(E) {
    for shard in 0..<KeyTable.shardCount {
      let entries = catalog.keys.copy(shard: shard)
      // The number of each record that was visited.
      var visited = [UInt64](repeating: 0, count: entries.count)
      // The indices by hash, once an entry was moved.
      var indices: [KeyHash: [Int]] = [:]
      for index in entries.indices {
        let entry = entries[index]
        let hash = entry.hash(shard: shard)
        let pinned =
          catalog.keys.withEntry(hash, entry.location) { ($0, catalog.segments.pin($0.location.slot)) }
          ?? pinMoved(hash, among: entries, shard, visited, &indices)
        guard let (slot, pin) = pinned else { continue }
        defer { pin.release() }
        guard let view = checker.readableRecord(slot.location) else { continue }
        visited[index] = view.header.sequence
        if !includesExpired, hasExpired(view, slot) { continue }
        if try !body(view, hash, slot) { return }
      }
    }
  }

  /// Finds and pins an entry that is no longer at its place among the `entries` of its shard: one of the same hash at
  /// another place whose record was not visited. Several entries may have the hash, such as styles of a URL.
  private func pinMoved(
    _ hash: KeyHash, among entries: [KeySlot], _ shard: Int, _ visited: [UInt64], _ indices: inout [KeyHash: [Int]]
  ) -> (KeySlot, Pin)? {
    if catalog.keys.location(of: hash) == nil { return nil }
    if indices.isEmpty {
      for index in entries.indices { indices[entries[index].hash(shard: shard), default: []].append(index) }
    }
    var passed = PassedEntries()
    var records: Set<UInt64> = []
    for index in indices[hash] ?? [] {
      passed.add(entries[index].location)
      records.insert(visited[index])
    }
    while let (slot, pin) = catalog.pinEntry(hash, besides: passed) {
      let record = checker.readableRecord(slot.location)?.header.sequence
      if let record, !records.contains(record) { return (slot, pin) }
      pin.release()
      passed.add(slot.location)
    }
    return nil
  }

  private func hasExpired(_ view: RecordView, _ slot: KeySlot) -> Bool {
    (view.header.expiration != 0 || lifetimes.limitsAge) && lifetimes.hasExpired(view.header.lifetime, slot)
  }

  /// Returns the keys of all entries that `isWanted` accepts, in O(entries).
  func keys(where isWanted: (RecordView) -> Bool) -> [CacheKey] {
    var found: [CacheKey] = []
    forEachRecord { (view, _, _) throws(Never) in
      if isWanted(view) { found.append(view.key) }
      return true
    }
    return found
  }

  /// Returns the keys of all entries, the most recently used first.
  func keysByRecency() -> [CacheKey] {
    let now = catalog.keys.clock.now
    var ages: [Location: UInt32] = [:]
    for shard in 0..<KeyTable.shardCount {
      catalog.keys.forEach(shard: shard) { ages[$0.location] = RecencyClock.age(of: $0.stamp, at: now) }
    }
    var found: [(age: UInt32, key: CacheKey)] = []
    forEachRecord { (view, _, slot) throws(Never) in
      // A moved record keeps its stamp. An entry that was used since is the most recent.
      let age = ages[slot.location] ?? RecencyClock.age(of: slot.stamp, at: now)
      found.append((age > RecencyClock.oldestAge ? 0 : age, view.key))
      return true
    }
    return found.sorted { $0.age < $1.age }.map(\.key)
  }

  /// Returns every blob with this digest, as the entry of the record that carries it.
  func entries(digest: Digest) -> [EntryInfo] {
    var found: [EntryInfo] = []
    var passed = PassedEntries()
    // A record that is moved meanwhile keeps its number.
    var records: Set<UInt64> = []
    let content = catalog.hasher.content(digest)
    while true {
      guard let (location, pin) = catalog.pinCandidate(content, besides: passed) else { return found }
      if let view = checker.readableRecord(location), view.header.digest == digest,
        records.insert(view.header.sequence).inserted
      {
        // A payload may have outlived its own key.
        let slot = catalog.keys.withEntry(catalog.hash(of: view), location) { $0 }
        let isShared = commitLock.withLock { _ in catalog.contents.count(content, location) > 1 }
        if isShared || !(slot.map { hasExpired(view, $0) } ?? false) {
          found.append(
            EntryInfo(
              view, lastUse: slot.flatMap { lifetimes.useTime(of: $0, written: view.header.written) },
              isPinned: slot?.flags.contains(.pinned) ?? false))
        }
      }
      pin.release()
      passed.add(location)
    }
  }
}
