@testable import Vitrine

/// The numbers of `s3fifo` and `sieve`, from `Docs/Eviction.md`. A test changes one to see that the store and the model
/// disagree then.
struct SegmentPolicyNumbers {
  /// Whether there is a short queue for new keys.
  let hasProbation: Bool
  /// The share of the live bytes beyond which probation is reclaimed first.
  var probationShare = 0.1
  /// The share of used bytes from which a segment is queued again.
  var queuedShare: (probation: Double, main: Double)
  /// The multiple of the average uses per byte from which a used record is copied.
  var copiedMultiple: Double
  /// The uses that a turn costs a record of main; 3 are all.
  var costOfMain: Int
  /// The share of the bytes put that may be copied.
  var copiedShare = 0.1
  var knowsReturnedKeys = true
  /// The live share below which a segment is sparse, and the same if many bytes are dead.
  var sparseShare = (usual: 0.5, dead: 15.0 / 16)
  /// The share of payloads that other keys use, and of pinned records, beyond which a segment is not emptied.
  var mostKept = 15.0 / 16
  /// The segments that are queued again for one request.
  var mostQueuedAgain = 16

  init(_ policy: EvictionPolicy) {
    hasProbation = policy == .s3fifo
    queuedShare = policy == .s3fifo ? (0.7, 0.5) : (0.5, 0.5)
    copiedMultiple = policy == .s3fifo ? 1.4 : 0
    costOfMain = policy == .s3fifo ? 1 : 3
  }
}

/// The facts that the model takes from the store: sizes and hashes. None of them is a decision.
struct SegmentPolicyFacts {
  let byteBudget: Int
  /// 0 for no limit.
  let entryBudget: Int
  /// Bytes of an ordinary segment.
  let segmentByteCount: Int
  /// The hash of a key, as the index keeps it. The ghost files keys by it.
  let hash: (CacheKey) -> UInt64
  /// The slot of a segment. Of two segments with equally many dead bytes, the one with the lower slot is emptied first.
  let slot: (UInt64) -> Int
}

/// The bytes of a new record in its segment.
struct RecordSize {
  let head: Int
  let payload: Int
  /// The bytes of the segment that the record has for itself; nil if it lies among others.
  var extent: Int?
}

/// A segment of the model. Bytes are counted in whole units.
struct PolicySegment {
  struct Record {
    let number: Int
    let key: CacheKey
    let offset: Int
    let head: Int
    let payload: Int
    var end: Int { offset + head + payload }
  }

  enum State { case spare, open, sealed }

  let id: UInt64
  /// The bytes of its file.
  var byteCount: Int
  var stream = StreamKind.spare
  var state = State.spare
  /// For a segment of a single record: whether it was queued again.
  var isMainSingle = false
  var records: [Record] = []

  init(id: UInt64, byteCount: Int) {
    self.id = id
    self.byteCount = byteCount
  }

  static let firstOffset = SegmentHeader.byteCount
  var end: Int { records.last?.end ?? PolicySegment.firstOffset }
  /// Bytes of records, live and dead.
  var written: Int { end - PolicySegment.firstOffset }

  /// The stream of the copies of its records.
  var copies: StreamKind {
    stream == .bitmaps || stream == .returnedBitmaps || stream == .mainBitmaps ? .mainBitmaps : .mainOriginals
  }
}

/// The tags of the keys that probation has dropped, in buckets of eight, the newest first.
struct GhostModel {
  private var buckets: [[UInt16]] = []

  /// A tag for each entry. The table keeps its size while it is at most a quarter too small or a third too large.
  mutating func fit(entryCount: Int) {
    let wanted = max(1, entryCount / 8)
    let count = buckets.count
    if count > 0, wanted <= count + count / 4, wanted >= count - count / 3 { return }
    buckets = (0..<wanted).map { bucket in
      if count == 0 { return [] }
      // The former buckets of the same range of hashes; of each the newest tag, then of each the second, and so on.
      let first = bucket * count / wanted
      let last = max(first, ((bucket + 1) * count - 1) / wanted)
      let sources = buckets[first...last]
      let merged = (0..<8).flatMap { age in sources.compactMap { age < $0.count ? $0[age] : nil } }
      return Array(merged.prefix(8))
    }
  }

  mutating func note(_ hash: UInt64) {
    if buckets.isEmpty { return }
    let (bucket, tag) = place(hash)
    buckets[bucket] = Array(([tag] + buckets[bucket]).prefix(8))
  }

  /// Whether the key was dropped recently. Forgets it.
  mutating func take(_ hash: UInt64) -> Bool {
    if buckets.isEmpty { return false }
    let (bucket, tag) = place(hash)
    guard let index = buckets[bucket].firstIndex(of: tag) else { return false }
    buckets[bucket].remove(at: index)
    return true
  }

  func has(_ hash: UInt64) -> Bool {
    var copy = self
    return copy.take(hash)
  }

  private func place(_ hash: UInt64) -> (Int, UInt16) {
    var mixed = hash
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    mixed ^= mixed >> 31
    let bucket = (mixed >> 32) * UInt64(buckets.count) / (1 << 32)
    return (Int(bucket), UInt16(mixed % 65_536) | 1)
  }
}

/// The bytes that may be copied, and the average of the uses per byte.
struct CopyModel {
  var bytesPut = 0
  /// The bytes put of which a share was granted.
  private var grantedFor = 0
  private var left = 0.0
  private(set) var usesPerByte = 0.0

  mutating func grant(_ share: Double, atMost most: Int) {
    left = min(Double(most), left + share * Double(bytesPut - grantedFor))
    grantedFor = bytesPut
  }

  mutating func take(_ byteCount: Int) -> Bool {
    if Double(byteCount) > left { return false }
    left -= Double(byteCount)
    return true
  }

  /// A victim of segment size has a twentieth of the weight, a larger one more, at most a half.
  mutating func note(uses: Int, byteCount: Int, segmentByteCount: Int) {
    if byteCount == 0 { return }
    let weight = min(0.5, 0.05 * Double(byteCount) / Double(segmentByteCount))
    usesPerByte += weight * (Double(uses) / Double(byteCount) - usesPerByte)
  }
}
