/// Removes keys, all styles of a URL, and entries by a condition.
final class Remover: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let signal: UpkeepSignal
  private let commits: CommitLog
  private let syncer: Syncer
  private let checker: RecordChecker
  private let checkpointer: Checkpointer
  private let committer: Committer
  private let entryRemover: EntryRemover
  private let bodies: BodyRegistry
  private let walk: EntryWalk

  init(
    _ context: StoreContext, _ basics: BasicParts, _ checkpoints: CheckpointParts, _ reads: ReadParts,
    committer: Committer, bodies: BodyRegistry
  ) {
    self.context = context
    gate = basics.gate
    signal = basics.signal
    commits = basics.commits
    syncer = basics.syncer
    checker = checkpoints.checker
    checkpointer = checkpoints.checkpointer
    self.committer = committer
    entryRemover = checkpoints.entryRemover
    self.bodies = bodies
    walk = reads.walk
  }

  /// Removes the entries of many keys in one frame. Returns the number of entries removed. `abortsBodies` is true if
  /// the caller named the keys, false if a walk over the entries found them.
  func remove(
    _ keys: [CacheKey], durability: Durability?, abortsBodies: Bool = true
  ) throws(StoreError) -> Int {
    try gate.requireWritable()
    try gate.requireNamedNow()
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
        return .success(try committer.commit(pending, moreKeys: 0, awaitsSync: isSynced))
      } catch {
        return .failure(error)
      }
    }
    guard let committed = try result.get() else { return 0 }
    if isSynced { try syncer.acknowledgeSynced(committed.sequence) }
    if committed.emptiesSegment { signal.wake() }
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
          key: OperationKey(hash: catalog.hasher.key(url, styleTag: key.style.tag), url: url, style: style),
          digest: Digest(high: 0, low: 0), logicalByteCount: 0, abortsBodies: abortsBodies))
    }
    return pending
  }

  /// The most entries of a URL that are removed together, so that no change waits long for the commit lock.
  static let mostStylesTogether = 1024

  /// Removes every style of a URL. The last 1,024 of them are removed together, in one frame, or by a checkpoint if
  /// they exceed the log. Others are removed before, in frames of their own.
  func removeStyles(_ url: [UInt8], durability: Durability?) throws(StoreError) -> Int {
    try gate.requireWritable()
    let isSynced = (durability ?? identity.durability) == .synced
    try gate.requireNamedNow()
    var earlier = 0
    let result: Result<Committed?, StoreError> = url.withUnsafeBytes { url in
      let operation = PendingOperation(
        key: OperationKey(
          hash: catalog.hasher.key(url, styleTag: 0), url: url, style: UnsafeRawBufferPointer(start: nil, count: 0)),
        digest: Digest(high: 0, low: 0), logicalByteCount: 0, abortsBodies: true, removesAllStyles: true)
      do throws(StoreError) {
        earlier = try removeExcessStyles(url, operation.key.hash)
        return .success(try committer.commit([operation], moreKeys: 0, awaitsSync: isSynced))
      } catch {
        return .failure(error)
      }
    }
    guard let committed = try result.get() else { return earlier }
    if isSynced { try syncer.acknowledgeSynced(committed.sequence) }
    if committed.emptiesSegment { signal.wake() }
    return earlier + committed.removedCount
  }

  /// Removes styles of a URL until about 1,024 are left, and returns how many it removed. Takes the commit lock for
  /// each frame.
  private func removeExcessStyles(_ url: UnsafeRawBufferPointer, _ hash: KeyHash) throws(StoreError) -> Int {
    var removed = 0
    var rest = catalog.styles(of: hash).dropLast(Remover.mostStylesTogether)
    while !rest.isEmpty {
      let step = min(Remover.mostStylesTogether, commits.largestRemoval)
      let names = rest.prefix(step).compactMap { name($0, $1, ofURL: url) }
      guard let gone = try entryRemover.tryToRemove(names) else {
        try checkpointer.freeLogFiles()
        continue
      }
      removed += gone.count
      rest = rest.dropFirst(step)
    }
    return removed
  }

  /// Returns nil for an entry that is gone, belongs to another URL, or cannot be read.
  private func name(_ hash: KeyHash, _ location: Location, ofURL url: UnsafeRawBufferPointer) -> RecordName? {
    let pinned = catalog.keys.withEntry(hash, location) { self.catalog.segments.pin($0.location.slot) }
    guard let pin = pinned else { return nil }
    defer { pin.release() }
    guard let view = catalog.record(at: location, checks: true), view.has(url: url) else { return nil }
    return RecordName(hash: hash, location: location, sequence: view.header.sequence)
  }

  /// Removes the entries that `isWanted` accepts, in frames of at most 10,000 keys. Each frame is all or nothing, and
  /// no more keys than that are collected at a time. Bodies that `isWantedBody` accepts are aborted first.
  func removeAll(
    durability: Durability?, includesExpired: Bool = true, where isWanted: (RecordView, KeySlot) -> Bool,
    orBody isWantedBody: (UnfinishedBody, _ receivedByteCount: Int) -> Bool
  ) throws(StoreError) -> Int {
    try gate.requireWritable()
    try gate.requireNamedNow()
    try bodies.abortBodies(where: isWantedBody)
    let step = commits.largestRemoval
    var keys: [CacheKey] = []
    var removed = 0
    try walk.forEachRecord(includesExpired: includesExpired) { (view, _, slot) throws(StoreError) in
      guard isWanted(view, slot) else { return true }
      keys.append(view.key)
      guard keys.count == step else { return true }
      removed += try remove(keys, durability: .buffered, abortsBodies: false)
      keys.removeAll(keepingCapacity: true)
      return true
    }
    removed += try remove(keys, durability: .buffered, abortsBodies: false)
    // One wait for the disk: by the order of the log, all frames are durable when the last one is.
    if (durability ?? identity.durability) == .synced { try syncer.acknowledgeSynced((wal?.appendedSequence ?? 1) - 1) }
    return removed
  }

  /// Removes every entry.
  func removeAll(durability: Durability?) throws(StoreError) {
    try gate.requireWritable()
    try gate.requireNamedNow()
    var sequence: UInt64 = 0
    var emptiesSegment = false
    while true {
      let isDone = try commitLock.withLock { held throws(StoreError) in
        try gate.requireWritable()
        var changes: [Change] = [.removeAll]
        for segment in held.state.writable.allOpen {
          changes.append(.segmentSealed(slot: segment.slot, byteCount: held.state[segment].byteCount))
        }
        guard try commits.record(changes, held) else { return false }
        // No entry needs the records that the log carries any more, and other records will take their locations.
        held.state.writable.closeAll()
        held.state.abortAllBodies()
        checker.forgetCarriedRecords()
        catalog.misses.noteRemovalOfAll()
        sequence = held.state.log.nextSequence - 1
        emptiesSegment = held.state.index.takeHasEmptiedSegments()
        return true
      }
      if isDone { break }
      try checkpointer.freeLogFiles()
    }
    if (durability ?? identity.durability) == .synced { try syncer.acknowledgeSynced(sequence) }
    if emptiesSegment { signal.wake() }
  }

  /// Removes every entry whose URL begins with `prefix` and whose URL's hash is not among `hashes`. The hashes have 64
  /// bits and depend on the store's secret. If two URLs have the same hash, too much is kept, never too little.
  func retain(only hashes: Set<UInt64>, prefix: [UInt8], durability: Durability?) throws(StoreError) -> Int {
    func isWanted(_ url: UnsafeRawBufferPointer) -> Bool {
      url.starts(with: prefix) && !hashes.contains(catalog.hasher.wholeURL(url))
    }
    return try removeAll(durability: durability) { view, _ in
      isWanted(view.url)
    } orBody: { body, _ in
      body.target.key.url.withUnsafeBytes(isWanted)
    }
  }
}
