/// Figures of a store's engine for tests, and the few steps that a test takes in place of upkeep.
package struct StoreProbe {
  let core: StoreCore

  // MARK: Opening

  /// Differs between a store and its successor.
  package var number: ObjectIdentifier { ObjectIdentifier(core) }

  /// The identity at opening.
  package var identity: StoreIdentity { core.context.opening.identity }
  /// The first sequence number of this opening.
  package var firstSequence: UInt64 { core.context.opening.firstSequence }
  /// The folder of the log.
  package var walFolder: any Directory { core.context.folders.wal }
  /// The time of the store's clock, in milliseconds.
  package var wallMilliseconds: Int64 { core.context.environment.clock.wallMilliseconds() }
  /// Whether any `AsyncSequence` of events has a subscriber.
  var hasListeners: Bool { core.context.events.hasSubscribers }
  /// The counters that the COUNTERS file has.
  var publishedCounters: Counters { core.basics.meters.publishedCounters }

  // MARK: Index

  /// Keys in the index; some may have expired.
  package var keyCount: Int { core.context.commitLock.withLock { held in held.state.index.keyCount } }
  package var blobCount: Int { core.context.commitLock.withLock { held in held.state.index.blobCount } }
  package var logicalByteCount: Int { core.context.commitLock.withLock { held in held.state.index.logicalByteCount } }
  /// The number of the segment that is made next.
  package var nextSegment: UInt64 { core.context.commitLock.withLock { held in held.state.index.nextSegment } }

  /// The sample from which the miss-ratio curve is estimated.
  var misses: MissSampler { core.context.catalog.misses }
  func isSampled(_ key: CacheKey) -> Bool { misses.follows(hash(of: key)) }

  package func hash(of key: CacheKey) -> KeyHash {
    key.url.withUnsafeBytes { core.context.catalog.hasher.key($0, styleTag: key.style.tag) }
  }

  /// Reads the index and the accounts of the segments.
  func withIndex<R>(_ body: (borrowing CatalogWriter) throws -> R) rethrows -> R {
    try core.context.commitLock.withLock { held in try body(held.state.index) }
  }

  /// Bytes of a checkpoint file for the present index plus `moreKeys` keys and `moreSegments` segments.
  func checkpointByteCount(moreKeys: Int = 0, moreSegments: Int = CatalogWriter.spareSegments) -> Int {
    core.context.commitLock.withLock { held in
      held.state.indexRoom(moreKeys: moreKeys, moreSegments: moreSegments).fileByteCount
    }
  }

  /// The removal of the entry at a location.
  func displaced(at location: Location) -> Change.Displaced {
    core.context.commitLock.withLock { held in held.state.index.displaced(at: location) }
  }

  /// The segments by slot.
  package var segments: [Segment?] { core.context.commitLock.withLock { held in held.state.index.segments.all } }
  /// A segment's account as it is now.
  package func account(_ segment: Segment) -> SegmentAccount {
    core.context.commitLock.withLock { held in held.state[segment] }
  }

  /// Reservations that are neither committed nor abandoned yet.
  var pendingCount: Int {
    withIndex { index in
      index.segments.all.reduce(0) { $0 + ($1.map { index.segments[$0].fill.pendingCount } ?? 0) }
    }
  }

  // MARK: Log

  /// The writer's log at one moment.
  struct LogState {
    let files: [LogWriter.Entry]
    let active: LogWriter.Entry?
    let room: Int
    let position: WALPosition
    let opening: UInt64
    var freeCount: Int { files.count { $0.state == .free } }
    /// The file of this use.
    func file(use: UInt64) -> LogFile? { files.first { $0.header?.use == use }?.file }
    func entry(_ file: LogFile) -> LogWriter.Entry? { files.first { $0.file === file } }
  }

  var log: LogState {
    core.context.commitLock.withLock { held in
      LogState(
        files: held.state.log.files, active: held.state.log.active, room: held.state.log.room,
        position: held.state.log.position, opening: held.state.log.opening)
    }
  }

  /// The durability of the log. Traps for a read-only opening.
  var wal: WAL { core.context.wal! }

  /// Appends a frame, but does not apply its changes to the index.
  func append(_ frame: ByteBuffer, changeCount: Int) throws(SystemError) -> UInt64 {
    try core.context.commitLock.withLock { held throws(SystemError) in
      try held.state.log.append(frame, changeCount: changeCount)
    }
  }

  /// Skips the sequence numbers of `count` frames.
  func skipSequence(_ count: UInt64) {
    core.context.commitLock.withLock { held in held.state.log.skipSequence(count) }
  }

  // MARK: Space

  var spares: [Segment] { core.context.commitLock.withLock { held in held.state.writable.spares } }
  /// Segments that take records now.
  var openSegments: [Segment] { core.context.commitLock.withLock { held in held.state.writable.allOpen } }
  var segmentByteCount: Int { core.context.commitLock.withLock { held in held.state.segmentByteCount } }
  var leastBudget: Int { core.context.commitLock.withLock { held in held.state.ledger.leastBudget } }
  /// Bytes of unlinked files that readers still hold.
  var unlinkedByteCount: Int { core.context.commitLock.withLock { held in held.state.ledger.unlinked } }
  /// Bytes of segments that fit beside the open ones.
  var roomBesideOpen: Int { core.context.commitLock.withLock { held in held.state.roomBesideOpen } }
  /// Bytes that must be freed before `byteCount` more fit.
  func missing(_ byteCount: Int) -> Int {
    core.context.commitLock.withLock { held in held.state.ledger.missing(byteCount) }
  }

  /// Sets the budget, to the ledger's total by default, and leaves the folder as it is.
  func setBudget(_ byteCount: Int? = nil) {
    core.context.commitLock.withLock { held in
      let byteCount = byteCount ?? held.state.ledger.total
      held.state.current.byteBudget = byteCount
      held.state.ledger.set(budget: byteCount)
    }
  }

  /// Returns the segments that the cleaner would try one after another if none could be emptied.
  func victims(_ count: Int) -> [Segment] {
    guard let rules = core.context.opening.policyRules.cleaning else { return [] }
    return core.context.commitLock.withLock { held in
      var tried: [Segment] = []
      while tried.count < count,
        let next = held.state.nextVictim(by: rules, reclaimsDead: false, except: tried.map(\.id), KeptSegments())?.0
      {
        tried.append(next)
      }
      return tried
    }
  }

  /// Makes a segment and names it in the log. Returns nil if the log had no room and a checkpoint was written.
  package func makeSegment(byteCount: Int) throws(StoreError) -> Segment? {
    try core.context.upkeepLock.withLock { upkeep throws(StoreError) in
      try core.writes.supply.makeSegment(byteCount: byteCount, upkeep)
    }
  }

  // MARK: Checkpoints

  /// Whether the files of the index have room for so many more keys.
  func hasRoomForIndex(moreKeys: Int = 0) -> Bool {
    core.context.commitLock.withLock { held in held.state.hasRoomForIndex(moreKeys: moreKeys) }
  }
  /// The room that the files of the index have.
  var indexRoom: IndexRoom { core.context.commitLock.withLock { held in held.state.checkpoint.room } }
  /// The reading of the recency clock up to which uses are saved.
  var savedUses: UInt64 { core.context.upkeepLock.withLock { upkeep in upkeep.state.uses.saved } }
  /// Bytes of the index for which both checkpoint files have room.
  var checkpointRoom: Int { core.context.commitLock.withLock { held in held.state.checkpoint.room.fileByteCount } }
  /// Bytes of the disk that the checkpoint files take.
  var checkpointByteCount: Int { core.context.commitLock.withLock { held in held.state.ledger[.checkpoints] } }
  var checkpoints: CheckpointSet { core.context.upkeepLock.withLock { upkeep in upkeep.state.checkpoints } }

  /// Makes the store act as if the checkpoint files had this much room for the index.
  func setCheckpointRoom(_ byteCount: Int) {
    core.context.commitLock.withLock { held in
      let blockCount = held.state.checkpoint.room.blockCount
      held.state.checkpoint.set(room: IndexRoom(fileByteCount: byteCount, blockCount: blockCount))
    }
  }

  /// Tells the next upkeep that a checkpoint is wanted.
  package func requestCheckpoint() { core.basics.signal.requestCheckpoint() }

  var wantsCheckpoint: Bool { core.basics.signal.wantsCheckpoint }

  // MARK: After a crash

  var unchecked: [Leftover] { core.context.commitLock.withLock { held in held.state.leftovers.unchecked } }
  /// Number of segments with records that the check of leftovers has not checked yet.
  package var uncheckedCount: Int { unchecked.count }
  /// Whether the heads of replayed records have been read.
  var hasFoundHeadless: Bool { core.context.commitLock.withLock { held in held.state.leftovers.hasFoundHeadless } }
  /// Whether replayed frames carry records that no checkpoint of this opening covers yet.
  package var hasCarriedRecords: Bool { core.checkpoints.checker.hasCarriedRecords }
  var orphans: [String] { core.context.upkeepLock.withLock { upkeep in upkeep.state.orphans.names } }
  var nextRecord: UInt64 { core.context.commitLock.withLock { held in held.state.nextRecord } }
  /// The state of a read-only opening; nil for a writer.
  var follower: Follower? { core.context.upkeepLock.withLock { upkeep in upkeep.state.follower } }

  // MARK: Unfinished bodies

  var unfinishedBodies: [UnfinishedBody] { core.context.commitLock.withLock { held in held.state.unfinished.all } }
  func unfinishedBodies(_ hash: KeyHash) -> [UnfinishedBody] {
    core.context.commitLock.withLock { held in held.state.unfinished.candidates(hash) }
  }
  /// Bytes of the disk that unfinished bodies hold.
  var heldByteCount: Int {
    core.context.commitLock.withLock { held in held.state.admissions.heldByteCount(held.state.index.segments) }
  }
  /// Unfinished bodies that hold bytes of the disk, with their room in a segment.
  var bodiesWithRoom: [(heldByteCount: Int, segment: Segment?)] {
    core.context.commitLock.withLock { held in
      held.state.unfinished.all.compactMap { body in
        let byteCount = held.state.admissions.heldByteCount(of: body)
        return byteCount > 0 ? (byteCount, held.state.admissions.room(of: body)?.segment) : nil
      }
    }
  }
  /// Requests that wait for room.
  var waiterCount: Int { core.context.commitLock.withLock { held in held.state.admissions.waiterCount } }
  /// How often requests for room were examined so far.
  var lookCount: Int { core.context.commitLock.withLock { held in held.state.admissions.lookCount } }
  /// Whether no request waits for room and no other thread holds room in flight.
  package var onlyThisThreadHoldsRoom: Bool {
    core.context.commitLock.withLock { held in
      held.state.admissions.waiterCount == 0 && held.state.admissions.areOwn
    }
  }

  // MARK: Steps

  func retireDeadSegments() throws(StoreError) {
    _ = try core.context.upkeepLock.withLock { upkeep throws(StoreError) in
      try core.space.retirement.retireDeadSegments(upkeep)
    }
  }

  func trimSealedSegments() throws(StoreError) {
    try core.context.upkeepLock.withLock { upkeep throws(StoreError) in
      try core.space.retirement.trimSealedSegments(upkeep)
    }
  }

  func makeRoom(for byteCount: Int) throws(StoreError) {
    try core.context.upkeepLock.withLock { upkeep throws(StoreError) in
      try core.space.reclaimer.makeRoom(for: byteCount, upkeep)
    }
  }

  @discardableResult
  func evict(byteCount: Int, count: Int = .max) throws(StoreError) -> Int {
    try core.context.upkeepLock.withLock { upkeep throws(StoreError) in
      try core.space.evictor.evict(byteCount: byteCount, count: count, upkeep)
    }
  }

  @discardableResult
  func compactOnce(leastDead: Double, goesOn: () -> Bool) throws(StoreError) -> CompactionStep? {
    try core.context.upkeepLock.withLock { upkeep throws(StoreError) in
      try core.space.compactor.compactOnce(leastDead: leastDead, upkeep, goesOn: goesOn)
    }
  }

  /// Writes a frame of changes. Returns false if the log has no room for it.
  func record(_ changes: [Change]) throws(StoreError) -> Bool {
    try core.context.commitLock.withLock { held throws(StoreError) in try core.basics.commits.record(changes, held) }
  }

  /// Writes a checkpoint that takes the place of a frame.
  func writeCheckpointForAChange() throws(StoreError) {
    try core.context.upkeepLock.withLock { upkeep throws(StoreError) in
      try core.context.commitLock.withLock { held throws(StoreError) in
        try core.checkpoints.checkpointer.writeCheckpoint(consumingSequence: true, upkeep, held)
      }
    }
  }

  /// Reserves room in an open segment that `isWanted` accepts, and leaves it unfilled.
  func reserve(
    headByteCount: Int, payloadByteCount: Int, where isWanted: (Segment, SegmentAccount) -> Bool
  ) -> Reservation? {
    core.context.commitLock.withLock { held in
      held.state.writable.allOpen.first { isWanted($0, held.state[$0]) }.flatMap {
        held.state.index.segments.reserve(
          in: $0, headByteCount: headByteCount, payloadByteCount: payloadByteCount, pageAligned: false)
      }
    }
  }

  /// Ends a reservation that no frame names.
  func abandon(_ reservation: Reservation) {
    core.context.commitLock.withLock { held in
      held.state[reservation.segment].filled(reservation, isCarried: false)
      held.state[reservation.segment].fill.endReservation()
    }
  }

  /// The location of a key's live record; nil if there is none.
  func location(_ hash: KeyHash, _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer) -> Location? {
    core.context.commitLock.withLock { held in core.writes.keyFinder.find(hash, url, style, held).location }
  }

  /// Whether a thread holds the upkeep lock, and whether one holds the commit lock.
  var heldLocks: (upkeep: Bool, commit: Bool) {
    (core.context.upkeepLock.tryWithLock { _ in } == nil, core.context.commitLock.tryWithLock { _ in } == nil)
  }

  /// Calls `body` under the upkeep lock, so no upkeep runs meanwhile.
  package func withUpkeepLock<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    try core.context.upkeepLock.withLock { _ throws(E) in try body() }
  }
}

extension CacheStore {
  package var probe: StoreProbe { StoreProbe(core: core) }
}

extension StoreCore {
  var probe: StoreProbe { StoreProbe(core: self) }
}

extension CacheStore {
  /// Puts one entry again and again until the log files have their largest size, and then removes it. For tests that
  /// count later work, so that no growth of the log adds to the count.
  package func growLog() throws(StoreError) {
    let largest = Sizing.walFileByteCount(budget: byteBudget)
    var round = 0
    while probe.log.files.contains(where: { $0.file.byteCount < largest }) || probe.log.room < largest / 4 * 3,
      round < 1 << 20
    {
      try put([UInt8(truncatingIfNeeded: round)], for: "grows the log")
      round += 1
    }
    try remove("grows the log")
  }
}
