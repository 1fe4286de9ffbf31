/// Builds the index from the segments alone: when all checkpoints are damaged, and for `repair`. For each key the
/// record with the highest number counts. Removed keys may return, except those whose removal is still in the log.
package struct Rebuild {
  package let folders: StoreFolders
  package let identity: StoreIdentity
  package let scan: WALScan
  package let access: FileAccess
  package var progress: ((Int, Int) -> Void)?

  package init(folders: StoreFolders, identity: StoreIdentity, scan: WALScan, access: FileAccess) {
    self.folders = folders
    self.identity = identity
    self.scan = scan
    self.access = access
  }

  private struct KeyRecord {
    var header: RecordHeader
    var location: Location
  }

  private struct Blob: Hashable {
    let digest: Digest
    let origin: UInt64
  }

  /// Places that a rebuild could not read as records. A crash leaves damaged heads too; only undeliverable pages
  /// are certain damage.
  private struct LeftOut {
    private var places: [SegmentScanner.Damage: (count: Int, first: String)] = [:]

    mutating func note(_ file: String, _ offset: Int, _ damage: SegmentScanner.Damage) {
      places[damage, default: (0, "\(file) at \(offset)")].count += 1
    }

    var notes: [String] {
      SegmentScanner.Damage.allCases.compactMap { damage in
        places[damage].map { "left out of the rebuilding: \(damage.rawValue), \($0.count) times, first in \($0.first)" }
      }
    }
  }

  private struct Key: Hashable {
    let url: [UInt8]
    let style: [UInt8]
  }

  package func run(checkpoints: CheckpointSet) throws(StoreError) -> LoadedStore {
    guard var writer = CatalogWriter(identity: identity) else {
      throw .system(SystemError(code: SystemError.noMemory, operation: "allocate", path: "index"))
    }
    let catalog = writer.catalog
    var newest: [Key: KeyRecord] = [:]
    var payloads: [Blob: (location: Location, units: Int)] = [:]
    var newestSequence: UInt64 = 0
    var leftOut = LeftOut()
    let entries = try system { () throws(SystemError) in try folders.segments.entries() }
    let ids = entries.compactMap { $0.kind == .file ? SegmentHeader.segment(ofFile: $0.name) : nil }.sorted()
    for (index, id) in ids.enumerated() {
      progress?(index, ids.count)
      let opened = try system { () throws(SystemError) in try open(id) }
      guard let (file, length) = opened, length > SegmentHeader.byteCount, let slot = writer.segments.takeSlot()
      else { continue }
      writer.noteSegment(id)
      let bytes = (try? file.read(0..<SegmentHeader.byteCount)) ?? []
      let head = bytes.withUnsafeBytes { SegmentHeader($0) }
      if let head, head.store != identity.store {
        writer.segments.freeSlot(slot)
        continue
      }
      let byteCount = SegmentHeader.bound(length, store: identity.store, segment: id, head: head)
      let segment = Segment(
        id: id, slot: slot, byteCount: byteCount, stream: head?.stream ?? .originals, state: .sealed,
        tail: SegmentHeader.byteCount)
      var found = false
      let scanner = SegmentScanner(file: file, store: identity.store, segment: id)
      let end = scanner.records(
        byteCount: byteCount,
        { record in
          found = true
          let location = Location(slot: slot, offset: record.offset)
          newestSequence = max(newestSequence, record.header.sequence)
          if record.header.carriesPayload {
            let blob = Blob(digest: record.header.digest, origin: record.header.origin)
            // The record may be a copy that compaction has not written completely.
            if payloads[blob] != nil, !isIntact(record, file, segment: id, byteCount) { return }
            payloads[blob] = (location, record.header.payloadUnits)
          }
          let key = Key(url: record.url, style: record.style)
          if let other = newest[key], other.header.sequence > record.header.sequence { return }
          newest[key] = KeyRecord(header: record.header, location: location)
        }, damage: { leftOut.note(SegmentHeader.fileName(id), $0, $1) })
      guard found else {
        writer.segments.freeSlot(slot)
        continue
      }
      writer.segments[segment].fill.set(tail: end)
      writer.segments.insert(segment, vouchedUpTo: 0, firstSequence: 0)
    }
    progress?(ids.count, ids.count)
    let gone = LoggedRemovals(scan)
    // The last uses are lost: entries are ordered by their puts instead.
    let inOrder = newest.sorted { $0.value.header.sequence < $1.value.header.sequence }
    catalog.keys.clock.set(UInt64(inOrder.count))
    var originals: [[UInt8]: Digest] = [:]
    // Originals first: an entry whose automatic source is not the stored original must not return.
    for isOriginal in [true, false] {
      for (rank, (key, record)) in inOrder.enumerated() where (key.style == Style.original.bytes) == isOriginal {
        let hash = key.url.withUnsafeBytes { catalog.hasher.key($0, styleTag: Style.tag(of: key.style)) }
        let segment = catalog.segments.id(record.location.slot)
        let isGone = gone.contains(
          hash, segment: segment, offset: record.location.offset,
          opening: Sequence.opening(record.header.sequence), content: catalog.hasher.content(record.header.digest))
        if isGone { continue }
        if let source = record.header.source, !record.header.flags.contains(.namedSource),
          let original = originals[key.url], source != Source(original)
        {
          continue
        }
        if enter(hash, record, payloads, &writer, stamp: UInt32(truncatingIfNeeded: rank + 1)), isOriginal {
          originals[key.url] = record.header.digest
        }
      }
    }
    var loaded = LoadedStore(
      identity: identity, index: LoadedIndex(writer), report: RecoveryReport(kind: .rebuilt),
      log: LoadedLog(
        end: WALPosition(use: scan.newestUse, offset: WALFileHeader.frameStart, sequence: 0), scan: scan, chain: [],
        durableSequence: 0),
      newestOpening: Sequence.opening(newestSequence), checkpoint: checkpoints, inline: [:])
    loaded.report.mayHaveLostRemovals = true
    loaded.report.notes.append("rebuilt from the segments: keys that were removed may have come back")
    loaded.report.notes += leftOut.notes
    return loaded
  }

  /// Returns nil if the segment was removed since the folder was listed, by a writer that replaced both checkpoints
  /// while they were read. The result is then preliminary (``Loader/loadSnapshot(identity:clock:)``).
  private func open(_ id: UInt64) throws(SystemError) -> (file: any File, byteCount: Int)? {
    do throws(SystemError) {
      let file = try folders.segments.openFile(SegmentHeader.fileName(id), access)
      return (file, try file.status().byteCount)
    } catch {
      guard error.code == SystemError.missing else { throw error }
      return nil
    }
  }

  private func isIntact(_ record: SegmentScanner.Found, _ file: any File, segment: UInt64, _ byteCount: Int) -> Bool {
    let check = RecordCheck(
      file: file, seed: RecordHeader.seed(store: identity.store, segment: segment, offset: record.offset),
      offset: record.offset, available: byteCount - record.offset, firstSequence: 0, digest: nil)
    if case .intact = check.run(readsPayload: true) { return true }
    return false
  }

  private func enter(
    _ hash: KeyHash, _ record: KeyRecord, _ payloads: [Blob: (location: Location, units: Int)],
    _ writer: inout CatalogWriter, stamp: UInt32
  ) -> Bool {
    let header = record.header
    guard
      let payload = header.carriesPayload
        ? (record.location, header.payloadUnits) : payloads[Blob(digest: header.digest, origin: header.origin)]
    else { return false }
    writer.enter(
      hash, location: record.location, headUnits: header.headUnits, logicalByteCount: header.logicalByteCount,
      content: writer.catalog.hasher.content(header.digest), payload: payload, expires: header.expiration != 0,
      isPinned: header.flags.contains(.pinned),
      stamp: stamp)
    return true
  }
}
