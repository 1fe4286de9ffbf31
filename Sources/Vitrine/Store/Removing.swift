extension StoreCore {
  /// Removes the entries of many keys in one frame; answers how many there were.
  func remove(_ keys: [CacheKey], durability: Durability?) throws(StoreError) -> Int {
    try requireWritable()
    if keys.isEmpty { return 0 }
    var seen: Set<CacheKey> = []
    let keys = keys.count == 1 ? keys : keys.filter { seen.insert($0).inserted }
    var bytes: [UInt8] = []
    for key in keys {
      bytes += key.url
      bytes += key.style.bytes
    }
    let result: Result<Committed?, StoreError> = bytes.withUnsafeBytes { bytes in
      let pending = removals(of: keys, in: bytes)
      do throws(StoreError) {
        return .success(try commit(pending, moreKeys: 0))
      } catch {
        return .failure(error)
      }
    }
    guard let committed = try result.get() else { return 0 }
    if (durability ?? identity.durability) == .synced { try acknowledgeSynced(committed.sequence) }
    wake()
    return committed.removedCount
  }

  private func removals(of keys: [CacheKey], in bytes: UnsafeRawBufferPointer) -> [PendingOperation] {
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
          digest: Digest(high: 0, low: 0), logicalByteCount: 0, kind: .remove))
    }
    return pending
  }

  /// Removes what `isWanted` picks, in frames of at most 10,000 keys: each of them all or nothing.
  func removeAll(durability: Durability?, where isWanted: (RecordView) -> Bool) throws(StoreError) -> Int {
    try requireWritable()
    let found = keys(where: isWanted)
    let step = max(1, min(10_000, (wal?.capacity ?? 0) / 256))
    var removed = 0
    var start = 0
    while start < found.count {
      let end = min(start + step, found.count)
      // Only the last one waits for the disk: the log's order makes the others durable with it.
      removed += try remove(
        Array(found[start..<end]), durability: end == found.count ? durability : .buffered)
      start = end
    }
    if found.isEmpty, (durability ?? identity.durability) == .synced {
      try acknowledgeSynced((wal?.appendedSequence ?? 1) - 1)
    }
    return removed
  }

  /// Removes a damaged entry. False when it had gone already.
  func removeDamaged(_ hash: KeyHash, _ location: Location) throws(StoreError) -> Bool {
    while true {
      let done: Bool? = try locked { () throws(StoreError) in
        try requireWritable()
        guard catalog.keys.find(hash, location) else { return false }
        let displaced = catalog.displaced(at: location)
        return try record([.remove(hash, displaced)]) ? true : nil
      }
      if let done { return done }
      try checkpoint()
    }
  }

  /// Removes every entry.
  func removeAll(durability: Durability?) throws(StoreError) {
    try requireWritable()
    var sequence: UInt64 = 0
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
        unfinished.abortAll()
        inline.withLock { $0.removeAll() }
        sequence = (wal?.nextSequence ?? 1) - 1
        return true
      }
      if isDone { break }
      try checkpoint()
    }
    if (durability ?? identity.durability) == .synced { try acknowledgeSynced(sequence) }
    wake()
  }
}
