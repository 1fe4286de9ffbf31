// What the writer tells others about its work, in `COUNTERS`, and later openings about what was done before them. Of no
// importance otherwise: never synced, so a crash may cost what the last second added, and a loss of power all of it.
// Whatever fails its check counts as nothing told.
//
// 512 bytes: magic, the fields below as u64 in their order, zeros, and a checksum of all that in the last eight. New
// fields go behind the last; a reader that does not know them leaves them alone, and old files have zeros there.

/// Sums are over all openings for writing.
struct Counters: Sendable, Equatable {
  var hits = 0
  var misses = 0
  var bytesPut = 0
  var bytesWritten = 0
  /// Of the writer's last opening: one more than the kind's index in ``OpeningKind/order``, 0 where there was none.
  var openKind = 0
  var openMicroseconds = 0
  var replayed = 0
  var dropped = 0
  /// 1 when removals may have been lost.
  var lostRemovals = 0
  /// Bytes of the segments that Blobs hold now.
  var pinned = 0
  var eviction = EvictionRecord()
  var compaction = CompactionRecord()

  static let byteCount = 4096
  static let encodedByteCount = 512
  private static let checksumOffset = 504
  private static let magic: UInt64 = 0x544E_435F_5254_4956  // "VITR_CNT"
  /// No true number comes near it, and sums of such numbers do not overflow, whatever a file says.
  private static let most: UInt64 = 1 << 56

  private static let fields: [WritableKeyPath<Counters, Int> & Sendable] =
    [
      \.hits, \.misses, \.bytesPut, \.bytesWritten, \.openKind, \.openMicroseconds, \.replayed, \.dropped,
      \.lostRemovals, \.pinned, \.eviction.entryCount, \.eviction.byteCount,
    ] + (0..<EvictionRecord.bucketCount).map { \.eviction.ages[$0] } + [
      \.compaction.stepCount, \.compaction.recordCount, \.compaction.byteCount, \.compaction.segmentCount,
    ]

  init() {}

  /// Nil for what is no such file, or a damaged one.
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
      return true
    }
    if !isRead { return nil }
  }

  func encoded() -> [UInt8] {
    let buffer = ByteBuffer(capacity: Counters.encodedByteCount)
    buffer.append(Counters.magic)
    for field in Counters.fields { buffer.append(UInt64(clamping: self[keyPath: field])) }
    while buffer.count < Counters.checksumOffset { buffer.append(UInt64(0)) }
    buffer.append(Checksum.of(buffer.bytes, seed: Counters.magic))
    return Array(buffer.bytes)
  }

  /// What the file in a store's folder tells; nil when it tells nothing.
  static func read(from root: any Directory) -> Counters? {
    guard let file = try? root.openFile(CacheFormat.countersFile, .readOnly) else { return nil }
    // A writer may be at it: the next look finds it whole.
    for _ in 0..<3 {
      guard let bytes = try? file.read(0..<encodedByteCount) else { return nil }
      if let counters = Counters(bytes) { return counters }
    }
    return nil
  }

  /// How the store was opened for writing; nil when no opening has told.
  var lastOpen: StoreStatistics.LastOpen? {
    guard OpeningKind.order.indices.contains(openKind - 1) else { return nil }
    return StoreStatistics.LastOpen(
      kind: OpeningKind.order[openKind - 1], milliseconds: Double(openMicroseconds) / 1000, replayedCount: replayed,
      droppedCount: dropped, mayHaveLostRemovals: lostRemovals != 0, notes: [])
  }
}

/// What eviction has done.
struct EvictionRecord: Sendable, Equatable {
  static let bucketCount = 16

  var entryCount = 0
  /// Of records that nobody needs any more.
  var byteCount = 0
  /// How long ago the evicted were last used: below a second, below 4 seconds, below 16, and so on.
  var ages = [Int](repeating: 0, count: bucketCount)

  mutating func note(ageMilliseconds: Int64) {
    entryCount += 1
    var bucket = 0
    var bound: Int64 = 1000
    while ageMilliseconds >= bound, bucket < EvictionRecord.bucketCount - 1 {
      bound *= 4
      bucket += 1
    }
    ages[bucket] += 1
  }
}

/// What compaction has done.
struct CompactionRecord: Sendable, Equatable {
  var stepCount = 0
  var recordCount = 0
  var byteCount = 0
  var segmentCount = 0
}

extension OpeningKind {
  /// As `COUNTERS` numbers them.
  static let order: [OpeningKind] = [.created, .clean, .recovered, .rebuilt]
}
