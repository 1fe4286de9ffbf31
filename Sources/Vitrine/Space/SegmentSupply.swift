import Synchronization

/// Makes segments and reserves room in them for records.
///
/// A segment is allocated, named and durable before the first frame that names it (rule 8). It is therefore made ahead,
/// on a background thread if possible. One spare is kept for copies.
final class SegmentSupply: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let meters: Meters
  private let commits: CommitLog
  private let checkpointer: Checkpointer
  private let reclaimer: Reclaimer
  private let checkpointRoom: CheckpointRoom
  private let mappedSegments: MappedSegments
  private let roomQueue: RoomQueue
  private let diskWatch: DiskWatch
  /// Bytes of an ordinary segment at the last reservation.
  private let ordinaryByteCount = Atomic<Int>(0)

  init(
    _ context: StoreContext, gate: WriteGate, meters: Meters, commits: CommitLog, checkpointer: Checkpointer,
    reclaimer: Reclaimer, checkpointRoom: CheckpointRoom, mappedSegments: MappedSegments, roomQueue: RoomQueue,
    diskWatch: DiskWatch
  ) {
    self.context = context
    self.gate = gate
    self.meters = meters
    self.commits = commits
    self.checkpointer = checkpointer
    self.reclaimer = reclaimer
    self.checkpointRoom = checkpointRoom
    self.mappedSegments = mappedSegments
    self.roomQueue = roomQueue
    self.diskWatch = diskWatch
  }

  private static let sparesKept = 1

  /// Bytes of an ordinary segment when room was last reserved, without a lock. They may have changed since.
  var lastSegmentByteCount: Int { ordinaryByteCount.load(ordering: .relaxed) }

  /// Reserves room for a record in the stream's open segment. Returns the reservation and the record's number. With a
  /// key, the policy may choose another stream of the same kind.
  func reserve(
    _ kind: StreamKind, of key: KeyHash?, headByteCount: Int, payloadByteCount: Int, pageAligned: Bool
  ) throws(StoreError) -> (Reservation, UInt64) {
    var chosen: StreamKind?
    let most = Segment.largestExtent(headByteCount, payloadByteCount, pageAligned)
    var wait = RoomWait()
    while true {
      let attempt = try commitLock.withLock { held throws(StoreError) -> Attempt in
        try gate.requireWritable()
        wait.freeingCount = held.state.admissions.freeingCount
        ordinaryByteCount.store(held.state.segmentByteCount, ordering: .relaxed)
        guard most <= held.state.segmentByteCount else {
          let limit = held.state.largestValue(overhead: most - payloadByteCount)
          if payloadByteCount > limit { throw .tooLarge(byteCount: payloadByteCount, limit: limit) }
          return .needsSingle
        }
        let stream = chosen ?? key.map { held.state.stream(kind, of: $0) } ?? kind
        chosen = stream
        // Recovery would never find a record written behind a zero page that replaces a lost one.
        if let segment = held.state.writable[stream], !segment.hasDamagedPages,
          let reservation = held.state.index.segments.reserve(
            in: segment, headByteCount: headByteCount, payloadByteCount: payloadByteCount, pageAligned: pageAligned)
        {
          return .done(reservation, held.state.writable.takeRecordNumber())
        }
        return try openSpare(ofAtLeast: most, for: stream, held)
      }
      do throws(StoreError) {
        switch attempt {
        case .done(let reservation, let sequence): return (reservation, sequence)
        case .again: break
        case .needsCheckpoint: try checkpointer.freeLogFiles()
        case .needsSpare: try makeSpares(SegmentSupply.sparesKept + 1)
        case .needsSingle where most <= largestSegment && hasGrown(toFit: most): break
        case .needsSingle:
          let made = try makeSingle(
            byteCount: most, headByteCount: headByteCount, payloadByteCount: payloadByteCount,
            pageAligned: pageAligned)
          if let made { return made }
        }
      } catch {
        guard case .noSpace = error else { throw error }
        try roomQueue.waitForRoom(&wait)
      }
    }
  }

  /// Whether records are written through mapped memory.
  var mapsForWriting: Bool { reads == .mapped && folders.segments.promisesAllocation }

  private enum Attempt {
    case done(Reservation, UInt64)
    case again
    case needsCheckpoint
    case needsSpare
    case needsSingle
  }

  /// Opens a spare for the stream, but never the last spare, which is kept for copies.
  private func openSpare(
    ofAtLeast byteCount: Int, for stream: StreamKind, _ held: borrowing CommitLock.Held
  ) throws(StoreError) -> Attempt {
    guard let spare = held.state.openableSpare(ofAtLeast: byteCount) else { return .needsSpare }
    return try commits.open(spare, for: stream, firstSequence: held.state.nextRecord, held) ? .again : .needsCheckpoint
  }

  /// Makes a segment for one record larger than the segment size. Returns nil if the log had no room; then try again.
  private func makeSingle(
    byteCount: Int, headByteCount: Int, payloadByteCount: Int, pageAligned: Bool
  ) throws(StoreError) -> (Reservation, UInt64)? {
    try upkeepLock.withLock { upkeep throws(StoreError) in
      try gate.requireWritable()
      guard let segment = try makeSegment(byteCount: roundUp(byteCount, to: 4096), upkeep) else { return nil }
      return try commitLock.withLock { held throws(StoreError) in
        let opened = Change.segmentOpened(slot: segment.slot, stream: .single, firstSequence: held.state.nextRecord)
        guard try commits.record([opened], held),
          let reservation = held.state.index.segments.reserve(
            in: segment, headByteCount: headByteCount, payloadByteCount: payloadByteCount, pageAligned: pageAligned)
        else {
          held.state[segment].seal()
          return nil
        }
        held.state.enqueue(single: segment)
        let sequence = held.state.writable.takeRecordNumber()
        let isSealed = try commits.record(
          [.segmentSealed(slot: segment.slot, byteCount: held.state[segment].byteCount)], held)
        if !isSealed { held.state[segment].seal() }
        return (reservation, sequence)
      }
    }
  }

  /// Makes spares until there are `count`. Throws `noSpace` if there is no room for one.
  ///
  /// With `isAhead`, no thread waits for a spare yet, so a full disk evicts no entry. The disk may have room again
  /// before a put comes. If no file can be made at all, evictions would empty the store for nothing.
  func makeSpares(_ count: Int, isAhead: Bool = false) throws(StoreError) {
    try upkeepLock.withLock { upkeep throws(StoreError) in
      try gate.requireWritable()
      if !isAhead, commitLock.withLock({ held in held.state.ordinarySpares.count < count }) { growSegments(upkeep) }
      while true {
        let (there, byteCount) = commitLock.withLock { held in
          (held.state.ordinarySpares.count, held.state.segmentByteCount)
        }
        if there >= count { return }
        guard let segment = try makeSegment(byteCount: byteCount, evictsOnFullDisk: !isAhead, upkeep) else { return }
        commitLock.withLock { held in held.state.writable.addSpare(segment) }
      }
    }
  }

  private var largestSegment: Int { commitLock.withLock { held in held.state.largestSegment } }

  /// Enlarges the next segments for fast puts of records that are larger than the present ones. Returns whether a
  /// record of `byteCount` bytes fits now.
  private func hasGrown(toFit byteCount: Int) -> Bool {
    upkeepLock.withLock { upkeep in growSegments(upkeep) }
    return commitLock.withLock { held in byteCount <= held.state.segmentByteCount }
  }

  /// Enlarges the next segments if the content has grown, or if puts have filled the last spares fast.
  private func growSegments(_ upkeep: borrowing UpkeepLock.Held) {
    let (passed, put) = upkeep.state.quiet.noteSpares(
      at: environment.clock.monotonicNanoseconds(), bytesPut: meters.bytesPut)
    commitLock.withLock { held in
      held.state.growSegments(isBusy: passed < SegmentSupply.fastFill && put >= held.state.segmentByteCount / 2)
    }
  }

  /// The nanoseconds in which fast puts fill a segment.
  private static let fastFill: UInt64 = 200_000_000

  /// Makes a segment file and names it in the log. Returns nil if the log had no room and a checkpoint was written;
  /// then try again.
  ///
  /// `evicts` allows evictions to make room in the budget, `evictsOnFullDisk` also on a full disk.
  func makeSegment(
    byteCount: Int, evicts: Bool = true, evictsOnFullDisk: Bool = true, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> Segment? {
    // The checkpoint files need room for the segment's index entry too.
    let (needed, isThere, isAdmitted) = commitLock.withLock { held in
      let needed = held.state.indexRoom()
      let more = needed.byteCount(beyond: held.state.checkpoint.room)
      return (needed, held.state.hasRoomForIndex(), held.state.ledger.admits(more))
    }
    if !isThere {
      if !evicts, !isAdmitted { throw .noSpace }
      try checkpointRoom.grow(to: needed, upkeep)
    }
    if evicts {
      try makeRoom(for: byteCount, upkeep)
    } else if commitLock.withLock({ held in !held.state.ledger.admits(byteCount) }) {
      throw .noSpace
    }
    let id = commitLock.withLock { held in held.state.index.takeSegmentID() }
    assert(
      !upkeep.state.orphans.contains(SegmentHeader.fileName(id)), "numbers are given above all files that are there")
    let header = SegmentHeader(
      stream: .spare, store: identity.store, segment: id, fileByteCount: byteCount,
      opening: Sequence.opening(firstSequence), made: environment.clock.wallMilliseconds())
    let name = SegmentHeader.fileName(id)
    let made = try makeFileOnFullDisk(name, header, byteCount, evicts: evicts && evictsOnFullDisk, upkeep)
    var segment: Segment?
    // This also runs if the closure throws.
    defer { if segment == nil { removeUnnamed(name, byteCount: made.allocated, upkeep) } }
    segment = try commitLock.withLock { held throws(StoreError) -> Segment? in
      try gate.requireWritable()
      guard let slot = held.state.index.segments.takeSlot() else { throw .noSpace }
      guard try commits.record([.segmentMade(slot: slot, id: id, byteCount: byteCount)], held),
        let segment = held.state.index.segments.all[slot]
      else {
        held.state.index.segments.freeSlot(slot)
        return nil
      }
      held.state.index.segments.attach(
        segment, file: folders.cached(made.file, segment: id, access: .readWrite, isKept: true), mapping: made.mapping,
        window: made.window, byteCount: byteCount, allocatedByteCount: made.allocated,
        account: catalog.segments.account, access: .readWrite)
      held.state.index.segments.insert(segment, vouchedUpTo: 0, firstSequence: held.state.nextRecord)
      held.state.ledger.add(made.allocated, to: .segments)
      held.state.ledger.add(made.folderGrowth, to: .folders)
      meters.count(bytesWritten: SegmentHeader.byteCount)
      return segment
    }
    if segment == nil { try checkpointer.writeCheckpoint(upkeep) } else { mappedSegments.trimMappings(upkeep) }
    return segment
  }

  /// Frees bytes of the budget for a segment. If those are the bytes of several ordinary segments, the records to keep
  /// may need more copies than the spare takes. So a spare is made from the first bytes that are free.
  private func makeRoom(for byteCount: Int, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    let ordinary = largestSegment
    for part in stride(from: ordinary, to: byteCount, by: ordinary) {
      try reclaimer.makeRoom(for: part, upkeep)
      try makeCopySpare(leastDead: 0, upkeep)
    }
    try reclaimer.makeRoom(for: byteCount, upkeep)
  }

  /// Makes the file. If the file would leave fewer free bytes on the disk than the minimum, frees the missing bytes
  /// first. If the disk is full while the budget is not, frees `byteCount` bytes and tries once more. Without
  /// `evicts`, frees nothing and throws `noSpace`.
  private func makeFileOnFullDisk(
    _ name: String, _ header: SegmentHeader, _ byteCount: Int, evicts: Bool, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> MadeFile {
    var hasFreed = !evicts
    let missing = diskWatch.missing(byteCount)
    if missing > 0 {
      let isFreed = try diskWatch.giving { () throws(StoreError) in
        if evicts { try reclaimer.freeOnFullDisk(missing, upkeep) } else { false }
      }
      guard isFreed else { throw .noSpace }
      hasFreed = true
    }
    while true {
      let failure: StoreError
      do throws(SystemError) {
        return try makeFile(name, header, byteCount)
      } catch {
        failure = gate.writeError(error)
        // If the name remains as an orphan, it cannot be used for a segment.
        guard removeUnnamed(name, byteCount: byteCount, upkeep) else { throw failure }
      }
      guard case .noSpace = failure, !hasFreed, try reclaimer.freeOnFullDisk(byteCount, upkeep) else { throw failure }
      hasFreed = true
    }
  }

  /// Removes a file that no frame names. Returns false if the file cannot be removed; then its bytes count as an
  /// orphan's, like files left by a crash.
  @discardableResult
  private func removeUnnamed(
    _ name: String, byteCount: Int, _ upkeep: borrowing UpkeepLock.Held
  ) -> Bool {
    do throws(SystemError) {
      try folders.segments.remove(name)
      return true
    } catch {
      if error.code == SystemError.missing { return true }
      let taken = (try? SegmentHeader.charge(of: folders.segments.openFile(name, .readOnly))) ?? byteCount
      upkeep.state.orphans.add(name)
      commitLock.withLock { held in held.state.ledger.add(taken, to: .orphans) }
      return false
    }
  }

  private struct MadeFile {
    let file: any File
    let mapping: Mapping?
    let window: FillWindow?
    let allocated: Int
    /// Bytes that the name added to the folder itself.
    let folderGrowth: Int
  }

  private func makeFile(
    _ name: String, _ header: SegmentHeader, _ byteCount: Int
  ) throws(SystemError) -> MadeFile {
    let before = try folders.segments.status().allocatedByteCount
    let file: any File
    do throws(SystemError) {
      file = try folders.segments.openFile(name, .create)
    } catch {
      guard error.code == SystemError.exists else { throw error }
      // An opening whose frames were lost left this file, and nothing refers to it.
      try folders.segments.remove(name)
      file = try folders.segments.openFile(name, .create)
    }
    try file.allocate(byteCount: byteCount)
    try file.write(header.encoded(), at: 0)
    try file.sync()
    try folders.segments.sync()
    let mapping = reads == .mapped ? try Segment.map(file, byteCount: byteCount) : nil
    let window = mapsForWriting ? FillWindow(file: file, byteCount: byteCount) : nil
    return MadeFile(
      file: file, mapping: mapping, window: window, allocated: try file.status().chargedByteCount(atMost: byteCount),
      folderGrowth: try folders.segments.status().allocatedByteCount - before)
  }

  /// Makes a spare for copies if none is large enough and a segment fits without an eviction. The spare has room for
  /// the live records of one segment. This is the segment with the fewest live bytes among those with a dead share of
  /// at least `leastDead`. It may be larger than an ordinary segment, because segments grow in a burst of puts. Without
  /// `isLong`, the spare is at most as large as an ordinary segment of a full store. A segment of an earlier, larger
  /// budget may need more.
  func makeCopySpare(leastDead: Double, isLong: Bool = false, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    let (isThere, byteCount) = commitLock.withLock { held in
      let live = held.state.compactable.filter {
        $0.deadByteCount > 0 && Double($0.deadByteCount) >= leastDead * Double($0.byteCount)
      }.map(\.liveByteCount).min()
      let needed = roundUp((live ?? 0) + SegmentHeader.byteCount, to: 4096)
      let byteCount = max(held.state.segmentByteCount, isLong ? needed : min(needed, held.state.largestSegment))
      return (held.state.spare(ofAtLeast: byteCount) != nil, byteCount)
    }
    if isThere { return }
    do throws(StoreError) {
      if let spare = try makeSegment(byteCount: byteCount, evicts: false, upkeep) {
        commitLock.withLock { held in held.state.writable.addSpare(spare) }
      }
    } catch {
      // The disk or the budget is full, so compaction uses the room that exists.
      guard case .noSpace = error else { throw error }
    }
  }
}
