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
        try sync(segment)
        for (hash, location) in keys(slot: slot, from: from, to: end) {
          guard case .intact = check(location, readsPayload: true) else {
            try dropLeftover(hash, location)
            continue
          }
        }
        for (hash, location) in blobs(slot: slot, from: from, to: end) {
          // A payload whose own key has gone, but which others use: they find out at their first read.
          guard case .damaged = check(location, readsPayload: true) else { continue }
          try dropSharers(hash, location)
        }
        // Records restored from the log were written after the sync above.
        if locked({ segment.isDirty }) { try sync(segment) }
        if end > catalog.segments.vouchedUpTo(slot) { catalog.segments.setVouchedUpTo(end, slot: slot) }
      }
      unchecked.removeLast()
    }
    locked { catalog.forgetReplayed() }
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

  private func dropLeftover(_ hash: KeyHash, _ location: Location) throws(StoreError) {
    while true {
      let isDone = try locked { () throws(StoreError) -> Bool in
        guard catalog.keys.find(hash, location) else { return true }
        let displaced = catalog.displaced(at: location)
        return try record([.remove(hash, displaced)])
      }
      if isDone { break }
      // The log is full: a checkpoint, which vouches for no more than the last one did, frees it.
      try writeCheckpoint()
    }
    lostCount.wrappingAdd(1, ordering: .relaxed)
  }

  /// Drops every key that uses a payload which is gone.
  private func dropSharers(_ content: ContentHash, _ location: Location) throws(StoreError) {
    for shard in 0..<KeyTable.shardCount {
      for entry in catalog.keys.copy(shard: shard) where entry.flags.contains(.reference) {
        guard let header = catalog.record(at: entry.location, checks: true)?.header,
          catalog.hasher.content(header.digest).stored == content,
          catalog.payloadLocation(of: header) ?? location == location
        else { continue }
        try dropLeftover(entry.hash(shard: shard), entry.location)
      }
    }
  }
}
