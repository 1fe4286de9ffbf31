/// The state that the commit lock guards.
struct CommitState: ~Copyable {
  /// Index and segments: the only way to change them.
  var index: CatalogWriter
  /// The log, for appending. ``StoreContext/wal`` makes frames durable.
  var log: LogWriter
  /// The store's identity with the budgets that are in force.
  var current: StoreIdentity
  var ledger: Ledger
  var nextRecord: UInt64
  var writable = WritableSegments()
  var unfinished = UnfinishedBodies()
  var admissions = Admissions()
  /// The frame that is being encoded.
  let frame = ByteBuffer(capacity: 64 << 10)
  var checkpoint: CheckpointAccount
  var leftovers = LeftoverList()
  var eviction: EvictionRecord
  var compaction: CompactionRecord
  var ghost = Ghost()
  var segmentQueue = SegmentQueue()
  /// The size of segments that the content and the rate of puts ask for.
  private var segmentGrowth = CacheFormat.smallestSegment

  init(
    index: consuming CatalogWriter, log: consuming LogWriter, current: StoreIdentity, ledger: Ledger,
    nextRecord: UInt64, checkpoint: CheckpointAccount, eviction: EvictionRecord, compaction: CompactionRecord
  ) {
    self.index = index
    self.log = log
    self.current = current
    self.ledger = ledger
    self.nextRecord = nextRecord
    self.checkpoint = checkpoint
    self.eviction = eviction
    self.compaction = compaction
    fitSegments()
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

  mutating func takeRecordNumber() -> UInt64 {
    defer { nextRecord += 1 }
    return nextRecord
  }
}

extension CommitState {
  /// The largest number of entries; 0 means no limit.
  var entryBudget: Int { current.entryBudget }

  /// Bytes of an ordinary segment when the store is full. Limits follow it, so they do not depend on the content.
  var largestSegment: Int {
    if current.segmentByteCount > 0 { return current.segmentByteCount }
    return Sizing.segmentByteCount(budget: ledger.budget)
  }

  /// Bytes of the next ordinary segment.
  var segmentByteCount: Int {
    current.segmentByteCount > 0 ? current.segmentByteCount : min(segmentGrowth, largestSegment)
  }

  private var contentSegment: Int {
    Sizing.segmentByteCount(content: ledger[.segments], budget: ledger.budget)
  }

  /// Enlarges the next segments as the content asks for. With `isBusy`, puts have filled the last ones fast, and each
  /// new segment costs two syncs, so the next one is four times as large.
  mutating func growSegments(isBusy: Bool) {
    segmentGrowth = min(max(isBusy ? segmentGrowth * 4 : segmentGrowth, contentSegment), largestSegment)
  }

  /// Sets the size of the next segments to what the content asks for.
  mutating func fitSegments() { segmentGrowth = contentSegment }

  /// Whether keys that come back get segments of their own. Small stores have no room for more open segments.
  var hasReturnedStreams: Bool {
    current.policy.cleansSegments && ledger.budget - ledger.own >= 2 * Sizing.mostOpenSegmentsIfCleaned * largestSegment
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
    let (room, retained) = (roomBesideOpen, ledger.account.pinnedByteCount)
    let each = retained == 0 ? .max : max(room - retained, largestSegment)
    return Admissions.Limits(bodies: ledger.budget / 8, all: room, each: each)
  }

  // MARK: Bodies

  /// Aborts the bodies of the keys that the operations remove. This happens in the same hold of the commit lock as the
  /// removal, so no commit comes between the two.
  mutating func abortBodies(of operations: [PendingOperation]) {
    if unfinished.isEmpty { return }
    for operation in operations where operation.abortsBodies {
      abort(
        unfinished.candidates(operation.hash).filter {
          $0.has(url: operation.url) && (operation.removesAllStyles || $0.has(style: operation.style))
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
