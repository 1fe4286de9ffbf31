/// Finds the live records of a segment, with their heads, and corrects the segment's account of bound heads.
///
/// Goes from head to head, so the cost is that of one look at the index for each record. If a head is damaged, or if
/// much of the segment has no record, one pass over the index finds the records.
struct LiveRecordFinder {
  let context: StoreContext

  /// A live record.
  struct Found {
    let record: LiveRecord
    /// The key in the head, also if its entry has its head in another record. Nil if the head is damaged.
    let key: KeyHash?
    /// The entry whose head this record has.
    let slot: KeySlot?
    /// Nil if the head is damaged.
    let header: RecordHeader?

    /// Units of a dead head before a live payload. A copy of the payload takes the head along.
    var boundUnits: Int { record.key == nil ? header?.headUnits ?? 0 : 0 }
  }

  /// Places of 64 bytes without a record that are looked at. Beyond that, a pass over the index costs less.
  private static let mostGaps = 4096

  private var catalog: Catalog { context.catalog }

  /// The live records of a segment in the order of their offsets.
  func records(of segment: Segment) -> [Found] {
    let bindingCount = context.commitLock.withLock { held in held.state[segment].live.bindingCount }
    let found = walk(segment) ?? look(segment)
    if found.allSatisfy({ $0.header != nil }) {
      let boundUnits = found.reduce(0) { $0 + $1.boundUnits }
      context.commitLock.withLock { held in held.state[segment].live.set(boundUnits: boundUnits, asOf: bindingCount) }
    }
    return found
  }

  /// Passes over the index.
  private func look(_ segment: Segment) -> [Found] {
    catalog.liveRecords(in: [segment.slot]).sorted { $0.location.bits < $1.location.bits }.map { record in
      Found(
        record: record, key: record.key, slot: record.key.flatMap { slot($0, record.location) },
        header: catalog.record(at: record.location, checks: true)?.header)
    }
  }

  /// Goes from record to record. A place without a record may be room of a body that was abandoned. Returns nil if this
  /// does not find all live records.
  private func walk(_ segment: Segment) -> [Found]? {
    let end = context.commitLock.withLock { held in held.state[segment].fill.tail }
    var all: [Found] = []
    var partCount = 0
    var gaps = 0
    var offset = SegmentHeader.byteCount
    while offset < end, gaps < LiveRecordFinder.mostGaps {
      let location = Location(slot: segment.slot, offset: offset)
      guard let view = catalog.record(at: location, checks: true) else {
        offset += Unit.byteCount
        gaps += 1
        continue
      }
      let header = view.header
      let key = catalog.hash(of: view)
      let slot = slot(key, location)
      var record = LiveRecord(location: location, key: slot == nil ? nil : key, content: nil)
      let content = catalog.hasher.content(header.digest)
      if header.carriesPayload, catalog.contents.has(content, location) { record.content = content }
      partCount += (record.key == nil ? 0 : 1) + (record.content == nil ? 0 : 1)
      if record.key != nil || record.content != nil {
        all.append(Found(record: record, key: key, slot: slot, header: header))
      }
      offset += header.byteCount
    }
    // Records may have died meanwhile, so the account is read last.
    return partCount >= context.commitLock.withLock { held in held.state[segment].live.count } ? all : nil
  }

  private func slot(_ key: KeyHash, _ location: Location) -> KeySlot? { catalog.keys.withEntry(key, location) { $0 } }
}
