/// The state that the commit lock guards.
struct CommitState {
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

  init(
    current: StoreIdentity, ledger: Ledger, nextRecord: UInt64, checkpoint: CheckpointAccount, eviction: EvictionRecord,
    compaction: CompactionRecord
  ) {
    self.current = current
    self.ledger = ledger
    self.nextRecord = nextRecord
    self.checkpoint = checkpoint
    self.eviction = eviction
    self.compaction = compaction
  }

  mutating func takeRecordNumber() -> UInt64 {
    defer { nextRecord += 1 }
    return nextRecord
  }
}

/// The facts about checkpoints that writers need.
struct CheckpointAccount {
  /// Numbers of checkpoints of this opening: the newest one whose image was begun, and the newest published one.
  var begun = 0
  var published = 0
  /// Bytes of the index for which both checkpoint files have room.
  var room: Int
  /// When the newest published checkpoint was made, in milliseconds since 1970.
  var madeMilliseconds: Int64?

  init(_ checkpoints: CheckpointSet) {
    room = checkpoints.room
    madeMilliseconds = checkpoints.current.flatMap { checkpoints.slots[$0].header?.made }
  }
}

/// The state that the upkeep lock guards.
struct UpkeepState {
  var checkpoints: CheckpointSet
  /// Files of segments that no frame names.
  var orphans: [String]
  /// Unlinked segments that a reader still had pinned.
  var retiring: [Segment] = []
  /// Forgotten segments that a sync or a `Blob` may still hold.
  var leaving: [Leaving] = []
  /// When the last checkpoint was published, by the monotonic clock, and the number of hits until then.
  var lastCheckpoint: (nanoseconds: UInt64, hits: Int) = (0, 0)
  var quiet = QuietWatch()
  /// Calls of `compact` that are under way.
  var compactionCount = 0
  /// How far a read-only opening has followed the writer; nil for a writer.
  var follower: Follower?

  init(checkpoints: CheckpointSet, orphans: [String]) {
    self.checkpoints = checkpoints
    self.orphans = orphans
  }
}

extension CommitState {
  /// The largest number of entries; 0 means no limit.
  var entryBudget: Int { current.entryBudget }

  var segmentByteCount: Int {
    current.segmentByteCount > 0 ? current.segmentByteCount : Sizing.segmentByteCount(budget: ledger.budget)
  }

  /// The most bytes of segments that fit after everything else is evicted: the budget, less the store's own files and
  /// the segments that may be open.
  var largestSum: Int { max(0, ledger.budget - ledger.own - Sizing.mostOpenSegments * segmentByteCount) }

  /// The most bytes of segments that fit beside the segments that are open now and the spare for copies.
  var roomBesideOpen: Int {
    let open = writable.allOpen.reduce(0) { $0 + $1.byteCount }
    return max(0, ledger.budget - ledger.own - open - segmentByteCount)
  }

  /// The most bytes of one value that fit, with `overhead` bytes for its key and its alignment.
  func largestValue(overhead: Int = 0) -> Int {
    min(RecordHeader.largestPayload, max(0, largestSum / 4096 * 4096 - roundUp(overhead, to: 4096)))
  }

  var roomLimits: Admissions.Limits {
    let (room, retained) = (roomBesideOpen, ledger.account.pinnedByteCount)
    let each = retained == 0 ? .max : max(room - retained, segmentByteCount)
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

  mutating func abortAllBodies() { abort(Array(unfinished.all)) }

  mutating func abort(_ bodies: [UnfinishedBody]) {
    if bodies.isEmpty { return }
    for body in bodies where unfinished.contains(body) {
      body.isAborted = true
      guard let waiter = body.waiter else { continue }
      admissions.withdraw(waiter)
      waiter.end(.refused(.aborted))
    }
    admitNext()
  }

  /// Admits the next requests. Called after anything that may have freed room.
  mutating func admitNext() { admissions.admitNext(roomLimits) }
}
