/// Begins and ends unfinished bodies, and gives them room in segments.
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

  /// `isAnybodys` when calls about it come from threads that nobody chose.
  func begin(_ target: BodyTarget, length: Int?, isAnybodys: Bool) throws(StoreError) -> UnfinishedBody {
    let hash = target.key.url.withUnsafeBytes { catalog.hasher.key($0, styleTag: target.key.style.tag) }
    return try commitLock.withLock { held throws(StoreError) in
      try gate.requireWritable()
      return held.state.unfinished.begin(target, hash, length: length, isAnybodys: isAnybodys)
    }
  }

  /// Committed or abandoned: its room is given back, or dead, and may be another's. A forked child leaves the parent's alone.
  func end(_ body: UnfinishedBody) {
    if gate.isForkedChild { return }
    // Its file goes before others are admitted, since they may need the room.
    let staged = commitLock.withLock { held in held.state.unfinished.contains(body) ? body.stagedFile : nil }
    if let staged { stagedFiles.drop(staged) }
    let isDead = commitLock.withLock { held -> Bool in
      guard held.state.unfinished.end(body) else { return false }
      held.state.admissions.end(body)
      let segment = body.room?.segment
      segment?.endLending()
      body.room = nil
      body.stagedFile = nil
      held.state.admitNext()
      return segment?.isDead ?? false
    }
    if isDead { signal.wake() }
  }

  /// Lends room for a payload of known length to a body; answers what to wait for when it may not wait itself.
  func lend(byteCount: Int, to body: UnfinishedBody, waits: Bool) throws(StoreError) -> RoomWaiter? {
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
        stream, headByteCount: headByteCount, payloadByteCount: byteCount, pageAligned: isAligned)
      commitLock.withLock { held in
        reservation.segment.lend(reservation)
        held.state.admissions.lend(reservation, to: body)
      }
    } catch {
      roomQueue.dismiss(body, headByteCount + byteCount)
      throw error
    }
    return nil
  }

  /// Lent room whose payload is there is about to get its head: a number for the record, which is as new as its commit,
  /// and whether the segment has to be synced before a frame names it. The pending count is the commit's to settle.
  func takeBack(_ room: Reservation) throws(StoreError) -> (sequence: UInt64, isPassed: Bool) {
    try commitLock.withLock { held throws(StoreError) in
      try gate.requireWritable()
      room.segment.pendingCount += 1
      return (held.state.takeRecordNumber(), room.segment.takeBack(room))
    }
  }

  /// Aborts the bodies that `isWanted`, which is asked under no lock. Before a removal looks at the entries: a body that
  /// was committed meanwhile is an entry by then.
  func abortBodies(where isWanted: (UnfinishedBody, _ receivedByteCount: Int) -> Bool) throws(StoreError) {
    let bodies = commitLock.withLock { held in held.state.unfinished.all.map { ($0, $0.receivedByteCount) } }
    let wanted = bodies.filter(isWanted)
    if wanted.isEmpty { return }
    try commitLock.withLock { held throws(StoreError) in
      try gate.requireWritable()
      held.state.abort(wanted.map(\.0))
    }
  }
}
