/// The counts of lookups at moments of the last hour, from which the hit ratios of that time are computed.
///
/// The last sample is the present state. Samples of the last two minutes lie about 5 s apart, older ones at most a
/// minute. An idle store takes none: a lookup wakes its upkeep within a second.
///
/// ```
///   0 u64 magic   8 u64 samples, for each: i64 time in milliseconds since 1970, u64 hits, u64 misses
///   zeros   2040 u64 checksum
/// ```
struct LookupHistory: Sendable, Equatable {
  struct Sample: Sendable, Equatable {
    let time: Int64
    let hits: Int
    let misses: Int
  }

  private(set) var samples: [Sample] = []

  static let byteCount = 2048
  private static let magic: UInt64 = 0x5453_485F_5254_4956  // "VITR_HST"
  private static let mostSamples = 84
  private static let (minute, hour): (Int64, Int64) = (60_000, 3_600_000)
  /// The least time between a sample and the next but one, in milliseconds.
  private static let shortest: Int64 = 6000

  init() {}

  mutating func note(_ sample: Sample) {
    // The clock was set back.
    samples.removeAll { $0.time > sample.time }
    // The last sample before an idle time stays.
    if samples.count > 1, sample.time - samples[samples.count - 2].time < LookupHistory.shortest {
      samples.removeLast()
    }
    samples.append(sample)
    thin(at: sample.time)
  }

  /// Removes samples that lie closer than needed, and those of more than an hour ago, except for the last of these.
  private mutating func thin(at now: Int64) {
    if let first = samples.lastIndex(where: { now - $0.time >= LookupHistory.hour }) { samples.removeFirst(first) }
    var index = 1
    while index + 1 < samples.count, now - samples[index].time > 2 * LookupHistory.minute {
      if samples[index + 1].time - samples[index - 1].time <= LookupHistory.minute {
        samples.remove(at: index)
      } else {
        index += 1
      }
    }
    while samples.count > LookupHistory.mostSamples { samples.remove(at: closest) }
  }

  /// The sample, except for the ends, whose neighbors lie nearest to each other.
  private var closest: Int {
    (1..<samples.count - 1).min {
      samples[$0 + 1].time - samples[$0 - 1].time < samples[$1 + 1].time - samples[$1 - 1].time
    }
      ?? 0
  }

  /// Returns the lookups since a moment, up to the last sample; nil without a sample.
  func lookups(since moment: Int64) -> StoreStatistics.Lookups? {
    guard let last = samples.last, let base = samples.last(where: { $0.time <= moment }) ?? samples.first else {
      return nil
    }
    return StoreStatistics.Lookups(
      hitCount: max(0, last.hits &- base.hits), missCount: max(0, last.misses &- base.misses))
  }

  /// The lookups of the minute and of the hour before `now`, in milliseconds since 1970.
  func lastMinute(at now: Int64) -> StoreStatistics.Lookups? {
    lookups(since: saturatingSum(now, -LookupHistory.minute))
  }
  func lastHour(at now: Int64) -> StoreStatistics.Lookups? {
    lookups(since: saturatingSum(now, -LookupHistory.hour))
  }

  // MARK: Format

  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= LookupHistory.byteCount, let start = bytes.baseAddress,
      start.u64(0) == LookupHistory.magic, start.u64(8) <= LookupHistory.mostSamples,
      start.u64(LookupHistory.byteCount - 8) == LookupHistory.checksum(start)
    else { return nil }
    for index in 0..<Int(start.u64(8)) {
      let place = 16 + index * 24
      let sample = Sample(
        time: start.i64(place), hits: Int(min(start.u64(place + 8), Counters.most)),
        misses: Int(min(start.u64(place + 16), Counters.most)))
      guard sample.time >= 0, samples.last?.time ?? 0 <= sample.time else { return nil }
      samples.append(sample)
    }
  }

  func encode(into buffer: ByteBuffer) {
    let start = buffer.count
    buffer.append(LookupHistory.magic)
    buffer.append(UInt64(samples.count))
    for sample in samples {
      buffer.append(UInt64(bitPattern: sample.time))
      buffer.append(UInt64(clamping: sample.hits))
      buffer.append(UInt64(clamping: sample.misses))
    }
    while buffer.count < start + LookupHistory.byteCount - 8 { buffer.append(UInt64(0)) }
    buffer.append(LookupHistory.checksum(buffer.bytes.baseAddress! + start))
  }

  private static func checksum(_ start: UnsafeRawPointer) -> UInt64 {
    Checksum.of(UnsafeRawBufferPointer(start: start, count: byteCount - 8), seed: magic)
  }
}
