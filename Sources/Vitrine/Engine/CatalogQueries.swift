extension Catalog {
  /// Returns whether a location's slot still belongs to the segment of this number; nil stands for any segment. The
  /// answer stays true while the caller holds the commit lock. Without the lock, it may be outdated at once.
  func isStill(_ segment: UInt64?, _ location: Location) -> Bool {
    segment.map { $0 == segments.id(location.slot) } ?? true
  }

  /// Returns the live records of some segments, by style tag and then by location. Visits every entry of the index
  /// once.
  func liveRecords(in slots: [Int]) -> [LiveRecord] {
    var isWanted = [Bool](repeating: false, count: (slots.max() ?? 0) + 1)
    for slot in slots { isWanted[slot] = true }
    func wants(_ location: Location) -> Bool { location.slot < isWanted.count && isWanted[location.slot] }
    var contents: [Location: ContentHash] = [:]
    for shard in 0..<ContentTable.shardCount {
      self.contents.forEach(shard: shard) { word in
        let location = ContentTable.location(ofWord: word)
        if wants(location) { contents[location] = ContentTable.hash(ofWord: word, shard: shard) }
      }
    }
    var records: [LiveRecord] = []
    for shard in 0..<KeyTable.shardCount {
      keys.forEach(shard: shard) { slot in
        guard wants(slot.location) else { return }
        records.append(
          LiveRecord(
            location: slot.location, key: slot.hash(shard: shard),
            content: contents.removeValue(forKey: slot.location)))
      }
    }
    for (location, content) in contents { records.append(LiveRecord(location: location, key: nil, content: content)) }
    func order(_ record: LiveRecord) -> (UInt16, UInt64) { (record.key?.styleTag ?? 0, record.location.bits) }
    return records.sorted { order($0) < order($1) }
  }

  @inline(__always)
  func isDamaged(_ bytes: UnsafeRawBufferPointer, _ pin: Pin) -> Bool {
    segments.isDamaged(bytes, slot: segments.slot(of: pin))
  }

  func hash(of view: RecordView) -> KeyHash { hasher.key(view.url, styleTag: view.key.style.tag) }

  func isThere(_ entry: LostEntry) -> Bool {
    keys.find(entry.hash, entry.location) && isStill(entry.segment, entry.location)
  }

  /// Returns the entries whose records lie in a segment, by location.
  func keys(slot: Int) -> [(KeyHash, Location)] {
    liveRecords(in: [slot]).compactMap { record in record.key.map { ($0, record.location) } }
      .sorted { $0.1.bits < $1.1.bits }
  }

  /// Returns the entry of a key and a pin on its record; nil if there is none.
  func pinRecord(
    _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ hash: KeyHash
  ) -> (KeySlot, Pin)? {
    var passed = PassedEntries()
    while let (slot, pin) = pinEntry(hash, besides: passed) {
      if let view = record(at: slot.location, checks: true), view.has(url: url, style: style) {
        return (slot, pin)
      }
      pin.release()
      passed.add(slot.location)
    }
    return nil
  }

  /// Returns the first entry that the hash fits and that was not passed, and a pin on its record. The pin is taken
  /// under the shard's lock.
  func pinEntry(_ hash: KeyHash, besides passed: PassedEntries) -> (KeySlot, Pin)? {
    keys.find(hash, besides: passed) { slot in (slot, segments.pin(slot.location.slot)) }
  }

  /// Returns the first blob of a hash that the search has not passed. The pin on its segment is taken under the shard's
  /// lock.
  func pinCandidate(
    _ content: ContentHash, besides passed: PassedEntries = PassedEntries()
  ) -> (location: Location, pin: Pin)? {
    var found: (location: Location, pin: Pin)?
    contents.candidates(content) { location in
      if passed.contains(location) { return true }
      found = (location, segments.pin(location.slot))
      return false
    }
    return found
  }

  func styles(of hash: KeyHash) -> [(KeyHash, Location)] {
    var found: [(KeyHash, Location)] = []
    keys.forEachStyle(hash) { found.append(($1, $0.location)) }
    return found
  }

  /// Entries of a URL that a new original may outdate.
  func dependentStyles(of hash: KeyHash) -> [(KeyHash, Location)] {
    var found: [(KeyHash, Location)] = []
    keys.forEachDependentStyle(hash) { found.append(($1, $0.location)) }
    return found
  }

  func dependentStylesByAge(of hash: KeyHash) -> [(KeyHash, Location)] {
    let now = keys.clock.now
    var found: [(age: UInt32, entry: (KeyHash, Location))] = []
    keys.forEachDependentStyle(hash) { slot, hash in
      found.append((RecencyClock.age(of: slot.stamp, at: now), (hash, slot.location)))
    }
    return found.sorted { $0.age > $1.age }.map(\.entry)
  }
}
