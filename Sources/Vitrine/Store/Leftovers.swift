// What a crash left: records that no checkpoint vouches for. They are served after a check on their first read; here
// all of them are checked, behind the serving, so that the next checkpoint can vouch for them (rules 4 and 7).
extension StoreCore {
  /// Checks every unvouched record of earlier openings, drops those that fail, and raises the marks. Under the upkeep
  /// lock.
  func checkLeftovers() throws(StoreError) {
    guard !isCheckingLeftovers else { return }
    isCheckingLeftovers = true
    defer { isCheckingLeftovers = false }
    while let (slot, end) = unchecked.last {
      if let segment = catalog.segments.segment(slot), segment.state != .retired {
        let from = catalog.segments.vouchedUpTo(slot)
        var lost: [(KeyHash, Location)] = []
        for (hash, location) in keys(slot: slot, from: from, to: end) {
          if try isDamaged(location) { lost.append((hash, location)) }
        }
        try drop(lost)
        for (hash, location) in blobs(slot: slot, from: from, to: end) {
          // A payload whose own key has gone, but which others use: they find out at their first read.
          guard try isDamaged(location) else { continue }
          try dropSharers(hash, location)
        }
        // What the process before has written, and what was restored from the log just now.
        try sync(segment)
        catalog.segments.raiseMark(of: segment, to: end)
      }
      locked { unchecked.removeAll { $0.slot == slot } }
    }
    locked { catalog.forgetReplayed() }
  }

  /// Gives up the entries of unchecked records whose heads are lost. Before a checkpoint that leaves leftovers unchecked:
  /// behind its position no frame tells any more what those records took. Nor does this need one: the checkpoint holds
  /// its effect. Once ``restoreCarried()`` has run, under the commit lock; reads heads alone.
  func dropHeadless() throws(SystemError) {
    for (slot, end) in unchecked {
      let from = catalog.segments.vouchedUpTo(slot)
      var lost: [(KeyHash, Location)] = []
      for (hash, location) in keys(slot: slot, from: from, to: end) where try isHeadless(location) {
        lost.append((hash, location))
      }
      for (content, location) in blobs(slot: slot, from: from, to: end) where try isHeadless(location) {
        lost += sharers(content, location)
      }
      for (hash, location) in lost where catalog.keys.find(hash, location) {
        let change = Change.remove(hash, catalog.displaced(at: location))
        catalog.apply(CollectionOfOne(change), sequence: 0, isChecked: false)
        count(lost: isFromBefore(location))
      }
    }
  }

  private func isHeadless(_ location: Location) throws(SystemError) -> Bool {
    try catalog.openRecord(at: location, checks: true) == nil
  }

  /// Throws when it cannot be known now: then nothing is dropped, and nothing vouched for.
  func isDamaged(_ location: Location) throws(StoreError) -> Bool {
    switch check(location, readsPayload: true) {
    case .intact: return false
    case .damaged: return true
    case .unavailable(let error): throw .system(error)
    }
  }

  /// The entries whose records begin in a part of a segment, in their order there.
  func keys(slot: Int, from: Int, to: Int) -> [(KeyHash, Location)] {
    var found: [(KeyHash, Location)] = []
    for shard in 0..<KeyTable.shardCount {
      catalog.keys.forEach(shard: shard) { entry in
        let location = entry.location
        if location.slot == slot, (from..<max(from, to)).contains(location.offset) {
          found.append((entry.hash(shard: shard), location))
        }
      }
    }
    return found.sorted { $0.1.bits < $1.1.bits }
  }

  private func blobs(slot: Int, from: Int, to: Int) -> [(ContentHash, Location)] {
    var found: [(ContentHash, Location)] = []
    for shard in 0..<ContentTable.shardCount {
      catalog.contents.forEach(shard: shard) { word in
        let location = ContentTable.location(ofWord: word)
        if location.slot == slot, (from..<max(from, to)).contains(location.offset) {
          found.append((ContentTable.hash(ofWord: word, shard: shard), location))
        }
      }
    }
    return found.sorted { $0.1.bits < $1.1.bits }
  }

  /// Drops entries that were lost: by a frame, or by a checkpoint where the log has no room for one. (Only this check
  /// can raise the marks on which the log's files wait, so it must not wait for them.)
  func drop(_ entries: [(KeyHash, Location)]) throws(StoreError) {
    var start = 0
    while start < entries.count {
      let part = entries[start..<min(start + 64, entries.count)]
      try locked { () throws(StoreError) in
        let changes = part.compactMap { hash, location -> Change? in
          catalog.keys.find(hash, location) ? .remove(hash, catalog.displaced(at: location)) : nil
        }
        if changes.isEmpty { return }
        if try !record(changes) {
          catalog.apply(changes, sequence: wal?.nextSequence ?? 0, isChecked: false)
          try writeCheckpointLocked(consumingSequence: true)
        }
      }
      start += part.count
    }
    for (_, location) in entries { count(lost: isFromBefore(location)) }
  }

  /// Drops every key that uses a payload which is gone.
  func dropSharers(_ content: ContentHash, _ location: Location) throws(StoreError) {
    try drop(sharers(content, location))
  }

  /// The entries, other than its record's own, that use a payload.
  private func sharers(_ content: ContentHash, _ location: Location) -> [(KeyHash, Location)] {
    var found: [(KeyHash, Location)] = []
    for shard in 0..<KeyTable.shardCount {
      for entry in catalog.keys.copy(shard: shard) where entry.flags.contains(.reference) {
        guard let header = catalog.record(at: entry.location, checks: true)?.header,
          catalog.hasher.content(header.digest).stored == content,
          catalog.payloadLocation(of: header) ?? location == location
        else { continue }
        found.append((entry.hash(shard: shard), entry.location))
      }
    }
    return found
  }
}
