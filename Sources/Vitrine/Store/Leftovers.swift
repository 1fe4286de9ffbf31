// Leftovers of a crash: records that no checkpoint vouches for. Each is checked on its first read. Behind the serving all of
// them are checked, so that checkpoints can vouch for them (rules 4 and 7). No lock of the store is held while a record is
// read, so no call waits for a read of this check. A segment may be compacted, evicted or retired meanwhile: nothing is
// dropped, and no mark raised, but of the segment that was read.

/// Unvouched records of an earlier opening in one segment.
struct Leftover {
  let slot: Int
  let id: UInt64
  /// They begin below this offset.
  let end: Int
  /// From this offset on the replayed log tells what records took.
  let toldFrom: Int
}

/// An entry that is to be dropped, in the segment where it was found.
struct LostEntry {
  let hash: KeyHash
  let location: Location
  let segment: UInt64
}

extension StoreCore {
  /// A pass over the index collects about so many records.
  private static let collectedAtOnce = 1 << 18

  /// Checks every unvouched record of earlier openings, drops those that fail, and raises the marks of segments whose
  /// records were all checked and synced. Throws when the store is being closed, and when a file cannot be opened now.
  /// Concurrent calls take turns. Takes the upkeep lock and the commit lock for moments, so it must be called under none.
  func checkLeftovers() throws(StoreError) {
    leftoverLock.lock()
    defer { leftoverLock.unlock() }
    try checkAllLeftovers()
  }

  /// The same with the lock of the check held.
  func checkAllLeftovers(closing: Bool = false) throws(StoreError) {
    var checked: Set<UInt64> = []
    while true {
      let group = nextLeftovers(without: checked)
      if group.isEmpty { break }
      let records = leftoverRecords(in: group)
      for leftover in group {
        try check(leftover, records[leftover.slot] ?? [], closing: closing)
        checked.insert(leftover.id)
      }
    }
    locked { if unchecked.isEmpty { catalog.forgetReplayed() } }
  }

  /// Starts the check on a thread of its own, beside upkeep, which goes on meanwhile.
  func startCheckingLeftovers() throws(StoreError) {
    if locked({ unchecked.isEmpty }) { return }
    let task = try system { () throws(SystemError) in
      try environment.background.start(
        name: "vitrine leftovers", intervalMilliseconds: StoreCore.upkeepMilliseconds
      ) { [weak self] in self?.goOnCheckingLeftovers() }
    }
    leftoverTask.withLock { $0 = task }
    task.wake()
  }

  private func goOnCheckingLeftovers() {
    // Short of descriptors, say: then once more, later.
    try? checkLeftovers()
    if locked({ unchecked.isEmpty }) || isClosed { leftoverTask.withLock { $0 }?.end() }
  }

  /// Bytes of segments in which something is unchecked.
  var uncheckedByteCount: Int {
    locked { unchecked.reduce(0) { $0 + max(0, $1.end - catalog.segments.vouchedUpTo($1.slot)) } }
  }

  /// Segments whose records one pass over the index collects.
  private func nextLeftovers(without checked: Set<UInt64>) -> [Leftover] {
    locked {
      var group: [Leftover] = []
      var count = 0
      for leftover in unchecked where !checked.contains(leftover.id) && count < StoreCore.collectedAtOnce {
        group.append(leftover)
        count += catalog.segment(leftover.slot)?.liveCount ?? 0
      }
      return group
    }
  }

  /// Needed records in the unchecked parts of some segments, by slot, in the order of their places.
  private func leftoverRecords(in group: [Leftover]) -> [Int: [LiveRecord]] {
    if group.isEmpty { return [:] }
    var records = Dictionary(grouping: liveRecords(in: group.map(\.slot)), by: \.location.slot)
    for leftover in group {
      let from = catalog.segments.vouchedUpTo(leftover.slot)
      records[leftover.slot] = records[leftover.slot]?
        .filter { ($0.location.offset >= from) && ($0.location.offset < leftover.end) }
        .sorted { $0.location.bits < $1.location.bits }
    }
    return records
  }

  private func check(
    _ leftover: Leftover, _ records: [LiveRecord], closing: Bool
  ) throws(StoreError) {
    var lost: [LostEntry] = []
    var payloads: [(ContentHash, Location)] = []
    for record in records {
      try requireWritable(closing: closing)
      guard catalog.segments.id(record.location.slot) == leftover.id else { return }
      guard try isDamaged(record.location) else { continue }
      if let key = record.key {
        lost.append(LostEntry(hash: key, location: record.location, segment: leftover.id))
      }
      if let content = record.content { payloads.append((content, record.location)) }
    }
    guard catalog.segments.id(leftover.slot) == leftover.id else { return }
    try underUpkeep { () throws(StoreError) in try drop(lost) }
    // Payloads whose own keys have gone, but which others use.
    let sharers = try sharers(of: payloads.filter { catalog.contents.has($0.0, $0.1) })
    try underUpkeep { () throws(StoreError) in try drop(sharers) }
    try vouch(for: leftover)
  }

  /// Every record of it that is needed was checked: makes them durable, and raises the mark.
  private func vouch(for leftover: Leftover) throws(StoreError) {
    func current() -> Segment? {
      catalog.segments.segment(leftover.slot).flatMap { $0.id == leftover.id && $0.state != .retired ? $0 : nil }
    }
    guard let segment = locked({ current() }) else { return }
    // Writes of the previous process, and records that were restored from the log just now.
    try sync(segment)
    underUpkeep {
      locked {
        guard current() === segment else { return }
        catalog.segments.raiseMark(of: segment, to: leftover.end)
        unchecked.removeAll { $0.slot == leftover.slot }
      }
    }
  }

  // MARK: Before a checkpoint

  /// Finds the records of replayed frames whose heads are lost: behind a checkpoint's position no frame tells any more what
  /// those took. Once for each opening, since the checkpoint makes all other heads durable. Reads heads alone, no more than
  /// the log has frames. Under no lock but the upkeep lock, or under none.
  func findHeadless() throws(StoreError) {
    let told = locked { hasFoundHeadless ? [] : unchecked.filter { $0.toldFrom < $0.end } }
    let records = leftoverRecords(in: told)
    var found: [LostEntry] = []
    var payloads: [(ContentHash, Location)] = []
    for leftover in told {
      for record in records[leftover.slot] ?? []
      where record.location.offset >= leftover.toldFrom && catalog.segments.id(leftover.slot) == leftover.id {
        guard try isHeadless(record) else { continue }
        if let key = record.key { found.append(LostEntry(hash: key, location: record.location, segment: leftover.id)) }
        if let content = record.content { payloads.append((content, record.location)) }
      }
    }
    found += try sharers(of: payloads)
    locked {
      if hasFoundHeadless { return }
      headless = found
      hasFoundHeadless = true
    }
  }

  private func isHeadless(_ record: LiveRecord) throws(StoreError) -> Bool {
    let location = record.location
    if let key = record.key {
      guard let pin = catalog.keys.withEntry(key, location, { catalog.segments.pin($0.location.slot) }) else {
        return false
      }
      defer { pin.release() }
      if catalog.record(at: location, checks: true) != nil { return false }
    }
    switch check(location, readsPayload: false) {
    case .intact: return false
    case .damaged: return true
    case .unavailable(let error): throw .system(error)
    }
  }

  /// Gives up the entries whose heads are lost, without a frame: the checkpoint holds the effect. Under the commit lock.
  func dropHeadless() {
    for entry in headless where isThere(entry) {
      let change = Change.remove(entry.hash, catalog.displaced(at: entry.location))
      catalog.apply(CollectionOfOne(change), sequence: 0, isChecked: false)
      count(lost: isFromBefore(entry.location))
    }
    headless = []
  }

  private func isThere(_ entry: LostEntry) -> Bool {
    catalog.keys.find(entry.hash, entry.location) && isStill(entry.segment, entry.location)
  }

  /// Throws when it cannot be known now: then nothing is dropped, and nothing vouched for.
  func isDamaged(_ location: Location) throws(StoreError) -> Bool {
    switch check(location, readsPayload: true) {
    case .intact: return false
    case .damaged: return true
    case .unavailable(let error): throw .system(error)
    }
  }

  /// The entries whose records begin in a segment, in their order there.
  func keys(slot: Int) -> [(KeyHash, Location)] {
    liveRecords(in: [slot]).compactMap { record in record.key.map { ($0, record.location) } }
      .sorted { $0.1.bits < $1.1.bits }
  }

  // MARK: Dropping

  /// Drops entries that were lost, where they are still there. Under the upkeep lock.
  func drop(_ entries: [LostEntry]) throws(StoreError) {
    for start in stride(from: 0, to: entries.count, by: 64) {
      let part = entries[start..<min(start + 64, entries.count)]
      var dropped: [LostEntry] = []
      try recordForSure {
        var changes = FrameChanges(capacity: part.count)
        dropped = part.filter { entry in isThere(entry) && changes.remove(entry.hash, entry.location, from: catalog) }
        return changes.list
      }
      for entry in dropped { count(lost: isFromBefore(entry.location)) }
    }
  }

  /// The entries, other than their records' own, that use payloads. One pass over the index; reads the heads of all entries
  /// without a payload of their own, which are pinned meanwhile.
  func sharers(of payloads: [(ContentHash, Location)]) throws(StoreError) -> [LostEntry] {
    if payloads.isEmpty { return [] }
    let lost = Dictionary(grouping: payloads.map { ($0.0.bits, $0.1) }, by: { $0.0 })
    var found: [LostEntry] = []
    for shard in 0..<KeyTable.shardCount {
      for entry in catalog.keys.copy(shard: shard) where entry.flags.contains(.reference) {
        let hash = entry.hash(shard: shard)
        let pinned = catalog.keys.withEntry(hash, entry.location) { catalog.segments.pin($0.location.slot) }
        guard let pin = pinned else { continue }
        defer { pin.release() }
        guard let header = catalog.record(at: entry.location, checks: true)?.header,
          let places = lost[catalog.hasher.content(header.digest).stored.bits]
        else { continue }
        let payload = try system { () throws(SystemError) in try pinPayload(of: header, checks: true) }
        payload?.1.release()
        guard payload.map({ payload in places.contains { $0.1 == payload.0 } }) ?? true else { continue }
        found.append(
          LostEntry(hash: hash, location: entry.location, segment: catalog.segments.id(entry.location.slot)))
      }
    }
    return found
  }
}
