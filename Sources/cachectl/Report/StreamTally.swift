import Vitrine

/// The content of the segments of one stream.
struct StreamTally {
  private(set) var segmentCount = 0
  private(set) var entryCount = 0
  private(set) var recordCount = 0
  /// Bytes of disk space.
  private(set) var byteCount = 0
  private(set) var liveByteCount = 0
  private(set) var deadByteCount = 0

  /// By the streams' names, in their order.
  static func byName(
    _ segments: [StoreStatistics.Segment], _ contents: [String: SegmentContents]
  ) -> [(name: String, tally: StreamTally)] {
    var tallies: [String: StreamTally] = [:]
    for segment in segments {
      tallies[segment.stream, default: StreamTally()].add(segment, contents[segment.file] ?? SegmentContents())
    }
    return tallies.map { (name: $0.key, tally: $0.value) }.sorted { $0.name < $1.name }
  }

  /// Returns the queue of the policy to which the segments of a stream belong.
  static func queue(of stream: String, _ policy: EvictionPolicy) -> String {
    switch (policy, stream) {
    case (_, "spare"): "none"
    case (.s3fifo, "single"): "both"
    case (.s3fifo, "originals"), (.s3fifo, "bitmaps"): "probation"
    case (.s3fifo, _): "main"
    case (.sieve, _): "sweep"
    case (.lru, _), (.fifo, _): "order"
    }
  }

  init() {}

  init(sumOf tallies: [StreamTally]) {
    for tally in tallies {
      segmentCount += tally.segmentCount
      entryCount += tally.entryCount
      recordCount += tally.recordCount
      byteCount += tally.byteCount
      liveByteCount += tally.liveByteCount
      deadByteCount += tally.deadByteCount
    }
  }

  private mutating func add(_ segment: StoreStatistics.Segment, _ contents: SegmentContents) {
    segmentCount += 1
    entryCount += contents.entryCount
    recordCount += contents.recordCount
    byteCount += segment.byteCount
    liveByteCount += segment.liveByteCount
    deadByteCount += segment.deadByteCount
  }
}
