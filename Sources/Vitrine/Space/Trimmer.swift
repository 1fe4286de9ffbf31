/// Evicts entries down to a size or a count that the caller names, or by their last use. The budgets stay as they are.
final class Trimmer: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let signal: UpkeepSignal
  private let lifetimes: Lifetimes
  private let retirement: SegmentRetirement
  private let evictor: Evictor
  private let compactor: Compactor
  private let reclaimer: Reclaimer
  private let roomRelease: RoomRelease
  private let supply: SegmentSupply
  private let diskWatch: DiskWatch
  private let useHints: UseHints

  init(_ context: StoreContext, _ basics: BasicParts, _ space: SpaceParts, _ reads: ReadParts, _ writes: WriteParts) {
    self.context = context
    gate = basics.gate
    signal = basics.signal
    lifetimes = basics.lifetimes
    retirement = space.retirement
    evictor = space.evictor
    compactor = space.compactor
    reclaimer = space.reclaimer
    roomRelease = space.roomRelease
    supply = writes.supply
    diskWatch = space.diskWatch
    useHints = reads.useHints
  }

  /// Brings the folder to at most `byteCount` bytes, or as near as a store with only pinned entries comes to it. First
  /// releases room that holds no entries. Returns the number of entries removed.
  func trim(toBytes byteCount: Int) throws(StoreError) -> Int {
    guard byteCount >= 0 else { throw .invalidArgument("a store is trimmed to 0 bytes or more, not \(byteCount)") }
    // Checked before the lock is taken, because in a forked child the lock may never be released.
    try gate.requireWritable()
    useHints.takeIn(makesFile: false)
    return try upkeepLock.withLock { upkeep throws(StoreError) in
      try gate.requireWritable()
      try gate.requireNamedNow()
      return try shrink(toBytes: byteCount, upkeep)
    }
  }

  /// Trims the folder by the missing bytes and a segment if the disk has fewer free bytes than the store's minimum. If
  /// the folder stays larger than that goal, the next call trims only after the folder has grown or the disk has had
  /// room.
  func giveWay(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    let missing = diskWatch.missing(0)
    if missing <= 0 { return diskWatch.noteLeast(nil) }
    let before = diskWatch.folderByteCount
    guard diskWatch.mayGive(before) else { return }
    let goal = max(0, before - missing - commitLock.withLock { held in held.state.segmentByteCount })
    _ = try diskWatch.giving { () throws(StoreError) in try shrink(toBytes: goal, upkeep) }
    let left = diskWatch.folderByteCount
    if left > goal { diskWatch.noteLeast(left) }
  }

  /// Brings the folder to at most `byteCount` bytes, or as near as a store with only pinned entries comes to it.
  /// Returns the number of entries removed.
  func shrink(toBytes byteCount: Int, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) -> Int {
    if excess(over: byteCount) <= 0 { return 0 }
    try roomRelease.release(upkeep)
    if excess(over: byteCount) <= 0 { return 0 }
    // Entries for which there will be no room go before any record is copied.
    var unfit = commitLock.withLock { held in
      held.state.index.liveByteCount - max(0, byteCount - held.state.ledger.present)
    }
    var removed = 0
    for _ in 0..<Trimmer.mostRounds {
      if unfit > 0 { removed += try evictor.evict(byteCount: unfit, upkeep) }
      let before = excess(over: byteCount)
      try compact(downTo: byteCount, upkeep)
      try roomRelease.release(upkeep)
      let left = excess(over: byteCount)
      // Without room for copies, more evictions would not free as many bytes as they kill.
      if left >= before { break }
      // More evictions would not free the bytes that readers hold.
      unfit = left - catalog.segments.account.pinnedByteCount
      if unfit <= 0 { break }
    }
    removed += try reclaimer.makeRoom(downTo: byteCount, upkeep)
    return removed
  }

  /// The most rounds of evictions. Usually the second round evicts for the ends of segments and for the room of the
  /// next records, and the third has nothing to do.
  private static let mostRounds = 4

  private func excess(over byteCount: Int) -> Int {
    commitLock.withLock { held in held.state.ledger.total - byteCount }
  }

  /// Copies the live records out of sparse segments until the folder has at most `byteCount` bytes. The copies may take
  /// the room that the budget allows beyond that size.
  private func compact(downTo byteCount: Int, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    try retirement.sealOpenSegments(upkeep) { $0.holdsDeadRecords }
    try retirement.retireDeadSegments(upkeep)
    try retirement.trimSealedSegments(upkeep)
    while excess(over: byteCount) > 0 {
      try supply.makeCopySpare(leastDead: Compactor.leastDeadInNeed, isLong: true, upkeep)
      guard let step = try compactor.compactOnce(leastDead: Compactor.leastDeadInNeed, upkeep) else { return }
      if step.isStuck { return }
    }
  }

  /// Leaves at most `count` entries, or more if more are pinned. Returns the number of entries removed.
  func trim(toEntries count: Int) throws(StoreError) -> Int {
    guard count >= 0 else { throw .invalidArgument("a store is trimmed to 0 entries or more, not \(count)") }
    try gate.requireWritable()
    useHints.takeIn(makesFile: false)
    return try upkeepLock.withLock { upkeep throws(StoreError) in
      try gate.requireWritable()
      try gate.requireNamedNow()
      let excess = commitLock.withLock { held in held.state.index.keyCount - count }
      if excess <= 0 { return 0 }
      defer { signal.wake() }
      return try evictor.evict(byteCount: .max, count: excess, upkeep)
    }
  }

  /// Evicts all unpinned entries that were not used since `moment`, in milliseconds since 1970, in the order of their
  /// stamps. An entry that is used meanwhile stays. Returns the number of entries removed.
  func removeUnused(since moment: Int64) throws(StoreError) -> Int {
    try gate.requireWritable()
    try gate.requireNamedNow()
    useHints.takeIn(makesFile: false)
    let now = environment.clock.wallMilliseconds()
    // Entries that are put from here on stay, also if the moment is in the future.
    let moment = min(moment, saturatingSum(now, 1))
    var removed = 0
    var misses = 0
    defer { if removed > 0 { signal.wake() } }
    while misses < Trimmer.mostMisses {
      let oldest = StampOrder.next(1, in: catalog.keys)
      let unused = oldest.prefix { lifetimes.lastUse(stamp: $0.stamp, at: now) < moment }
      if unused.isEmpty { break }
      let count = try evictor.evictUnused(Array(unused))
      removed += count
      misses = count == 0 ? misses + 1 : 0
    }
    return removed
  }

  /// Consecutive rounds in which all chosen entries were used before their removal, after which the rest stay.
  private static let mostMisses = 8
}
