/// The index and the accounts of the segments: the state that changes modify. Live and replayed changes use the
/// same ``apply(_:)``, so recovery arrives at the writer's state.
///
/// Changes are made under the commit lock; the tables are read from any thread.
package final class Catalog: @unchecked Sendable {
  package let keys = KeyTable()
  package let contents = ContentTable()
  package let segments: SegmentTable
  package let hasher: KeyHasher

  // Here and in the classes below, `@exclusivity(unchecked)` marks fields that the commit lock guards and every put
  // changes: the check at run time would find nothing that the lock does not prevent, and costs more than the
  // change.
  @exclusivity(unchecked) package internal(set) var keyCount = 0
  @exclusivity(unchecked) package internal(set) var blobCount = 0
  /// The sum of the bytes that gets return, each key counted.
  @exclusivity(unchecked) package internal(set) var logicalByteCount = 0
  /// The bytes of live records in all segments. O(segments).
  package var liveByteCount: Int { segments.segments.reduce(0) { $0 + ($1?.liveUnits ?? 0) } * Unit.byteCount }
  package var nextSegment: UInt64 = 1
  /// See ``takeHasEmptiedSegments()``.
  @exclusivity(unchecked) private var hasEmptiedSegments = false
  /// Dates the stamps of the keys.
  package let useTimes = SharedUseTimes()

  /// The entries of replayed frames.
  @exclusivity(unchecked) private var replayed = ReplayedEntries()
  @exclusivity(unchecked) package var isReplaying = false
  /// Heads that the holder of the commit lock read before it took the lock.
  @exclusivity(unchecked) package var heads: HeadsAhead?

  package init?(identity: StoreIdentity) {
    guard let segments = SegmentTable(store: identity.store) else { return nil }
    self.segments = segments
    hasher = KeyHasher(secret: identity.secret)
  }

  // MARK: Applying

  /// Makes the changes of one frame. Returns false if they contradict the state, which only damage can cause; then
  /// some of them may have been made.
  ///
  /// All blobs that the frame needs are claimed before any is released: if two keys exchange their bytes, neither
  /// payload may be dropped in between.
  @discardableResult
  package func apply(_ changes: some Collection<Change>, sequence: UInt64, isChecked: Bool) -> Bool {
    for change in changes {
      if case .put(let put) = change, !claim(put) { return false }
    }
    for change in changes {
      guard apply(change, sequence: sequence, isChecked: isChecked) else { return false }
    }
    return true
  }

  /// Prepares for the replay of about this many changes.
  package func expect(_ changeCount: Int) {
    keys.reserve(changeCount)
    contents.reserve(changeCount)
    replayed.expect(changeCount)
  }

  private func apply(_ change: Change, sequence: UInt64, isChecked: Bool) -> Bool {
    switch change {
    case .put(let put):
      return enter(put, sequence: sequence, isChecked: isChecked)
    case .remove(let hash, let displaced):
      guard keys.remove(hash, displaced.location) else { return false }
      keyCount -= 1
      release(displaced, sequence: sequence)
      return true
    case .removeAll:
      keys.removeAll()
      contents.removeAll()
      keyCount = 0
      blobCount = 0
      logicalByteCount = 0
      for case let segment? in segments.segments {
        if segment.liveCount > 0, segment.state == .sealed { hasEmptiedSegments = true }
        segment.liveUnits = 0
        segment.liveCount = 0
        segment.lastKill = sequence
      }
      return true
    case .segmentMade(let slot, let id, let byteCount):
      guard !hasSegment(slot), byteCount >= SegmentHeader.byteCount else { return false }
      let segment = Segment(
        id: id, slot: slot, byteCount: byteCount, stream: .spare, state: .spare, tail: SegmentHeader.byteCount)
      segments.insert(segment, vouchedUpTo: 0, firstSequence: 0)
      nextSegment = max(nextSegment, id + 1)
      return true
    case .segmentOpened(let slot, let stream, let firstSequence):
      guard let segment = segment(slot), segment.state == .spare else { return false }
      segment.stream = stream
      segment.state = .open
      segments.setFirstSequence(firstSequence, slot: slot)
      return true
    case .segmentSealed(let slot, let byteCount):
      guard let segment = segment(slot), segment.tail <= byteCount else { return false }
      segment.state = .sealed
      segment.byteCount = byteCount
      if segment.liveCount == 0 { hasEmptiedSegments = true }
      return true
    case .segmentRetired(let slot):
      guard let segment = segment(slot), segment.liveCount == 0 else { return false }
      segment.state = .retired
      return true
    case .moved(let move):
      return apply(move, sequence: sequence)
    }
  }

  private func apply(_ move: Change.Move, sequence: UInt64) -> Bool {
    let byteCount = (move.copiedHeadUnits + move.payloadUnits) * Unit.byteCount
    guard let segment = segment(move.to.slot), move.to.offset + byteCount <= segment.byteCount else { return false }
    if let key = move.key {
      guard keys.move(key, from: move.from, to: move.to) else { return false }
      takeLive(move.from.slot, units: move.headUnits, sequence: sequence)
      segment.liveUnits += move.copiedHeadUnits
      segment.liveCount += 1
    }
    if let content = move.content {
      guard contents.move(content, from: move.from, to: move.to) else { return false }
      takeLive(move.from.slot, units: move.payloadUnits, sequence: sequence)
      segment.liveUnits += move.payloadUnits
      segment.liveCount += 1
      if isReplaying || !replayed.isEmpty { replayed.note(move) }
    }
    segment.tail = max(segment.tail, move.to.offset + byteCount)
    return true
  }

  func claim(_ put: Change.Put) -> Bool {
    let byteCount = (put.headUnits + put.payloadUnits) * Unit.byteCount
    guard let segment = segment(put.location.slot), put.location.offset + byteCount <= segment.byteCount else {
      return false
    }
    guard put.contentLocation == put.location else { return contents.retain(put.content, put.contentLocation) }
    guard contents.insert(put.content, put.location) else { return false }
    segment.liveUnits += put.payloadUnits
    segment.liveCount += 1
    blobCount += 1
    return true
  }

  private func enter(_ put: Change.Put, sequence: UInt64, isChecked: Bool) -> Bool {
    guard segment(put.location.slot) != nil else { return false }
    var flags = put.flags
    if isChecked { flags.formUnion(.checked) }
    var slot = KeySlot(put.hash, put.location, flags)
    slot.stamp = keys.clock.tick()
    if let displaced = put.displaced, keys.replace(put.hash, displaced.location, with: slot) {
      release(displaced, sequence: sequence)
    } else {
      guard keys.insert(slot, put.hash) else { return false }
      keyCount += 1
    }
    if isReplaying { replayed.note(put) }
    account(put)
    return true
  }

  /// Accounts for an entry, except for its payload, which ``claim(_:)`` has entered.
  func account(_ put: Change.Put) {
    guard let segment = segment(put.location.slot) else { return }
    segment.liveUnits += put.headUnits
    segment.liveCount += 1
    segment.tail = max(segment.tail, put.location.offset + (put.headUnits + put.payloadUnits) * Unit.byteCount)
    logicalByteCount += put.logicalByteCount
  }

  /// Releases a removed entry. If its record is unreadable and the blob unknown, that blob stays.
  func release(_ displaced: Change.Displaced, sequence: UInt64) {
    logicalByteCount -= displaced.logicalByteCount
    takeLive(displaced.location.slot, units: displaced.headUnits, sequence: sequence)
    if contents.release(displaced.content, displaced.contentLocation) == 0 {
      takeLive(displaced.contentLocation.slot, units: displaced.payloadUnits, sequence: sequence)
      blobCount -= 1
    }
  }

  func takeLive(_ slot: Int, units: Int, sequence: UInt64) {
    guard let segment = segment(slot) else { return }
    segment.liveCount = max(0, segment.liveCount - 1)
    // The size of a damaged record is unknown; the last record of the segment sets the account right.
    segment.liveUnits = segment.liveCount == 0 ? 0 : max(0, segment.liveUnits - units)
    segment.lastKill = max(segment.lastKill, sequence)
    if segment.liveCount == 0, segment.state == .sealed { hasEmptiedSegments = true }
  }

  /// Returns whether a change since the last call has left a sealed segment without live records.
  func takeHasEmptiedSegments() -> Bool {
    defer { hasEmptiedSegments = false }
    return hasEmptiedSegments
  }

  /// Enters a key that a scan of the segments found, and its blob if the key is the first to use it.
  func enter(
    _ hash: KeyHash, location: Location, headUnits: Int, logicalByteCount: Int, content: ContentHash,
    payload: (location: Location, units: Int), expires: Bool, stamp: UInt32
  ) {
    var flags: KeySlot.Flags = payload.location == location ? [] : .reference
    if expires { flags.formUnion(.expires) }
    var slot = KeySlot(hash, location, flags)
    slot.stamp = stamp
    guard keys.insert(slot, hash) else { return }
    if !contents.retain(content, payload.location), contents.insert(content, payload.location) {
      blobCount += 1
      segment(payload.location.slot)?.liveUnits += payload.units
      segment(payload.location.slot)?.liveCount += 1
    }
    keyCount += 1
    self.logicalByteCount += logicalByteCount
    segment(location.slot)?.liveUnits += headUnits
    segment(location.slot)?.liveCount += 1
  }

  /// Returns a number for a segment file; none is used twice.
  package func takeSegmentID() -> UInt64 {
    defer { nextSegment += 1 }
    return nextSegment
  }

  func segment(_ slot: Int) -> Segment? {
    slot < segments.segments.count ? segments.segments[slot] : nil
  }

  private func hasSegment(_ slot: Int) -> Bool { segment(slot).map { $0.state != .retired } ?? false }

  // MARK: Records behind entries

  /// Returns the record at a location if it is valid; `checks` compares its checksum too.
  @inline(__always)
  package func record(at location: Location, checks: Bool) -> RecordView? {
    try? openRecord(at: location, checks: checks)
  }

  /// Returns the record at a location. Throws if the segment is not mapped and its file cannot be opened now. An
  /// unreadable or removed file has no record.
  @inline(__always)
  package func openRecord(at location: Location, checks: Bool) throws(SystemError) -> RecordView? {
    let bytes = segments.bytes(at: location)
    if bytes.isEmpty { return try copiedRecord(at: location, checks: checks) }
    guard let header = RecordHeader(bytes), header.sequence >= segments.firstSequence(location.slot),
      !checks || header.isIntact(in: bytes, seed: segments.seed(location))
    else { return nil }
    let view = RecordView(header: header, bytes: bytes)
    // Checked last: zeros may have replaced a page while the fields were read.
    return segments.isDamaged(view.head, slot: location.slot) ? nil : view
  }

  private func copiedRecord(at location: Location, checks: Bool) throws(SystemError) -> RecordView? {
    let available = segments.available(at: location)
    guard available > 0, let file = try file(location.slot),
      let view = try? RecordCopy.view(file, offset: location.offset, available: available),
      view.header.sequence >= segments.firstSequence(location.slot),
      !checks || view.header.isIntact(in: view.bytes, seed: segments.seed(location))
    else { return nil }
    return view
  }

  /// Returns the file for reading a segment, nil if the segment is gone; throws if it cannot be opened now. If a
  /// reader's segment file is missing, another process has unlinked it; the next refresh finds the new locations of
  /// its records.
  package func file(_ slot: Int) throws(SystemError) -> (any File)? {
    guard let storage = segments.segment(slot)?.storage else { return nil }
    do throws(SystemError) {
      return try storage.readable()
    } catch {
      if error.code == SystemError.missing, storage.access == .readWrite { return nil }
      throw error
    }
  }

  /// Returns the location of a reference's payload; nil if it is gone or damaged.
  package func payloadLocation(of header: RecordHeader) -> Location? {
    payloadLocation(of: header) { record(at: $0, checks: true) }
  }

  private func payloadLocation(of header: RecordHeader, _ record: (Location) -> RecordView?) -> Location? {
    var found: [Location] = []
    contents.candidates(hasher.content(header.digest)) { location in
      found.append(location)
      return true
    }
    return found.first { location in
      guard let other = record(location)?.header else { return false }
      return other.digest == header.digest && other.origin == header.origin
    }
  }

  /// Returns the removal of the entry at `location`, from its records, or else from the log as it was replayed. If
  /// neither has it, the segment's account stays too high until its last record is removed. Under the commit lock.
  package func displaced(at location: Location) -> Change.Displaced {
    if let header = lockedRecord(at: location, checks: true)?.header {
      let content = hasher.content(header.digest)
      let known =
        header.carriesPayload
        ? location
        : payloadLocation(of: header) { lockedRecord(at: $0, checks: true) } ?? told(location)?.contentLocation
      return Change.Displaced(
        location: location, headUnits: header.headUnits, logicalByteCount: header.logicalByteCount, content: content,
        contentLocation: known ?? location, payloadUnits: known.map(payloadUnits) ?? 0)
    }
    if var told = told(location) {
      told.payloadUnits = payloadUnits(told.contentLocation)
      return told
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

  private func payloadUnits(_ location: Location) -> Int {
    lockedRecord(at: location, checks: true)?.header.payloadUnits ?? told(location)?.payloadUnits ?? 0
  }

  private func told(_ location: Location) -> Change.Displaced? { replayed.entry(at: location) }

  /// Returns, by slot, the least offset of the records that replayed frames name.
  package func leastReplayedOffsets() -> [Int: Int] { replayed.leastOffsets() }

  /// Drops the replayed entries once all of them were checked: their records are valid.
  package func forgetReplayed() { replayed = ReplayedEntries() }

  // MARK: Missing segments

  /// Removes an entry whose record cannot be read now. Its record counts as live until its segment is removed.
  package func dropUnread(_ hash: KeyHash, _ location: Location) {
    if keys.remove(hash, location) { keyCount -= 1 }
  }

  /// Removes every entry whose record lay in `slot` at or behind offset `from`. Returns the number of removed keys.
  package func dropEntries(slot: Int, from offset: Int) -> Int {
    var dropped = 0
    for shard in 0..<KeyTable.shardCount {
      for entry in keys.copy(shard: shard)
      where entry.location.slot == slot && entry.location.offset >= offset {
        if keys.remove(entry.hash(shard: shard), entry.location) {
          keyCount -= 1
          dropped += 1
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
        contents.removeEntirely(
          ContentTable.hash(ofWord: word, shard: shard), ContentTable.location(ofWord: word))
        blobCount -= 1
        takeLive(slot, units: 0, sequence: 0)
      }
    }
    return dropped
  }
}

extension Change.Put {
  /// The flags of the record's entry in the key table.
  var flags: KeySlot.Flags {
    var flags: KeySlot.Flags = contentLocation == location ? [] : .reference
    if expires { flags.formUnion(.expires) }
    if isIndependent { flags.formUnion(.independent) }
    return flags
  }
}
