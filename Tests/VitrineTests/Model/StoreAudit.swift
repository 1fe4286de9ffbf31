import Testing

@testable import Vitrine

/// Recounts a store's own statistics.
struct StoreAudit {
  let store: CacheStore

  func compare(_ model: ModelStore, _ comment: Comment) throws {
    let statistics = store.statistics()
    #expect(store.probe.keyCount == model.entries.count, comment)
    #expect(statistics.logicalByteCount == model.entries.values.reduce(0) { $0 + $1.value.count }, comment)
    try compareBlobs(model, statistics, comment)
    try compareSegments(statistics, comment)
    #expect(statistics.bytesOnDisk <= statistics.byteBudget, comment)
  }

  /// One blob for each value and layout; each that has not expired is found by its digest.
  private func compareBlobs(_ model: ModelStore, _ statistics: StoreStatistics, _ comment: Comment) throws {
    struct Blob: Hashable {
      let value: [UInt8]
      let layout: BitmapLayout?
    }
    let blobs = Set(model.entries.values.map { Blob(value: $0.value, layout: $0.layout) })
    #expect(statistics.blobCount >= blobs.count, comment)
    let now = store.probe.wallMilliseconds
    let live = model.entries.filter { model.live($0.key, at: now) != nil }.values
    for blob in Set(live.map { Blob(value: $0.value, layout: $0.layout) }) {
      let digest = blob.value.withUnsafeBytes { Digest(of: $0) }
      let entries = try store.entries(digest: digest)
      #expect(entries.contains { $0.layout == blob.layout && $0.byteCount == blob.value.count }, comment)
    }
  }

  /// Live, dead and free bytes fill the segment files, and the live bytes are those of the records.
  private func compareSegments(_ statistics: StoreStatistics, _ comment: Comment) throws {
    let probe = store.probe
    var live: [Int: (bytes: Int, count: Int)] = [:]
    var records: [Int: Set<Location>] = [:]
    func enter(_ location: Location, _ units: (RecordHeader) -> Int) {
      guard let header = probe.record(at: location)?.header else {
        Issue.record("no record at \(location): \(comment)")
        return
      }
      live[location.slot, default: (0, 0)].bytes += units(header) * Unit.byteCount
      live[location.slot, default: (0, 0)].count += 1
      records[location.slot, default: []].insert(location)
    }
    for entry in probe.entries { enter(entry.location) { $0.headUnits } }
    for location in probe.payloadLocations { enter(location) { $0.payloadUnits } }
    let contents = store.segmentContents()
    #expect(statistics.liveByteCount == live.values.reduce(0) { $0 + $1.bytes }, comment)
    for case let segment? in store.probe.segments where store.probe.account(segment).state != .retired {
      let counted = live[segment.slot] ?? (0, 0)
      let told = try #require(statistics.segments.first { $0.file == segment.fileName })
      #expect(told.liveByteCount == counted.bytes && told.livePartCount == counted.count, comment)
      #expect(contents[segment.fileName]?.recordCount == records[segment.slot]?.count ?? 0, comment)
      let file = try #require(segment.file)
      #expect(
        SegmentHeader.byteCount + told.liveByteCount + told.deadByteCount + told.freeByteCount
          == (try file.status().byteCount), "\(told) \(store.probe.account(segment)); \(comment)")
      #expect(told.byteCount == (try file.status().allocatedByteCount), comment)
    }
  }
}
