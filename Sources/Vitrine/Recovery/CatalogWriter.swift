/// The writer's side of a catalog: the accounts of index and segments, and the changes. Live and replayed changes use
/// the same ``apply(_:sequence:isChecked:)``, so recovery arrives at the writer's state.
///
/// It cannot be copied, like the ``SegmentAccounts`` in it. The loaded store owns it first, and then the state behind
/// the store's commit lock.
package struct CatalogWriter: ~Copyable {
  package let catalog: Catalog
  package internal(set) var keyWriter = KeyTableWriter()
  package internal(set) var contentWriter = ContentTableWriter()
  package var segments: SegmentAccounts
  package internal(set) var keyCount = 0
  package internal(set) var blobCount = 0
  /// The number of bytes that a get returns, summed over all keys.
  package internal(set) var logicalByteCount = 0
  /// The entries of styles that have a budget, and the pinned entries.
  package internal(set) var sums = EntrySums()
  package internal(set) var nextSegment: UInt64 = 1
  /// See ``takeHasEmptiedSegments()``.
  private var hasEmptiedSegments = false
  /// The entries of replayed frames.
  private var replayed = ReplayedEntries()
  /// Whether the changes are those of replayed frames.
  package var isReplaying: Bool {
    get { replayed.isNoting }
    set { replayed.isNoting = newValue }
  }
  /// Heads that the holder of the commit lock read before it took the lock.
  package var heads: HeadsAhead?

  /// Returns nil if there is no memory for the table of segments.
  package init?(identity: StoreIdentity) {
    guard let segments = SegmentAccounts(store: identity.store) else { return nil }
    catalog = Catalog(
      keys: keyWriter.table, contents: contentWriter.table, segments: segments.table,
      hasher: KeyHasher(secret: identity.secret))
    self.segments = segments
    sums.track(identity.styleBudgets.tags, isEmpty: true)
  }

  var keys: KeyTable { catalog.keys }
  var contents: ContentTable { catalog.contents }

  /// The bytes of live records in all segments. O(segments).
  package var liveByteCount: Int {
    var units = 0
    for case let segment? in segments.all { units += segments[segment].live.units }
    return units * Unit.byteCount
  }

  package func segment(_ slot: Int) -> Segment? { segments.segment(slot) }

  /// Returns the record at a location: its head if it was read ahead, or else the result of
  /// ``Catalog/record(at:checks:)``.
  @inline(__always)
  package func lockedRecord(at location: Location, checks: Bool) -> RecordView? {
    if let heads, let view = heads.view(at: location, in: catalog.segments.id(location.slot)) { return view }
    return catalog.record(at: location, checks: checks)
  }

  // MARK: Applying

  /// Makes the changes of one frame. Returns false if they contradict the state, which only damage can cause; then
  /// some of them may have been made.
  ///
  /// All blobs that the frame needs are claimed before any is released: if two keys exchange their bytes, neither
  /// payload may be dropped in between.
  @discardableResult
  package mutating func apply(_ changes: some Collection<Change>, sequence: UInt64, isChecked: Bool) -> Bool {
    for change in changes {
      if case .put(let put) = change, !claim(put) { return false }
    }
    for change in changes {
      guard apply(change, sequence: sequence, isChecked: isChecked) else { return false }
    }
    return true
  }

  /// Prepares for the replay of about this many changes.
  package mutating func expect(_ changeCount: Int) {
    keyWriter.reserve(changeCount)
    contentWriter.reserve(changeCount)
    replayed.expect(changeCount)
  }

  private mutating func apply(_ change: Change, sequence: UInt64, isChecked: Bool) -> Bool {
    switch change {
    case .put(let put):
      return enter(put, sequence: sequence, isChecked: isChecked)
    case .remove(let hash, let displaced):
      let isPinned = isPinned(hash, displaced.location)
      guard keyWriter.remove(hash, displaced.location) else { return false }
      keyCount -= 1
      accountForBoundHead(displaced, release(displaced, of: hash, isPinned: isPinned, sequence: sequence))
      return true
    case .removeAll:
      keyWriter.removeAll()
      contentWriter.removeAll()
      keyCount = 0
      blobCount = 0
      logicalByteCount = 0
      sums.removeAll()
      for case let segment? in segments.all {
        if segments[segment].live.count > 0, segments[segment].state == .sealed { hasEmptiedSegments = true }
        segments[segment].live.killAll(sequence: sequence)
      }
      return true
    case .segmentMade(let slot, let id, let byteCount):
      guard !hasSegment(slot), byteCount >= SegmentHeader.byteCount else { return false }
      let segment = Segment(
        id: id, slot: slot, byteCount: byteCount, stream: .spare, state: .spare, tail: SegmentHeader.byteCount)
      segments.insert(segment, vouchedUpTo: 0, firstSequence: 0)
      noteSegment(id)
      if isReplaying || !replayed.isEmpty { replayed.noteSegment(slot: slot) }
      return true
    case .segmentOpened(let slot, let stream, let firstSequence):
      guard let segment = segment(slot), segments[segment].state == .spare else { return false }
      segments[segment].open(stream)
      segments.setFirstSequence(firstSequence, slot: slot)
      return true
    case .segmentSealed(let slot, let byteCount):
      guard let segment = segment(slot), segments[segment].fill.tail <= byteCount else { return false }
      segments[segment].seal(byteCount: byteCount)
      if segments[segment].live.count == 0 { hasEmptiedSegments = true }
      return true
    case .segmentRetired(let slot):
      guard let segment = segment(slot), segments[segment].live.count == 0 else { return false }
      segments.retire(segment)
      return true
    case .moved(let move):
      return apply(move, sequence: sequence)
    }
  }

  private mutating func apply(_ move: Change.Move, sequence: UInt64) -> Bool {
    let end = move.to.offset + (move.copiedHeadUnits + move.payloadUnits) * Unit.byteCount
    guard segments.reaches(move.to.slot, end) else { return false }
    if let key = move.key {
      guard keyWriter.move(key, from: move.from, to: move.to) else { return false }
      if isPinned(key, move.to) { sums.changeHead(ofPinned: key, from: move.headUnits, to: move.copiedHeadUnits) }
      takeLive(move.from.slot, units: move.headUnits, sequence: sequence)
      segments.addLive(move.to.slot, units: move.copiedHeadUnits)
    }
    if let content = move.content {
      guard contentWriter.move(content, from: move.from, to: move.to) else { return false }
      takeLive(move.from.slot, units: move.payloadUnits, sequence: sequence)
      segments.addLive(move.to.slot, units: move.payloadUnits)
      if move.key == nil, !isReplaying {
        segments.unbindHead(move.from.slot, units: move.headUnits)
        segments.bindHead(move.to.slot, units: move.copiedHeadUnits)
      }
      if isReplaying || !replayed.isEmpty { replayed.note(move) }
    }
    segments.raiseTail(move.to.slot, to: end)
    return true
  }

  mutating func claim(_ put: Change.Put) -> Bool {
    guard segments.reaches(put.location.slot, put.endOffset) else { return false }
    guard put.contentLocation == put.location else { return contentWriter.retain(put.content, put.contentLocation) }
    guard contentWriter.insert(put.content, put.location) else { return false }
    segments.addLive(put.location.slot, units: put.payloadUnits)
    blobCount += 1
    return true
  }

  private mutating func enter(_ put: Change.Put, sequence: UInt64, isChecked: Bool) -> Bool {
    guard segments.reaches(put.location.slot, 0) else { return false }
    var flags = put.flags
    if isChecked { flags.formUnion(.checked) }
    var slot = KeySlot(put.hash, put.location, flags)
    slot.styleMark = put.styleMark
    slot.stamp = keys.clock.tick()
    let isPinned = put.displaced.map { self.isPinned(put.hash, $0.location) } ?? false
    if let displaced = put.displaced, keyWriter.replace(put.hash, displaced.location, with: slot) {
      accountForBoundHead(displaced, release(displaced, of: put.hash, isPinned: isPinned, sequence: sequence))
    } else {
      guard keyWriter.insert(slot, put.hash) else { return false }
      keyCount += 1
    }
    if isReplaying { replayed.note(put) }
    account(put)
    return true
  }

  /// Whether the entry at a location is pinned. Costs nothing in a store without pinned entries.
  func isPinned(_ hash: KeyHash, _ location: Location) -> Bool {
    sums.hasPins && keys.withEntry(hash, location) { $0.flags.contains(.pinned) } ?? false
  }

  /// Accounts for an entry, except for its payload, which ``claim(_:)`` has entered.
  mutating func account(_ put: Change.Put) {
    segments.addLive(put.location.slot, units: put.headUnits)
    segments.raiseTail(put.location.slot, to: put.endOffset)
    logicalByteCount += put.logicalByteCount
    sums.add(
      put.hash, EntrySums.Size(logicalByteCount: put.logicalByteCount, headUnits: put.headUnits), isPinned: put.isPinned
    )
  }

  /// Releases a removed entry. Returns the number of keys that still use its blob. If its record is unreadable and the
  /// blob unknown, that blob stays; then returns nil.
  @discardableResult
  mutating func release(
    _ displaced: Change.Displaced, of hash: KeyHash, isPinned: Bool, sequence: UInt64
  ) -> Int? {
    logicalByteCount -= displaced.logicalByteCount
    sums.remove(hash, displaced.size, isPinned: isPinned)
    // The record was damaged, and the log does not have its size.
    if displaced.headUnits == 0 { sums.forget(hash) }
    takeLive(displaced.location.slot, units: displaced.headUnits, sequence: sequence)
    let userCount = contentWriter.release(displaced.content, displaced.contentLocation)
    if userCount == 0 {
      takeLive(displaced.contentLocation.slot, units: displaced.payloadUnits, sequence: sequence)
      blobCount -= 1
    }
    return userCount
  }

  /// A head that dies becomes bound if other keys use its payload. When the payload dies, the head is dead like any
  /// other. Replayed frames do not count bound heads, because a replay reads no heads.
  private mutating func accountForBoundHead(_ displaced: Change.Displaced, _ userCount: Int?) {
    guard !isReplaying, let userCount else { return }
    let isOwn = displaced.contentLocation == displaced.location
    if isOwn, userCount > 0 {
      segments.bindHead(displaced.location.slot, units: displaced.headUnits)
    } else if !isOwn, userCount == 0 {
      let header = lockedRecord(at: displaced.contentLocation, checks: true)?.header
      segments.unbindHead(displaced.contentLocation.slot, units: header?.headUnits ?? 0)
    }
  }

  mutating func takeLive(_ slot: Int, units: Int, sequence: UInt64) {
    if segments.killLive(slot, units: units, sequence: sequence) { hasEmptiedSegments = true }
  }

  /// Returns whether a change since the last call has left a sealed segment without live records.
  mutating func takeHasEmptiedSegments() -> Bool {
    defer { hasEmptiedSegments = false }
    return hasEmptiedSegments
  }

  /// Enters a key that a scan of the segments found, and its blob if the key is the first to use it.
  mutating func enter(
    _ hash: KeyHash, location: Location, headUnits: Int, logicalByteCount: Int, content: ContentHash,
    payload: (location: Location, units: Int), expires: Bool, isPinned: Bool, stamp: UInt32
  ) {
    var flags: KeySlot.Flags = payload.location == location ? [] : .reference
    if expires { flags.formUnion(.expires) }
    if isPinned { flags.formUnion(.pinned) }
    var slot = KeySlot(hash, location, flags)
    slot.stamp = stamp
    guard keyWriter.insert(slot, hash) else { return }
    if !contentWriter.retain(content, payload.location), contentWriter.insert(content, payload.location) {
      blobCount += 1
      segments.addLive(payload.location.slot, units: payload.units)
    }
    keyCount += 1
    self.logicalByteCount += logicalByteCount
    sums.add(hash, EntrySums.Size(logicalByteCount: logicalByteCount, headUnits: headUnits), isPinned: isPinned)
    segments.addLive(location.slot, units: headUnits)
  }

  /// Notes that a segment has this number. Later segments get higher numbers.
  package mutating func noteSegment(_ id: UInt64) { nextSegment = max(nextSegment, id &+ 1) }

  /// Returns a number for a segment file; none is used twice.
  package mutating func takeSegmentID() -> UInt64 {
    defer { nextSegment += 1 }
    return nextSegment
  }

  /// Removes the segments that the log has retired. Files of theirs that still exist count as orphans.
  mutating func dropRetired() {
    for case let segment? in segments.all where segments[segment].state == .retired {
      segments.remove(slot: segment.slot)
      segments.freeSlot(segment.slot)
    }
  }

  /// Takes over the counts of another catalog, whose tables this one has by now.
  private mutating func takeCounts(of other: borrowing CatalogWriter) {
    keyCount = other.keyCount
    blobCount = other.blobCount
    logicalByteCount = other.logicalByteCount
    sums = other.sums
    nextSegment = max(nextSegment, other.nextSegment)
  }

  /// Changes the locations of the entries of `other`, which has no readers, to those in this catalog. Then exchanges
  /// the tables of the two catalogs.
  ///
  /// Payloads come first, so a key that is found in the new table finds its payload. A key found in the old table may
  /// not find it, and is looked up again once the commit lock is free.
  mutating func takeEntries(of other: borrowing CatalogWriter, at place: (Location) -> Location) {
    other.contentWriter.relocate(place)
    other.keyWriter.relocate { slot, hash in
      let location = place(slot.location)
      // An entry that has not changed stays checked if it was checked.
      return (location, keys.withEntry(hash, location) { $0.flags.union(slot.flags) } ?? slot.flags)
    }
    contentWriter.exchange(with: other.contentWriter)
    keyWriter.exchange(with: other.keyWriter)
    catalog.useTimes.replace(with: other.catalog.useTimes)
    takeCounts(of: other)
  }

  private func hasSegment(_ slot: Int) -> Bool { segment(slot).map { segments[$0].state != .retired } ?? false }

  /// Returns the removal of the entry at `location`, from its records, or else from the log as it was replayed. If
  /// neither has it, the segment's account stays too high until its last record is removed.
  package mutating func displaced(at location: Location) -> Change.Displaced {
    if let header = lockedRecord(at: location, checks: true)?.header {
      let content = catalog.hasher.content(header.digest)
      let known = header.carriesPayload ? location : payloadLocation(of: header, at: location)
      return Change.Displaced(
        location: location, headUnits: header.headUnits, logicalByteCount: header.logicalByteCount, content: content,
        contentLocation: known ?? location, payloadUnits: known.map { payloadUnits($0) } ?? 0)
    }
    if var replayed = replayed.entry(at: location) {
      replayed.payloadUnits = payloadUnits(replayed.contentLocation)
      return replayed
    }
    var content = ContentHash(bits: 0)
    for shard in 0..<ContentTable.shardCount where content.bits == 0 {
      contents.forEach(shard: shard) { word in
        if ContentTable.location(ofWord: word) == location { content = ContentTable.hash(ofWord: word, shard: shard) }
      }
    }
    return Change.Displaced(
      location: location, headUnits: 0, logicalByteCount: 0, content: content, contentLocation: location,
      payloadUnits: 0)
  }

  private mutating func payloadLocation(of header: RecordHeader, at location: Location) -> Location? {
    catalog.payloadLocation(of: header) { lockedRecord(at: $0, checks: true) }
      ?? replayed.entry(at: location)?.contentLocation
  }

  private mutating func payloadUnits(_ location: Location) -> Int {
    lockedRecord(at: location, checks: true)?.header.payloadUnits ?? replayed.entry(at: location)?.payloadUnits ?? 0
  }

  /// Returns, by slot, the least offset of the records that replayed frames name.
  package func leastReplayedOffsets() -> [Int: Int] { replayed.leastOffsets() }

  /// Drops the replayed entries once all of them were checked: their records are valid.
  package mutating func forgetReplayed() { replayed.forget() }

  // MARK: Missing segments

  /// Removes an entry whose record cannot be read now. Its record counts as live until its segment is removed.
  package mutating func dropUnread(_ hash: KeyHash, _ location: Location) {
    guard keyWriter.remove(hash, location) else { return }
    keyCount -= 1
    sums.forget(hash)
  }

  /// Removes every entry and every payload whose record lay in `slot` at or behind offset `from`. Returns their
  /// numbers.
  @discardableResult
  package mutating func dropEntries(slot: Int, from offset: Int) -> (keys: Int, payloads: Int) {
    var dropped = (keys: 0, payloads: 0)
    for shard in 0..<KeyTable.shardCount {
      for entry in keys.copy(shard: shard)
      where entry.location.slot == slot && entry.location.offset >= offset {
        if keyWriter.remove(entry.hash(shard: shard), entry.location) {
          keyCount -= 1
          sums.forget(entry.hash(shard: shard))
          dropped.keys += 1
          takeLive(slot, units: 0, sequence: 0)
        }
      }
    }
    for shard in 0..<ContentTable.shardCount {
      var gone: [UInt64] = []
      contents.forEach(shard: shard) { word in
        let location = ContentTable.location(ofWord: word)
        if location.slot == slot, location.offset >= offset { gone.append(word) }
      }
      for word in gone {
        contentWriter.removeEntirely(
          ContentTable.hash(ofWord: word, shard: shard), ContentTable.location(ofWord: word))
        blobCount -= 1
        dropped.payloads += 1
        takeLive(slot, units: 0, sequence: 0)
      }
    }
    return dropped
  }
}
