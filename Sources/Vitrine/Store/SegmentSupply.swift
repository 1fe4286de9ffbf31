// Where room for records comes from. A segment is allocated, named and durable before the first frame that names it
// (rule 8), so it is made ahead, off the callers' threads where possible. One spare is kept back for copies.
extension StoreCore {
  private static let sparesKept = 1

  /// Room for a record in the stream's open segment, and the record's number.
  func reserve(
    _ stream: StreamKind, headByteCount: Int, payloadByteCount: Int, pageAligned: Bool
  ) throws(StoreError) -> (Reservation, UInt64) {
    let most = largestExtent(headByteCount, payloadByteCount, pageAligned)
    var waited = 0
    while true {
      let attempt = try locked { () throws(StoreError) -> Attempt in
        try requireWritable()
        guard most <= segmentByteCount else {
          let limit = largestValue(overhead: most - payloadByteCount)
          if payloadByteCount > limit { throw .tooLarge(byteCount: payloadByteCount, limit: limit) }
          return .needsSingle
        }
        // What is written behind a page of zeros that stands for a lost one would never be seen.
        if let segment = openSegments[Int(stream.rawValue)], !segment.hasDamagedPages,
          let reservation = segment.reserve(
            headByteCount: headByteCount, payloadByteCount: payloadByteCount, pageAligned: pageAligned)
        {
          return .done(reservation, takeRecordNumber())
        }
        return try openSpare(for: stream)
      }
      do throws(StoreError) {
        switch attempt {
        case .done(let reservation, let sequence): return (reservation, sequence)
        case .again: break
        case .needsCheckpoint: try makeLogRoom()
        case .needsSpare: try makeSpares(StoreCore.sparesKept + 1)
        case .needsSingle:
          let made = try makeSingle(
            byteCount: most, headByteCount: headByteCount, payloadByteCount: payloadByteCount,
            pageAligned: pageAligned)
          if let made { return made }
        }
      } catch {
        guard case .noSpace = error else { throw error }
        try waitForRoom(&waited)
      }
    }
  }

  /// Whether records are filled in through mapped memory.
  var mapsForWriting: Bool { reads == .mapped && folders.segments.promisesAllocation }

  /// The most bytes of a file that a segment with this record alone takes.
  func largestExtent(_ headByteCount: Int, _ payloadByteCount: Int, _ pageAligned: Bool) -> Int {
    SegmentHeader.byteCount + headByteCount + payloadByteCount + (pageAligned ? 4096 : 128)
  }

  private enum Attempt {
    case done(Reservation, UInt64)
    case again
    case needsCheckpoint
    case needsSpare
    case needsSingle
  }

  /// Under the commit lock.
  func takeRecordNumber() -> UInt64 {
    defer { nextRecord += 1 }
    return nextRecord
  }

  var segmentByteCount: Int {
    current.segmentByteCount > 0 ? current.segmentByteCount : Sizing.segmentByteCount(budget: ledger.budget)
  }

  /// Opens a spare for the stream, but for the last one, which is for copies. Under the commit lock.
  private func openSpare(for stream: StreamKind) throws(StoreError) -> Attempt {
    guard spares.count > StoreCore.sparesKept, let spare = spares.first(where: { $0.byteCount >= segmentByteCount })
    else { return .needsSpare }
    return try open(spare, for: stream, firstSequence: nextRecord) ? .again : .needsCheckpoint
  }

  /// Seals the stream's full segment and opens a spare in its place. Under the commit lock; false when the log has no room.
  func open(_ spare: Segment, for stream: StreamKind, firstSequence: UInt64) throws(StoreError) -> Bool {
    var changes: [Change] = []
    if let full = openSegments[Int(stream.rawValue)] {
      changes.append(.segmentSealed(slot: full.slot, byteCount: full.byteCount))
    }
    changes.append(.segmentOpened(slot: spare.slot, stream: stream, firstSequence: firstSequence))
    guard try record(changes) else { return false }
    spares.removeAll { $0 === spare }
    openSegments[Int(stream.rawValue)] = spare
    wake()
    return true
  }

  /// A segment for one record that is larger than the ordinary ones. Nil when the log has no room: try again.
  private func makeSingle(
    byteCount: Int, headByteCount: Int, payloadByteCount: Int, pageAligned: Bool
  ) throws(StoreError) -> (Reservation, UInt64)? {
    upkeepLock.lock()
    defer { upkeepLock.unlock() }
    try requireWritable()
    guard let segment = try makeSegment(byteCount: roundUp(byteCount, to: 4096)) else { return nil }
    return try locked { () throws(StoreError) in
      guard
        try record([.segmentOpened(slot: segment.slot, stream: .single, firstSequence: nextRecord)]),
        let reservation = segment.reserve(
          headByteCount: headByteCount, payloadByteCount: payloadByteCount, pageAligned: pageAligned)
      else {
        segment.state = .sealed
        return nil
      }
      let sequence = takeRecordNumber()
      if try !record([.segmentSealed(slot: segment.slot, byteCount: segment.byteCount)]) { segment.state = .sealed }
      return (reservation, sequence)
    }
  }

  /// Makes spares until there are `count`. Throws `noSpace` when there is room for none.
  ///
  /// `isAhead`: nobody waits for one yet. Then no entry goes because the disk is full: it may have room again before a put
  /// comes, and where no file can be made at all everything would go for nothing.
  func makeSpares(_ count: Int, isAhead: Bool = false) throws(StoreError) {
    upkeepLock.lock()
    defer { upkeepLock.unlock() }
    try requireWritable()
    while true {
      let (there, byteCount) = locked { (spares.count { $0.byteCount >= segmentByteCount }, segmentByteCount) }
      if there >= count { return }
      guard let segment = try makeSegment(byteCount: byteCount, evictsOnFullDisk: !isAhead) else { return }
      locked { spares.append(segment) }
    }
  }

  /// Makes a segment file and names it in the log. Under the upkeep lock. Nil when the log had no room: a checkpoint
  /// was written, try again.
  ///
  /// `evicts`: room that the budget has not is made, at the cost of entries; `evictsOnFullDisk`: also what the disk has not.
  func makeSegment(
    byteCount: Int, evicts: Bool = true, evictsOnFullDisk: Bool = true
  ) throws(StoreError) -> Segment? {
    // The index of a checkpoint has to have room for it too.
    let needed = locked { catalog.checkpointByteCount() }
    if needed > checkpointByteCount {
      if !evicts, locked({ !ledger.admits(2 * (needed - checkpointByteCount)) }) { throw .noSpace }
      try grow(to: needed)
    }
    if evicts { try makeRoom(for: byteCount) } else if locked({ !ledger.admits(byteCount) }) { throw .noSpace }
    let id = locked { catalog.takeSegmentID() }
    assert(!orphans.contains(SegmentHeader.fileName(id)), "numbers are given above all files that are there")
    let header = SegmentHeader(
      stream: .spare, store: identity.store, segment: id, fileByteCount: byteCount,
      opening: Sequence.opening(firstSequence), made: environment.clock.wallMilliseconds())
    let name = SegmentHeader.fileName(id)
    let made = try makeFileOnFullDisk(name, header, byteCount, evicts: evicts && evictsOnFullDisk)
    var segment: Segment?
    // Also where it throws.
    defer { if segment == nil { removeUnnamed(name, byteCount: made.allocated) } }
    segment = try locked { () throws(StoreError) -> Segment? in
      try requireWritable()
      guard let slot = catalog.segments.takeSlot() else { throw .noSpace }
      guard try record([.segmentMade(slot: slot, id: id, byteCount: byteCount)]),
        let segment = catalog.segments.segments[slot]
      else {
        catalog.segments.giveBack(slot: slot)
        return nil
      }
      segment.attach(
        file: folders.cached(made.file, segment: id, access: .readWrite, isKept: true), mapping: made.mapping,
        byteCount: byteCount, allocatedByteCount: made.allocated, account: catalog.segments.account, access: .readWrite)
      segment.window = made.window
      catalog.segments.insert(segment, vouchedUpTo: 0, firstSequence: nextRecord)
      ledger.segments += made.allocated
      ledger.folders += made.folderGrowth
      bytesWritten.wrappingAdd(SegmentHeader.byteCount, ordering: .relaxed)
      return segment
    }
    if segment == nil { try writeCheckpoint() } else { trimMappings() }
    return segment
  }

  /// The disk may be full while the budget is not: then so much is given back first.
  private func makeFileOnFullDisk(
    _ name: String, _ header: SegmentHeader, _ byteCount: Int, evicts: Bool
  ) throws(StoreError) -> MadeFile {
    var hasGivenBack = !evicts
    while true {
      let failure: StoreError
      do throws(SystemError) {
        return try makeFile(name, header, byteCount)
      } catch {
        failure = writeError(error)
        // An orphan's name is not for a segment.
        guard removeUnnamed(name, byteCount: byteCount) else { throw failure }
      }
      guard case .noSpace = failure, !hasGivenBack, try giveBack(byteCount) else { throw failure }
      hasGivenBack = true
    }
  }

  /// Removes a file of so many bytes that no frame names. False when it stays: then it counts, and is an orphan as those
  /// are that a crash leaves.
  @discardableResult
  private func removeUnnamed(_ name: String, byteCount: Int) -> Bool {
    do throws(SystemError) {
      try folders.segments.remove(name)
      return true
    } catch {
      if error.code == SystemError.missing { return true }
      let taken = (try? SegmentHeader.charge(of: folders.segments.openFile(name, .readOnly))) ?? byteCount
      orphans.append(name)
      locked { ledger.orphans += taken }
      return false
    }
  }

  private struct MadeFile {
    let file: any File
    let mapping: Mapping?
    let window: FillWindow?
    let allocated: Int
    /// Bytes by which the folder's own file has grown with the name.
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
      // Left by an opening whose frames were lost; nothing refers to it.
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
}
