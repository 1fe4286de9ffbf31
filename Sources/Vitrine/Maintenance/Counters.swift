// `COUNTERS` holds the writer's statistics, for other processes and for later openings. The engine needs them for
// nothing else. Only the creation of a store syncs the file. So the death of the process loses the counts since the
// last write of the file, and power loss may lose all counts. A file that fails its check is ignored.
//
// 512 bytes: magic, the fields below as u64 in order, zeros, and in the last eight bytes a checksum of all the rest.
// New fields are appended. A reader that does not know them ignores them, and old files have zeros there. Behind the
// counters, at byte 512, stands the history of lookups (``LookupHistory``).

/// The counters of a store, summed over all openings for writing.
struct Counters: Sendable, Equatable {
  var hits = 0
  var misses = 0
  var bytesPut = 0
  var bytesWritten = 0
  /// The kind of the writer's last opening: its index in ``OpeningKind/order`` plus one, or 0 if there was no opening.
  var openKind = 0
  var openMicroseconds = 0
  var recovery = Recovery()
  /// Bytes of the segments that Blobs hold at present.
  var pinned = 0
  var eviction = EvictionRecord()
  var compaction = CompactionRecord()
  /// The last curve that an opening has estimated.
  var curve = MissCurveRecord()
  /// Empty if it was lost.
  var history = LookupHistory()

  /// The findings of the last opening for writing.
  struct Recovery: Sendable, Equatable {
    /// Changes from the log.
    var replayed = 0
    /// Entries that were lost.
    var dropped = 0
    /// 1 if removals may have been lost, else 0.
    var lostRemovals = 0
  }

  static let byteCount = 4096
  static let encodedByteCount = 512
  private static let checksumOffset = 504
  private static let magic: UInt64 = 0x544E_435F_5254_4956  // "VITR_CNT"
  /// The largest value read from a file. Real counts stay far below it, and sums of such values do not overflow.
  static let most: UInt64 = 1 << 56

  private static let fields: [WritableKeyPath<Counters, Int> & Sendable] =
    [
      \.hits, \.misses, \.bytesPut, \.bytesWritten, \.openKind, \.openMicroseconds, \.recovery.replayed,
      \.recovery.dropped, \.recovery.lostRemovals, \.pinned, \.eviction.entryCount, \.eviction.byteCount,
    ] + (0..<EvictionRecord.bucketCount).map { \.eviction.ages[$0] } + [
      \.compaction.stepCount, \.compaction.recordCount, \.compaction.byteCount, \.compaction.segmentCount,
      \.curve.requestCount, \.curve.missCount, \.curve.byteBudget, \.curve.valueByteCount,
    ] + (0..<MissCurveRecord.pointCount).map { \.curve.missesPerMillion[$0] }

  init() {}

  /// Decodes the file's bytes. Returns nil if they are not a counters file, or are damaged.
  init?(_ bytes: [UInt8]) {
    let isRead = bytes.withUnsafeBytes { bytes -> Bool in
      guard bytes.count >= Counters.encodedByteCount, let start = bytes.baseAddress, start.u64(0) == Counters.magic,
        start.u64(Counters.checksumOffset)
          == Checksum.of(
            UnsafeRawBufferPointer(start: start, count: Counters.checksumOffset), seed: Counters.magic)
      else { return false }
      for (index, field) in Counters.fields.enumerated() {
        self[keyPath: field] = Int(min(start.u64(8 + index * 8), Counters.most))
      }
      history = LookupHistory(UnsafeRawBufferPointer(rebasing: bytes[Counters.encodedByteCount...])) ?? LookupHistory()
      return true
    }
    if !isRead { return nil }
  }

  func encoded() -> [UInt8] {
    let buffer = ByteBuffer(capacity: Counters.byteCount)
    buffer.append(Counters.magic)
    for field in Counters.fields { buffer.append(UInt64(clamping: self[keyPath: field])) }
    while buffer.count < Counters.checksumOffset { buffer.append(UInt64(0)) }
    buffer.append(Checksum.of(buffer.bytes, seed: Counters.magic))
    history.encode(into: buffer)
    return Array(buffer.bytes)
  }

  /// Reads the file in a store's folder. Returns nil if it is missing or damaged.
  static func read(from root: any Directory) -> Counters? {
    guard let file = try? root.openFile(CacheFormat.countersFile, .readOnly) else { return nil }
    // A writer may be changing the file, so a failed check is repeated.
    for _ in 0..<3 {
      guard let bytes = try? file.read(0..<byteCount) else { return nil }
      if let counters = Counters(bytes) { return counters }
    }
    return nil
  }

  /// Whether all counters are equal. Their histories may differ, and their curves, which change with the lookups.
  func hasSameCounts(as other: Counters) -> Bool {
    var other = other
    other.history = history
    other.curve = curve
    return other == self
  }

  /// The last opening for writing; nil if none is recorded.
  var lastOpen: StoreStatistics.LastOpen? {
    guard OpeningKind.order.indices.contains(openKind - 1) else { return nil }
    return StoreStatistics.LastOpen(
      kind: OpeningKind.order[openKind - 1], milliseconds: Double(openMicroseconds) / 1000,
      replayedCount: recovery.replayed, droppedCount: recovery.dropped, mayHaveLostRemovals: recovery.lostRemovals != 0,
      notes: [])
  }
}

extension OpeningKind {
  /// The kinds as `COUNTERS` numbers them.
  static let order: [OpeningKind] = [.created, .clean, .recovered, .rebuilt]
}
