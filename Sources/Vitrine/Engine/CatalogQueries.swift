extension Catalog {
  /// Segments that were retired in the log: their files are orphans by now.
  func dropRetired() {
    for case let segment? in segments.segments where segment.state == .retired {
      segments.remove(slot: segment.slot)
      segments.giveBack(slot: segment.slot)
    }
  }

  /// Whether a slot is still that segment's: for good under the commit lock, else for now.
  func isStill(_ segment: UInt64?, _ location: Location) -> Bool {
    segment.map { $0 == segments.id(location.slot) } ?? true
  }

  /// Segments that could be taken apart: not those with one large record, of which nothing is dead.
  func compactable(_ held: borrowing CommitLock.Held) -> [SegmentLoad] {
    segments.segments.compactMap { segment in
      guard let segment, segment.state == .sealed, segment.liveCount > 0, segment.pendingCount == 0,
        segment.unfilled.isEmpty, segment.stream != .single
      else { return nil }
      return SegmentLoad(
        slot: segment.slot, stream: segment.stream,
        liveByteCount: (segment.liveUnits + segment.boundUnits) * Unit.byteCount,
        byteCount: segment.tail - SegmentHeader.byteCount)
    }
  }

  /// What is needed in some segments, by style, then as it lies there. Looks once at every entry of the index.
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

  /// The entries whose records begin in a segment, in their order there.
  func keys(slot: Int) -> [(KeyHash, Location)] {
    liveRecords(in: [slot]).compactMap { record in record.key.map { ($0, record.location) } }
      .sorted { $0.1.bits < $1.1.bits }
  }

  /// The entry of a key and a pin on its record.
  func pinRecord(
    _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ hash: KeyHash
  ) -> (KeySlot, Pin)? {
    var skip = 0
    while let (slot, pin) = keys.find(
      hash, skip: skip, counts: false, { slot in (slot, self.segments.pin(slot.location.slot)) })
    {
      if let view = record(at: slot.location, checks: true), view.has(url: url, style: style) {
        return (slot, pin)
      }
      pin.release()
      skip += 1
    }
    return nil
  }

  /// The blob after the first `skip` that a hash fits, and a pin on its segment, taken under the shard's lock.
  func pinCandidate(_ content: ContentHash, skip: Int) -> (location: Location, pin: Pin)? {
    var left = skip
    var found: (location: Location, pin: Pin)?
    contents.candidates(content) { location in
      if left > 0 {
        left -= 1
        return true
      }
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

  /// Those that an original may outdate.
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
