/// Begins and ends unfinished bodies, and reserves room for them in segments.
final class BodyRegistry: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let preparer: PutPreparer
  private let signal: UpkeepSignal
  private let roomQueue: RoomQueue
  private let supply: SegmentSupply
  private let stagedFiles: StagedFiles

  init(
    _ context: StoreContext, gate: WriteGate, preparer: PutPreparer, signal: UpkeepSignal, roomQueue: RoomQueue,
    supply: SegmentSupply, stagedFiles: StagedFiles
  ) {
    self.context = context
    self.gate = gate
    self.preparer = preparer
    self.signal = signal
    self.roomQueue = roomQueue
    self.supply = supply
    self.stagedFiles = stagedFiles
  }

  /// Begins a body. `isTiedToThread` is false if calls about the body come from threads that its owner does not choose.
  func begin(_ target: BodyTarget, length: Int?, isTiedToThread: Bool) throws(StoreError) -> UnfinishedBody {
    let hash = target.key.url.withUnsafeBytes { catalog.hasher.key($0, styleTag: target.key.style.tag) }
    return try commitLock.withLock { held throws(StoreError) in
      try gate.requireWritable()
      let body = held.state.unfinished.begin(target, hash, length: length)
      held.state.admissions.begin(body, isTiedToThread: isTiedToThread)
      return body
    }
  }

  /// Ends a body that was committed or abandoned. Its room is free or dead, and another request may get it. A forked
  /// child leaves the bodies of its parent alone.
  func end(_ body: UnfinishedBody) {
    if gate.isForkedChild { return }
    // The file is dropped before other requests are admitted, because they may need its room.
    stagedFiles.drop(of: body)
    let isDead = commitLock.withLock { held -> Bool in
      guard held.state.unfinished.end(body) else { return false }
      let segment = held.state.admissions.end(body)?.segment
      if let segment { held.state[segment].fill.dropExemption() }
      held.state.admitNext()
      return segment.map { held.state[$0].isDead } ?? false
    }
    if isDead { signal.wake() }
  }

  /// Reserves room in a segment for a payload of known length, and assigns it to a body. Returns the waiter if the body
  /// has to wait and `waits` is false.
  func assignRoom(byteCount: Int, to body: UnfinishedBody, waits: Bool) throws(StoreError) -> RoomWaiter? {
    let (stream, headByteCount) = try body.target.withPut(preparer) { put in
      (put.stream, put.headByteCount(storedByteCount: byteCount))
    }
    let isAligned = body.target.options.isPageAligned
    let extent = Segment.largestExtent(headByteCount, byteCount, isAligned)
    let limit = commitLock.withLock { held in
      extent > held.state.segmentByteCount ? held.state.largestValue(overhead: extent - byteCount) : .max
    }
    if byteCount > limit { throw .tooLarge(byteCount: byteCount, limit: limit) }
    if let waiter = try roomQueue.admit(body, headByteCount + byteCount, waits: waits) { return waiter }
    do throws(StoreError) {
      let (reservation, _) = try supply.reserve(
        stream, of: body.hash, headByteCount: headByteCount, payloadByteCount: byteCount, pageAligned: isAligned)
      commitLock.withLock { held in
        held.state[reservation.segment].fill.exempt(reservation)
        held.state.admissions.assign(reservation, to: body)
      }
    } catch {
      roomQueue.dismiss(body, headByteCount + byteCount)
      throw error
    }
    return nil
  }

  /// Ends the writing of a payload in the room of a body. The head is written next. Returns a new number for the
  /// record, and whether the segment must be synced before a frame names the record. The commit settles the pending
  /// count.
  func finishPayload(in room: Reservation) throws(StoreError) -> (sequence: UInt64, isPassed: Bool) {
    try commitLock.withLock { held throws(StoreError) in
      try gate.requireWritable()
      return (held.state.writable.takeRecordNumber(), held.state[room.segment].fill.endExemption(room))
    }
  }

  /// Aborts the bodies that `isWanted` accepts. Calls `isWanted` under no lock. A removal must call this before it
  /// looks at the entries: a body that was committed meanwhile is an entry by then.
  func abortBodies(where isWanted: (UnfinishedBody, _ receivedByteCount: Int) -> Bool) throws(StoreError) {
    let bodies = commitLock.withLock { held in
      held.state.unfinished.all.map { ($0, held.state.unfinished.receivedByteCount($0)) }
    }
    let wanted = bodies.filter(isWanted)
    if wanted.isEmpty { return }
    try commitLock.withLock { held throws(StoreError) in
      try gate.requireWritable()
      held.state.abort(wanted.map(\.0))
    }
  }
}
