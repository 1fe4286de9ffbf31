extension StoreCore {
  /// Removes the entries of many keys in one frame; answers how many there were. `abortsBodies` when the keys were
  /// named, and not found by looking at their entries.
  func remove(
    _ keys: [CacheKey], durability: Durability?, abortsBodies: Bool = true
  ) throws(StoreError) -> Int {
    try requireWritable()
    try requireNamedNow()
    if keys.isEmpty { return 0 }
    var seen: Set<CacheKey> = []
    let keys = keys.count == 1 ? keys : keys.filter { seen.insert($0).inserted }
    var bytes: [UInt8] = []
    for key in keys {
      bytes += key.url
      bytes += key.style.bytes
    }
    let isSynced = (durability ?? identity.durability) == .synced
    let result: Result<Committed?, StoreError> = bytes.withUnsafeBytes { bytes in
      let pending = removals(of: keys, in: bytes, abortsBodies: abortsBodies)
      do throws(StoreError) {
        return .success(try commit(pending, moreKeys: 0, awaitsSync: isSynced))
      } catch {
        return .failure(error)
      }
    }
    guard let committed = try result.get() else { return 0 }
    if isSynced { try acknowledgeSynced(committed.sequence) }
    if committed.emptiesSegment { wake() }
    return committed.removedCount
  }

  private func removals(
    of keys: [CacheKey], in bytes: UnsafeRawBufferPointer, abortsBodies: Bool
  ) -> [PendingOperation] {
    var pending: [PendingOperation] = []
    pending.reserveCapacity(keys.count)
    var offset = 0
    func next(_ count: Int) -> UnsafeRawBufferPointer {
      defer { offset += count }
      return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }
    for key in keys {
      let url = next(key.url.count)
      let style = next(key.style.bytes.count)
      pending.append(
        PendingOperation(
          hash: catalog.hasher.key(url, styleTag: key.style.tag), url: url, style: style,
          digest: Digest(high: 0, low: 0), logicalByteCount: 0, abortsBodies: abortsBodies, kind: .remove))
    }
    return pending
  }

  /// Removes every style of a URL together: one frame, or a checkpoint where they are more than the log holds.
  func removeStyles(_ url: [UInt8], durability: Durability?) throws(StoreError) -> Int {
    try requireWritable()
    let isSynced = (durability ?? identity.durability) == .synced
    try requireNamedNow()
    let result: Result<Committed?, StoreError> = url.withUnsafeBytes { url in
      let operation = PendingOperation(
        hash: catalog.hasher.key(url, styleTag: 0), url: url, style: UnsafeRawBufferPointer(start: nil, count: 0),
        digest: Digest(high: 0, low: 0), logicalByteCount: 0, abortsBodies: true, kind: .removeStyles)
      do throws(StoreError) {
        return .success(try commit([operation], moreKeys: 0, awaitsSync: isSynced))
      } catch {
        return .failure(error)
      }
    }
    guard let committed = try result.get() else { return 0 }
    if isSynced { try acknowledgeSynced(committed.sequence) }
    if committed.emptiesSegment { wake() }
    return committed.removedCount
  }

  /// Entries that one frame removes, of those that need not go together.
  var largestRemoval: Int { max(1, min(10_000, (wal?.capacity ?? 0) / 256)) }

  /// Removes what `isWanted` picks, in frames of at most 10,000 keys: each of them all or nothing. Collects no more keys
  /// than that at a time. Bodies that `isWantedBody` picks are aborted first.
  func removeAll(
    durability: Durability?, includesExpired: Bool = true, where isWanted: (RecordView, KeySlot) -> Bool,
    orBody isWantedBody: (UnfinishedBody, _ receivedByteCount: Int) -> Bool
  ) throws(StoreError) -> Int {
    try requireWritable()
    try requireNamedNow()
    try abortBodies(where: isWantedBody)
    let step = largestRemoval
    var keys: [CacheKey] = []
    var removed = 0
    try forEachRecord(includesExpired: includesExpired) { (view, _, slot) throws(StoreError) in
      guard isWanted(view, slot) else { return true }
      keys.append(view.key)
      guard keys.count == step else { return true }
      removed += try remove(keys, durability: .buffered, abortsBodies: false)
      keys.removeAll(keepingCapacity: true)
      return true
    }
    removed += try remove(keys, durability: .buffered, abortsBodies: false)
    // One wait for the disk: the log's order makes all frames durable with the last.
    if (durability ?? identity.durability) == .synced { try acknowledgeSynced((wal?.appendedSequence ?? 1) - 1) }
    return removed
  }

  /// Removes those of the entries that are still there as they were named, in one frame; answers how many, and the bytes
  /// that died, or nil when the log has no room for it now. `closing` is for a removal that is part of closing.
  func tryToRemove(
    _ names: some Collection<RecordName>, closing: Bool = false
  ) throws(StoreError) -> (count: Int, byteCount: Int)? {
    let heads = readAhead(names.lazy.map { ($0.hash, $0.location) })
    return try locked(with: heads) { () throws(StoreError) in
      try requireWritable(closing: closing)
      var changes = FrameChanges(capacity: names.count)
      for name in names where catalog.keys.find(name.hash, name.location) {
        // By its number too: the place may have been given to another record of the key.
        guard catalog.lockedRecord(at: name.location, checks: false)?.header.sequence == name.sequence else { continue }
        changes.remove(name.hash, name.location, from: catalog)
      }
      if changes.list.isEmpty { return (0, 0) }
      let before = catalog.liveByteCount
      return try record(changes.list) ? (changes.list.count, before - catalog.liveByteCount) : nil
    }
  }

  /// Removes a damaged entry. False when it had gone already.
  func removeDamaged(
    _ hash: KeyHash, _ location: Location, in segment: UInt64? = nil
  ) throws(StoreError) -> Bool {
    while true {
      let done: Bool? = try locked { () throws(StoreError) in
        try requireWritable()
        guard catalog.keys.find(hash, location), isStill(segment, location) else { return false }
        let displaced = catalog.displaced(at: location)
        return try record([.remove(hash, displaced)]) ? true : nil
      }
      if let done { return done }
      try makeLogRoom()
    }
  }

  /// Removes every entry.
  func removeAll(durability: Durability?) throws(StoreError) {
    try requireWritable()
    try requireNamedNow()
    var sequence: UInt64 = 0
    var emptiesSegment = false
    while true {
      let isDone = try locked { () throws(StoreError) in
        try requireWritable()
        var changes: [Change] = [.removeAll]
        for case let segment? in openSegments {
          changes.append(.segmentSealed(slot: segment.slot, byteCount: segment.byteCount))
        }
        guard try record(changes) else { return false }
        // The log's own copies are of no more use; their places will be given anew.
        openSegments = Array(repeating: nil, count: openSegments.count)
        abortAllBodies()
        inline.withLock { $0.removeAll() }
        sequence = (wal?.nextSequence ?? 1) - 1
        emptiesSegment = catalog.takeHasEmptiedSegments()
        return true
      }
      if isDone { break }
      try makeLogRoom()
    }
    if (durability ?? identity.durability) == .synced { try acknowledgeSynced(sequence) }
    if emptiesSegment { wake() }
  }
}

/// An entry as it was when somebody decided that it should go.
struct RecordName {
  let hash: KeyHash
  let location: Location
  let sequence: UInt64
}
