/// The work of eviction.
struct EvictionRecord: Sendable, Equatable {
  static let bucketCount = 16

  var entryCount = 0
  /// Bytes of evicted records that no entry needs any more.
  var byteCount = 0
  /// Number of evicted entries by the time since their last use: less than 1 s, less than 4 s, less than 16 s, and so
  /// on.
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

/// The work of compaction.
struct CompactionRecord: Sendable, Equatable {
  var stepCount = 0
  var recordCount = 0
  var byteCount = 0
  var segmentCount = 0
}

/// The work of eviction and compaction, in all openings.
struct SpaceRecord {
  private(set) var eviction: EvictionRecord
  private(set) var compaction: CompactionRecord

  init(_ counters: Counters) {
    eviction = counters.eviction
    compaction = counters.compaction
  }

  /// Notes evicted entries: the bytes that died with them, and the time since the last use of each, in milliseconds.
  mutating func noteEviction(byteCount: Int, ages: [Int64]) {
    eviction.byteCount += byteCount
    for age in ages { eviction.note(ageMilliseconds: age) }
  }

  /// Notes a round of copying.
  mutating func note(_ step: CompactionStep) {
    compaction.stepCount += 1
    compaction.recordCount += step.recordCount
    compaction.byteCount += step.byteCount
    compaction.segmentCount += step.segmentCount
  }

  /// Notes a segment that the copying of its last live records freed.
  mutating func noteFreedSegment() { compaction.segmentCount += 1 }
}
