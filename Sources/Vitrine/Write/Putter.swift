/// Puts values: digest, deduplication, reservation, record, commit.
///
/// Key hash, digest and compression come first, outside any lock. If a blob with the same bytes is stored, the new
/// record shares it. The record fills a reservation. Then the frame and the change of the index follow under the commit
/// lock.
final class Putter: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let committer: Committer
  private let preparer: PutPreparer
  private let meters: Meters
  private let lifetimes: Lifetimes
  private let recordWriter: RecordWriter
  private let syncer: Syncer
  private let commits: CommitLog
  private let roomQueue: RoomQueue
  private let supply: SegmentSupply
  private let deduplicator: Deduplicator
  private let bodies: BodyRegistry
  private let reader: Reader
  private let conditions: ConditionChecker

  init(
    _ context: StoreContext, _ basics: BasicParts, _ space: SpaceParts, _ reads: ReadParts, committer: Committer,
    supply: SegmentSupply, deduplicator: Deduplicator, bodies: BodyRegistry
  ) {
    self.context = context
    gate = basics.gate
    self.committer = committer
    preparer = basics.preparer
    meters = basics.meters
    lifetimes = basics.lifetimes
    recordWriter = space.recordWriter
    syncer = basics.syncer
    commits = basics.commits
    roomQueue = basics.roomQueue
    self.supply = supply
    self.deduplicator = deduplicator
    self.bodies = bodies
    reader = reads.reader
    conditions = ConditionChecker(context, lifetimes: basics.lifetimes, reader: reads.reader)
  }

  /// Puts a value. Returns false if the key's entry does not meet `condition`; then nothing has changed.
  @discardableResult
  func put(
    _ value: UnsafeRawBufferPointer, url: UnsafeRawBufferPointer, style: Style, options: PutOptions,
    if condition: PutCondition? = nil
  ) throws(StoreError) -> Bool {
    // Checked before any lock is taken, because in a forked child the lock may never be released.
    try gate.requireOwnProcess()
    let styleBytes = style.bytes.span.bytes
    let metadata = options.metadata.span.bytes
    return try styleBytes.withUnsafeBytes { styleBytes throws(StoreError) in
      if let condition {
        // Spares a refused put the digest and the compression of its bytes.
        try gate.requireWritable()
        let key = OperationKey(hash: catalog.hasher.key(url, styleTag: style.tag), url: url, style: styleBytes)
        if try conditions.entry(of: key, meeting: condition) == nil { return false }
      }
      return try metadata.withUnsafeBytes { metadata throws(StoreError) in
        let prepared = try preparer.prepare(
          value, url: url, style: style, styleBytes: styleBytes, metadata: metadata, options: options)
        defer { prepared.release() }
        return try put(prepared, durability: options.durability, if: condition)
      }
    }
  }

  /// Puts a prepared value. `body` is the unfinished body through which the bytes came; nil if the caller gave them at
  /// once. The reservation of room, or the end of the body's payload, checks that the store can be written. Returns
  /// false if the key's entry does not meet `condition`.
  @discardableResult
  func put(
    _ put: PreparedPut, durability: Durability?, body: UnfinishedBody? = nil, if condition: PutCondition? = nil
  ) throws(StoreError) -> Bool {
    let durability = durability ?? identity.durability
    func commit() throws(StoreError) -> Committed? {
      // Between the look and the commit, another thread may store the same bytes or remove the shared ones, or change
      // the entry that the condition concerns.
      while true {
        var expected: ExpectedEntry?
        if let condition {
          expected = try conditions.entry(of: put.key, meeting: condition)
          if expected == nil { return nil }
        }
        // Built as an array at once, because a copy of an operation retains many references.
        var operations = [try place(put, durability: durability, body: body, commitsNext: true)]
        operations[0].body = body
        operations[0].expected = expected
        let awaitsSync = durability == .synced
        if let committed = try committer.commit(operations, moreKeys: 1, awaitsSync: awaitsSync) { return committed }
      }
    }
    let extent = try body == nil ? extentOfItsOwn(put) : 0
    guard let committed = try extent > 0 ? roomQueue.placing(extent, commit) : commit() else { return false }
    meters.count(bytesPut: put.payload.logicalByteCount)
    if durability == .synced { try syncer.acknowledgeSynced(committed.sequence) }
    return true
  }

  /// Returns the bytes of the segment that a put gets for itself; 0 if the put goes to a segment with others. Throws
  /// `tooLarge` if even an empty store has no room for it.
  private func extentOfItsOwn(_ put: PreparedPut) throws(StoreError) -> Int {
    let byteCount = put.payload.stored.count
    // No segment is smaller. A record that is larger only because of its head may be ignored here.
    if byteCount < CacheFormat.smallestSegment { return 0 }
    let extent = Segment.largestExtent(put.headByteCount(isReference: false), byteCount, put.isPageAligned)
    if extent <= supply.lastSegmentByteCount { return 0 }
    let (segment, limit) = commitLock.withLock { held in
      (held.state.segmentByteCount, held.state.largestValue(overhead: extent - byteCount))
    }
    if extent <= segment { return 0 }
    if byteCount > limit { throw .tooLarge(byteCount: byteCount, limit: limit) }
    return extent
  }

  /// Reserves room and fills it. If the put must be durable and its frame does not carry it, syncs its segment. The
  /// room that was assigned to `body` holds the payload already.
  ///
  /// With `commitsNext`, the put is committed next and alone. Then the commit notes that the room is filled, which
  /// spares the put an acquisition of the commit lock. In a batch, each record is noted at once: an unfilled record
  /// holds back the mark of its segment, so a checkpoint may free no log file (rule 6). A later record of the batch may
  /// need a new segment, and so room in the log.
  func place(
    _ put: PreparedPut, durability: Durability, body: UnfinishedBody? = nil, commitsNext: Bool = false
  ) throws(StoreError) -> PendingOperation {
    var put = put
    let now = environment.clock.wallMilliseconds()
    if body == nil { try gate.requireNamed(at: now) } else { try gate.requireNamedNow() }
    if put.source.followsOriginal { put.source.follow(sourceOfOriginal(put.key.url, put.key.hash)) }
    let (shared, others) = deduplicator.findShared(put)
    let written = put.written ?? now
    var room: Reservation?
    if let body, shared == nil { room = commitLock.withLock { held in held.state.admissions.room(of: body) } }
    var pending = try place(
      put, sharing: shared, durability: durability, written: written, in: room, commitsNext: commitsNext)
    pending.record?.others = others
    return pending
  }

  /// Places a put that stores its own payload or shares another. With `isChange`, the put changes an existing entry: a
  /// loss of power must not cost that entry, even if the change is buffered.
  func place(
    _ put: PreparedPut, sharing shared: Shared?, durability: Durability, written: Int64, in room: Reservation? = nil,
    isChange: Bool = false, commitsNext: Bool = false
  ) throws(StoreError) -> PendingOperation {
    var put = put
    let setsPin = put.isPinned != nil
    let mayReplace = catalog.keys.mayHaveEntries(ofURL: put.key.hash)
    put.isPinned = put.isPinned ?? (mayReplace && isPinned(put.key))
    let payload = shared == nil ? put.payload.stored : UnsafeRawBufferPointer(start: nil, count: 0)
    let reservation: Reservation
    let sequence: UInt64
    var isPassed = false
    if let room {
      reservation = room
      (sequence, isPassed) = try bodies.finishPayload(in: room)
    } else {
      (reservation, sequence) = try supply.reserve(
        // In a batch, the policy chooses no stream: ``WriteBatch/largestExtent(segmentByteCount:)`` counts one open
        // segment for each kind of records.
        put.stream, of: commitsNext || isChange ? put.key.hash : nil,
        headByteCount: put.headByteCount(isReference: shared != nil), payloadByteCount: payload.count,
        pageAligned: put.isPageAligned && shared == nil)
    }
    let head = ThreadContext.current.head
    head.removeAll()
    put.head(
      sequence: sequence, origin: shared?.origin ?? sequence,
      storedByteCount: shared?.storedByteCount ?? put.payload.stored.count,
      encoding: shared?.encoding ?? put.payload.encoding,
      isReference: shared != nil, written: written,
      payloadOffset: reservation.payloadOffset, seed: catalog.segments.seed(reservation.location), into: head)
    // A frame carries a reference even if the put is buffered. Otherwise a power loss could take the
    // reference's unsynced record, and hide a durable payload (contract 4).
    let isSmall = head.count + payload.count <= LogDemand.largestRecord(capacity: wal?.capacity ?? 0)
    let isCarried = (durability == .synced || shared != nil) && !isPassed && isSmall
    let isThere = room != nil
    let needsSync = !isCarried && (durability == .synced || isPassed || isChange)
    try recordWriter.write(
      head.bytes, isThere ? UnsafeRawBufferPointer(start: nil, count: 0) : payload, to: reservation,
      awaitsSync: isCarried && durability == .synced)
    if needsSync || !commitsNext {
      commitLock.withLock { held in
        held.state[reservation.segment].filled(reservation, isCarried: isCarried)
        // A batch does not make the log grow: a frame with many records of this size would be longer than the log.
        if durability == .synced, commitsNext, !isCarried, !isPassed {
          commits.noteUncarried(head.count + payload.count, held)
        }
      }
    }
    let isTransient = shared == nil && put.payload.encoding == .zstd
    let carried = isCarried ? CarriedRecord(head: head.bytes, payload: payload, isTransient: isTransient) : nil
    do throws(StoreError) {
      if needsSync { try syncer.sync(reservation.segment) }
      if durability == .synced, let shared { try syncer.makeDurable(payloadAt: shared.location) }
    } catch {
      // A sync may fail because no descriptor is left, for example. The record is not committed then.
      recordWriter.abandon(reservation)
      throw error
    }
    return PendingOperation(
      key: put.key, digest: put.payload.digest, logicalByteCount: put.payload.logicalByteCount,
      original: put.source.original,
      expiry: .init(isInRecord: put.expiration != 0, due: lifetimes.earliestExpiry(of: put, written: written)),
      pin: .init(isPinned: put.isPinned == true, isGiven: setsPin),
      isIndependent: put.source.given == nil || put.source.isNamed,
      record: PlacedRecord(
        reservation: reservation, sequence: sequence, headUnits: Unit.count(head.count),
        payloadUnits: Unit.count(payload.count), shared: shared, carried: carried,
        mayReplace: mayReplace))
  }

  /// Whether the key has a pinned entry. Costs a look at the index if no entry with this hash is pinned.
  private func isPinned(_ key: OperationKey) -> Bool {
    guard catalog.keys.hasPinned(key.hash),
      let (slot, pin) = catalog.pinRecord(key.url, key.style, key.hash)
        ?? reader.pinRestored(key.url, key.style, key.hash)
    else { return false }
    pin.release()
    return slot.flags.contains(.pinned)
  }

  /// Returns the source that an entry of this URL gets by default now. If the record is only in the log so far, it is
  /// restored, which takes the commit lock.
  func sourceOfOriginal(_ url: UnsafeRawBufferPointer, _ hash: KeyHash) -> Source? {
    let original = Style.original
    let hash = KeyHash(url: hash.bits, styleTag: original.tag)
    return original.bytes.withUnsafeBytes { style in
      guard
        let (slot, pin) = catalog.pinRecord(url, style, hash) ?? reader.pinRestored(url, style, hash)
      else { return nil }
      defer { pin.release() }
      return (catalog.record(at: slot.location, checks: false)?.header.digest).map { Source($0) }
    }
  }
}
