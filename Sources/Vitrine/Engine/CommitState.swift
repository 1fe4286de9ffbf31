/// The state that the commit lock guards.
struct CommitState: ~Copyable {
  /// The writer of the index and of the segments' accounts. All changes of them go through it.
  var index: CatalogWriter
  /// The log, for appending. ``StoreContext/wal`` makes frames durable.
  var log: LogWriter
  /// The store's identity with the budgets that are in force.
  var current: StoreIdentity
  var ledger: Ledger
  var writable: WritableSegments
  var unfinished = UnfinishedBodies()
  var admissions = Admissions()
  /// The frame that is being encoded.
  let frame = ByteBuffer(capacity: 64 << 10)
  var checkpoint: CheckpointAccount
  var leftovers = LeftoverList()
  var record: SpaceRecord
  var queues: EvictionQueues

  init(
    index: consuming CatalogWriter, log: consuming LogWriter, current: StoreIdentity, ledger: Ledger,
    nextRecord: UInt64, checkpoint: CheckpointAccount, record: SpaceRecord
  ) {
    self.index = index
    self.log = log
    self.current = current
    self.ledger = ledger
    writable = WritableSegments(nextRecord: nextRecord)
    self.checkpoint = checkpoint
    self.record = record
    queues = EvictionQueues(current.policy)
    resetGrowth()
  }

  /// The account of a segment.
  subscript(_ segment: Segment) -> SegmentAccount {
    @inline(__always) _read { yield index.segments[segment] }
    @inline(__always) _modify { yield &index.segments[segment] }
  }

  /// Returns the segment in a slot, if it has this number and is not retired.
  func segment(_ slot: Int, id: UInt64) -> Segment? {
    guard let segment = index.segment(slot), segment.id == id, index.segments[segment].state != .retired else {
      return nil
    }
    return segment
  }

  /// The number of the next record.
  var nextRecord: UInt64 { writable.nextRecord }
}

extension CommitState {
  /// The largest number of entries; 0 means no limit.
  var entryBudget: Int { current.entryBudget }

  /// Counts the entries of the styles that have a budget now.
  mutating func trackStyles() {
    index.sums.track(current.styleBudgets.tags, isEmpty: index.keyCount == 0)
  }

  /// The pinned entries; nil while they are being counted.
  var pinUse: PinUse? {
    index.sums[.pinned].map { sum in
      let most = PinUse.most(of: current)
      return PinUse(
        entryCount: sum.entryCount, byteCount: sum.byteCount,
        mostEntries: most.entryCount == .max ? nil : most.entryCount, mostBytes: most.byteCount)
    }
  }

  /// The styles that have a budget, without those that are not counted yet.
  var styleUses: [StyleUse] {
    current.styleBudgets.list.compactMap { entry in
      index.sums[.style(entry.style.tag)].map {
        StyleUse(style: entry.style, budget: entry.budget, entryCount: $0.entryCount, byteCount: $0.byteCount)
      }
    }
  }

  /// Bytes of an ordinary segment when the store is full. Limits are computed from this size, so they do not depend on
  /// the present content.
  var largestSegment: Int {
    if current.segmentByteCount > 0 { return current.segmentByteCount }
    return Sizing.segmentByteCount(budget: ledger.budget)
  }

  /// Bytes of the next ordinary segment.
  var segmentByteCount: Int {
    current.segmentByteCount > 0 ? current.segmentByteCount : min(writable.growth, largestSegment)
  }

  private var contentSegment: Int {
    Sizing.segmentByteCount(content: ledger[.segments], budget: ledger.budget)
  }

  /// Enlarges the next segments with the content. `isBusy` is true if puts have filled the last segments fast. Each new
  /// segment costs two syncs, so the next one is then four times as large.
  mutating func growSegments(isBusy: Bool) {
    let growth = isBusy ? writable.growth * 4 : writable.growth
    writable.growth = min(max(growth, contentSegment), largestSegment)
  }

  /// Fits the size of the next segments to the content.
  mutating func resetGrowth() { writable.growth = contentSegment }

  /// The largest size of a log file under the present budget.
  var largestLogFile: Int { min(current.walFileByteCount, Sizing.walFileByteCount(budget: ledger.budget)) }

  /// Bytes of a log file in a quiet store: the larger of a quarter of what each checkpoint writes whole and a 1024th of
  /// the content, rounded up to a power of two, and at most ``largestLogFile``. With pieces, a checkpoint writes the
  /// accounts of the segments whole, and without them the index.
  var restingLogFile: Int {
    let accounts = index.segments.all.count * CheckpointHeader.segmentWords * 8
    let byIndex = LogSizer.powerOfTwo(atLeast: current.hasPieces ? accounts / 4 : index.keyCount * 6)
    let byContent = LogSizer.powerOfTwo(atLeast: ledger[.segments] / 1024)
    return min(max(byIndex, byContent), largestLogFile)
  }

  /// Whether keys that come back get segments of their own. Small stores have no room for more open segments.
  var hasReturnedStreams: Bool {
    current.policy.rules.cleaning?.probationShare != nil
      && ledger.budget >= Sizing.leastSegmentsIfReturned * largestSegment
  }

  /// The most bytes of segments that fit after everything else is evicted: the budget, less the store's own files and
  /// the segments that may be open.
  var largestSum: Int {
    let open = hasReturnedStreams ? Sizing.mostOpenSegmentsIfCleaned : Sizing.mostOpenSegments
    return max(0, ledger.budget - ledger.own - open * largestSegment)
  }

  /// The most bytes of segments that fit beside the segments that are open now and the spare for copies.
  var roomBesideOpen: Int {
    let open = writable.allOpen.reduce(0) { $0 + index.segments[$1].byteCount }
    return max(0, ledger.budget - ledger.own - open - largestSegment)
  }

  /// The most bytes of one value that fit, with `overhead` bytes for its key and its alignment.
  func largestValue(overhead: Int = 0) -> Int {
    min(RecordHeader.largestPayload, max(0, largestSum / 4096 * 4096 - roundUp(overhead, to: 4096)))
  }

  var roomLimits: Admissions.Limits {
    // Eviction frees neither the segments that Blobs hold nor pinned entries.
    let retained = ledger.account.pinnedByteCount + (index.sums[.pinned]?.byteCount ?? 0)
    let room = roomBesideOpen
    let each = retained == 0 ? .max : max(room - retained, largestSegment)
    return Admissions.Limits(bodies: ledger.budget / 8, all: room, each: each)
  }

  // MARK: Index

  /// Returns the room that the index needs on the disk with more keys and segments. `logByteCount`: the bytes of all
  /// log files, if the log is to grow. `moreWords`: the words of facts about changes that are in no frame.
  /// `areaBlocks`: the number of blocks of the area that a root may have to name; nil for all present blocks.
  func indexRoom(
    moreKeys: Int = 0, moreSegments: Int = CatalogWriter.spareSegments, logByteCount: Int? = nil, moreWords: Int = 0,
    areaBlocks: Int? = nil
  ) -> IndexRoom {
    let journal = current.hasPieces ? journalLimit(logByteCount) + moreWords : 0
    return IndexRoom.needed(
      by: index, hasPieces: current.hasPieces, moreKeys: moreKeys, moreSegments: moreSegments, journal: journal,
      areaBlocks: areaBlocks ?? checkpoint.room.blockCount,
      smallBase: checkpoint.smallBase)
  }

  /// The most words that the journal reaches before the log is full. The facts of a change take at most 8 bytes for
  /// each 7 bytes of the change in its frame. The worst case is the move of an entry whose payload several keys use.
  private func journalLimit(_ logByteCount: Int?) -> Int {
    // One of the files stays free.
    let all = logByteCount ?? log.byteCount
    let least = logByteCount.map { $0 / CacheFormat.walFileCount } ?? log.log.capacity
    return (all - least) / 7
  }

  /// Whether the facts since the last checkpoint exceed a sixteenth of the index, and 512 KiB.
  var hasLongJournal: Bool {
    index.journalWords > max(64 << 10, (2 * index.keyCount + index.blobCount) / 16)
  }

  func hasRoomForIndex(moreKeys: Int = 0, moreSegments: Int = CatalogWriter.spareSegments) -> Bool {
    checkpoint.room.has(indexRoom(moreKeys: moreKeys, moreSegments: moreSegments))
  }

  // MARK: Bodies

  /// Aborts the bodies of the keys that the operations remove. This happens in the same hold of the commit lock as the
  /// removal, so no commit comes between the two.
  mutating func abortBodies(of operations: [PendingOperation]) {
    if unfinished.isEmpty { return }
    for operation in operations where operation.abortsBodies {
      abort(
        unfinished.candidates(operation.key.hash).filter {
          $0.has(url: operation.key.url) && (operation.removesAllStyles || $0.has(style: operation.key.style))
        })
    }
  }

  mutating func abortAllBodies() { abort(unfinished.all) }

  mutating func abort(_ bodies: [UnfinishedBody]) {
    if bodies.isEmpty { return }
    for body in bodies where unfinished.abort(body) { admissions.abort(body) }
    admitNext()
  }

  /// Admits the next requests. Called after anything that may have freed room.
  mutating func admitNext() { admissions.admitNext(index.segments, roomLimits) }
}
