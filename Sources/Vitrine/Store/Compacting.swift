// Compaction: what lives in sparse segments is copied together, so that they can go. The order is what makes a crash at
// any point harmless: copies are checked and written, then durable, then a frame moves the entries to them (rule 5),
// then the old segments are retired like all others in which nothing lives. Until the frame, nothing names the copies;
// after it, nothing names what they were made from. Readers never wait: an entry changes under its shard's lock, and a
// segment stays mapped for as long as somebody has it pinned.
extension StoreCore {
  /// What a round of compaction did.
  struct CompactionStep {
    var recordCount = 0
    var byteCount = 0
    /// Segments in which nothing lives any more.
    var segmentCount = 0
    var droppedCount = 0
  }

  /// Takes the sparsest segments apart, as many as fit into the room for copies. Nil when none is worth it: none of which
  /// at least the given share is dead, and that fits. Only segments with a number below `end` count. Under the upkeep lock.
  ///
  /// `goesOn` is asked before each record, with the upkeep lock held; after a no, what was copied so far is moved, and the
  /// rest stays.
  func compactOnce(
    leastDead: Double, olderThan end: UInt64 = .max, goesOn: () -> Bool = { true }
  ) throws(StoreError) -> CompactionStep? {
    try requireWritable(closing: true)
    // Whoever writes entries anew goes by where they lie.
    if mistrustsEarlierRecords { return nil }
    guard let plan = locked({ compactionPlan(leastDead: leastDead, olderThan: end) }) else { return nil }
    let records = liveRecords(in: plan.slots)
    var step = CompactionStep()
    try moveAway(records, to: plan.target, &step, goesOn)
    step.segmentCount = locked { plan.slots.count { catalog.segments.segments[$0]?.isDead ?? true } }
    locked {
      compaction.stepCount += 1
      compaction.recordCount += step.recordCount
      compaction.byteCount += step.byteCount
      compaction.segmentCount += step.segmentCount
    }
    try retireDeadSegments()
    return step
  }

  private func moveAway(
    _ records: [LiveRecord], to target: StreamKind, _ step: inout CompactionStep, _ goesOn: () -> Bool
  ) throws(StoreError) {
    var copies: [Copy] = []
    defer { locked { for copy in copies { copy.reservation.segment.pendingCount -= 1 } } }
    try copy(records, to: target, &copies, &step, goesOn)
    try makeDurable(copies)
    try move(copies, &step)
  }

  // MARK: Choosing

  /// Segments that could be taken apart: not those with one large record, of which nothing is dead. Under the commit lock.
  func compactable() -> [SegmentLoad] {
    catalog.segments.segments.compactMap { segment in
      guard let segment, segment.state == .sealed, segment.liveCount > 0, segment.pendingCount == 0,
        segment.unfilled.isEmpty, segment.stream != .single
      else { return nil }
      return SegmentLoad(
        slot: segment.slot, stream: segment.stream,
        liveByteCount: (segment.liveUnits + segment.boundUnits) * Unit.byteCount,
        byteCount: segment.tail - SegmentHeader.byteCount)
    }
  }

  private func compactionPlan(leastDead: Double, olderThan end: UInt64) -> CompactionPlan? {
    let loads = compactable().filter {
      $0.deadByteCount > 0 && Double($0.deadByteCount) >= leastDead * Double($0.byteCount)
        && catalog.segments.id($0.slot) < end
    }
    let spare = spares.map { $0.byteCount - SegmentHeader.byteCount }.max() ?? 0
    return CompactionPlan(loads) { stream in
      // Of two rooms one is counted: how a record that does not fit at the end of the first divides them is not known.
      max(spare, openSegments[Int(stream.rawValue)].map { $0.byteCount - $0.tail } ?? 0)
    }
  }

  /// A record of which something is needed.
  struct LiveRecord {
    let location: Location
    /// Nil when another record is its key's by now.
    var key: KeyHash?
    /// Nil when it carries no payload that anybody uses.
    var content: ContentHash?
  }

  /// What is needed in some segments, by style, then as it lies there. Looks once at every entry of the index.
  func liveRecords(in slots: [Int]) -> [LiveRecord] {
    var isWanted = [Bool](repeating: false, count: (slots.max() ?? 0) + 1)
    for slot in slots { isWanted[slot] = true }
    func wants(_ location: Location) -> Bool { location.slot < isWanted.count && isWanted[location.slot] }
    var contents: [Location: ContentHash] = [:]
    for shard in 0..<ContentTable.shardCount {
      catalog.contents.forEach(shard: shard) { word in
        let location = ContentTable.location(ofWord: word)
        if wants(location) { contents[location] = ContentTable.hash(ofWord: word, shard: shard) }
      }
    }
    var records: [LiveRecord] = []
    for shard in 0..<KeyTable.shardCount {
      catalog.keys.forEach(shard: shard) { slot in
        guard wants(slot.location) else { return }
        records.append(
          LiveRecord(
            location: slot.location, key: slot.hash(shard: shard),
            content: contents.removeValue(forKey: slot.location)))
      }
    }
    for (location, content) in contents { records.append(LiveRecord(location: location, key: nil, content: content)) }
    func order(_ record: LiveRecord) -> (UInt16, UInt64) { (record.key?.styleTag ?? 0, record.location.bits) }
    return records.sorted { order($0) < order($1) }
  }

  // MARK: Copying

  private struct Copy {
    let record: LiveRecord
    let reservation: Reservation
    let payloadUnits: Int
    /// Of the record's head, and of its copy's: they differ where the payload begins on a page.
    let headUnits: (old: Int, new: Int)
  }

  /// Copies records until there is no more room, and drops what fails its check.
  private func copy(
    _ records: [LiveRecord], to target: StreamKind, _ copies: inout [Copy], _ step: inout CompactionStep,
    _ goesOn: () -> Bool
  ) throws(StoreError) {
    let copier = RecordCopier()
    for record in records where goesOn() {
      let location = record.location
      // One that cannot be opened now is left for later.
      guard let file = catalog.segments.segment(location.slot)?.file else { break }
      guard try read(location, file, copier), let header = copier.header else {
        step.droppedCount += try dropUnreadable(record)
        continue
      }
      guard let room = try reserveCopy(copier, target) else { break }
      copier.makeHead(payloadOffset: room.payloadOffset, seed: catalog.segments.seed(room.location))
      try fill(room, copier.head, copier.payload, isCarried: false)
      copies.append(
        Copy(
          record: record, reservation: room, payloadUnits: Unit.count(copier.payload.count),
          headUnits: (header.headUnits, Unit.count(room.payloadOffset))))
      step.byteCount += room.endOffset - room.offset
    }
  }

  private func read(_ location: Location, _ file: any File, _ copier: RecordCopier) throws(StoreError) -> Bool {
    func isRead() -> Bool {
      copier.read(
        file, offset: location.offset, available: catalog.segments.available(at: location),
        seed: catalog.segments.seed(location), firstSequence: catalog.segments.firstSequence(location.slot),
        digest: environment.digest)
    }
    if isRead() { return true }
    return try system { () throws(SystemError) in try restore(location) } && isRead()
  }

  private enum Room {
    case found(Reservation)
    case opened
    case none
    case needsCheckpoint
  }

  /// Room in the segment that takes copies, or in a spare; nil when there is none.
  private func reserveCopy(_ copier: RecordCopier, _ target: StreamKind) throws(StoreError) -> Reservation? {
    while true {
      let room = try locked { () throws(StoreError) -> Room in
        try requireWritable(closing: true)
        if let segment = openSegments[Int(target.rawValue)], !segment.hasDamagedPages,
          let room = segment.reserve(
            headByteCount: copier.headByteCount, payloadByteCount: copier.payload.count,
            pageAligned: copier.isPageAligned)
        {
          return .found(room)
        }
        let most = largestExtent(copier.headByteCount, copier.payload.count, copier.isPageAligned)
        guard let spare = spares.first(where: { $0.byteCount >= most }) else { return .none }
        // Copies keep their numbers, so any number is right in a segment of copies.
        return try open(spare, for: target, firstSequence: 0) ? .opened : .needsCheckpoint
      }
      switch room {
      case .found(let reservation): return reservation
      case .opened: break
      case .none: return nil
      case .needsCheckpoint: try writeCheckpoint()
      }
    }
  }

  /// Compaction drops what fails its check: every entry that needs it. Answers how many.
  private func dropUnreadable(_ record: LiveRecord) throws(StoreError) -> Int {
    let before = locked { catalog.keyCount }
    if let key = record.key {
      let segment = catalog.segments.id(record.location.slot)
      try drop([LostEntry(hash: key, location: record.location, segment: segment)])
    }
    if let content = record.content { try drop(sharers(of: [(content, record.location)])) }
    return max(0, before - locked { catalog.keyCount })
  }

  // MARK: Moving

  /// Rule 5: a frame that moves a payload is stored only after the copy is durable.
  private func makeDurable(_ copies: [Copy]) throws(StoreError) {
    let slots = Set(copies.map(\.reservation.location.slot))
    if !slots.isEmpty { try syncSegments { slots.contains($0.slot) } }
  }

  /// Points the entries that are still what was copied to their copies. What has gone meanwhile leaves a dead copy.
  private func move(_ copies: [Copy], _ step: inout CompactionStep) throws(StoreError) {
    var rest = copies[...]
    while !rest.isEmpty {
      let part = rest.prefix(largestRemoval)
      var moves: [Change] = []
      try recordForSure {
        moves = part.compactMap(move)
        return moves
      }
      locked {
        for case .moved(let move) in moves where move.key == nil {
          catalog.segments.segment(move.to.slot)?.boundUnits += move.copiedHeadUnits
        }
      }
      step.recordCount += moves.count
      rest = rest.dropFirst(part.count)
    }
  }

  private func move(_ copy: Copy) -> Change? {
    let from = copy.record.location
    var move = Change.Move(
      from: from, to: copy.reservation.location, key: nil, content: nil, headUnits: copy.headUnits.old,
      copiedHeadUnits: copy.headUnits.new, payloadUnits: copy.payloadUnits)
    if let key = copy.record.key, catalog.keys.find(key, from) { move.key = key }
    if let content = copy.record.content, catalog.contents.count(content, from) > 0 { move.content = content }
    return move.key == nil && move.content == nil ? nil : .moved(move)
  }
}
