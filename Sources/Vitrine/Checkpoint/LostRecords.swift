/// Finds records that a crash has lost, and the entries that need them.
final class LostRecords: StorePart {
  let context: StoreContext
  private let headsLock = HeadsLock(())
  private let meters: Meters
  private let checker: RecordChecker
  private let payloads: PayloadFinder

  init(_ context: StoreContext, meters: Meters, checker: RecordChecker, payloads: PayloadFinder) {
    self.context = context
    self.meters = meters
    self.checker = checker
    self.payloads = payloads
  }

  /// The live records in the unchecked parts of segments, by slot, in order of their offsets.
  func leftoverRecords(in group: [Leftover]) -> [Int: [LiveRecord]] {
    if group.isEmpty { return [:] }
    var records = Dictionary(grouping: catalog.liveRecords(in: group.map(\.slot)), by: \.location.slot)
    for leftover in group {
      let from = catalog.segments.vouchedUpTo(leftover.slot)
      records[leftover.slot] = records[leftover.slot]?
        .filter { ($0.location.offset >= from) && ($0.location.offset < leftover.end) }
        .sorted { $0.location.bits < $1.location.bits }
    }
    return records
  }

  /// Finds records that replayed frames name and whose heads are lost. Must run before the first checkpoint of an
  /// opening: after that, no frame tells how many bytes such a record takes. Once for each opening is enough, since the
  /// checkpoint makes all other heads durable. Reads the heads of records that replayed frames name. If a lost record
  /// carries a payload, also reads the heads of all entries without a payload of their own. Other threads that need the
  /// result wait for the reading thread.
  func findHeadless() throws(StoreError) {
    try headsLock.withLock { turn throws(StoreError) in
      let told = commitLock.withLock { held -> [Leftover]? in
        held.state.leftovers.hasFoundHeadless ? nil : held.state.leftovers.told
      }
      if let told { try findHeadless(among: told, turn) }
    }
  }

  private func findHeadless(among told: [Leftover], _ turn: borrowing HeadsLock.Held) throws(StoreError) {
    let records = leftoverRecords(in: told)
    var found: [LostEntry] = []
    var payloads: [(ContentHash, Location)] = []
    for leftover in told {
      let named = (records[leftover.slot] ?? []).filter { $0.location.offset >= leftover.toldFrom }
      for (index, record) in named.enumerated() where catalog.segments.id(leftover.slot) == leftover.id {
        if index % LostRecords.headsAtOnce == 0 { announce(named[index...].prefix(LostRecords.headsAtOnce)) }
        guard try isHeadless(record) else { continue }
        if let key = record.key { found.append(LostEntry(hash: key, location: record.location, segment: leftover.id)) }
        if let content = record.content { payloads.append((content, record.location)) }
      }
    }
    found += try sharers(of: payloads)
    commitLock.withLock { held in held.state.leftovers.noteHeadless(found) }
  }

  /// Number of heads that the system is asked to fetch at once. They are then read one after the other.
  private static let headsAtOnce = 256

  /// Lets the system fetch the heads of records of one segment.
  private func announce(_ records: ArraySlice<LiveRecord>) {
    guard let first = records.first, let file = try? catalog.file(first.location.slot) else { return }
    for record in records {
      file.willRead(record.location.offset..<record.location.offset + RecordHeader.fixedByteCount)
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
    switch checker.check(location, readsPayload: false) {
    case .intact: return false
    case .damaged: return true
    case .unavailable(let error): throw .system(error)
    }
  }

  /// Drops the entries whose heads are lost, without a frame, because the checkpoint holds the effect.
  func dropHeadless(_ held: borrowing CommitLock.Held) {
    for entry in held.state.leftovers.takeHeadless() where catalog.isThere(entry) {
      let change = Change.remove(entry.hash, held.state.index.displaced(at: entry.location))
      held.state.index.apply(CollectionOfOne(change), sequence: 0, isChecked: false)
      meters.count(lost: checker.isFromBefore(entry.location))
    }
  }

  /// The entries that use these payloads without carrying them. Makes one pass over the index, and reads the heads of
  /// all entries without a payload of their own. Each segment is pinned while a head in it is read.
  func sharers(of lostPayloads: [(ContentHash, Location)]) throws(StoreError) -> [LostEntry] {
    if lostPayloads.isEmpty { return [] }
    let lost = Dictionary(grouping: lostPayloads.map { ($0.0.bits, $0.1) }, by: { $0.0 })
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
        let payload = try system { () throws(SystemError) in try payloads.pinPayload(of: header, checks: true) }
        payload?.1.release()
        guard payload.map({ payload in places.contains { $0.1 == payload.0 } }) ?? true else { continue }
        found.append(
          LostEntry(hash: hash, location: entry.location, segment: catalog.segments.id(entry.location.slot)))
      }
    }
    return found
  }
}
