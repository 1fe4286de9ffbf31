import Synchronization

/// The durations of the requests of one thread, as histograms. Other threads read them.
///
/// Invariant: only one thread adds. The memory lives as long as the object.
final class Latencies: @unchecked Sendable {
  /// The upper bounds of the buckets but the last, in nanoseconds.
  static let bounds: [UInt64] = [
    2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000,
    20_000_000, 50_000_000, 100_000_000, 200_000_000, 500_000_000, 1_000_000_000,
  ]
  /// The buckets of a kind, the last without a bound, and the sum of its durations.
  private static let cellCount = bounds.count + 2
  private let cells: UnsafeMutablePointer<Atomic<UInt64>>

  init() {
    let count = RequestKind.allCases.count * Latencies.cellCount
    cells = .allocate(capacity: count)
    for index in 0..<count { (cells + index).initialize(to: Atomic(0)) }
  }

  deinit {
    cells.deinitialize(count: RequestKind.allCases.count * Latencies.cellCount)
    cells.deallocate()
  }

  /// Counts a request.
  func note(_ kind: RequestKind, _ nanoseconds: UInt64) {
    let start = kind.rawValue * Latencies.cellCount
    let bucket = Latencies.bounds.firstIndex { nanoseconds <= $0 } ?? Latencies.bounds.count
    add(1, start + bucket)
    // The sum comes last, and is read first: a histogram with a sum has its requests.
    add(nanoseconds, start + Latencies.cellCount - 1)
  }

  private func add(_ count: UInt64, _ cell: Int) {
    cells[cell].store(cells[cell].load(ordering: .relaxed) &+ count, ordering: .releasing)
  }

  func histogram(_ kind: RequestKind) -> LatencyHistogram {
    let start = kind.rawValue * Latencies.cellCount
    let nanoseconds = cells[start + Latencies.cellCount - 1].load(ordering: .acquiring)
    let counts = (0...Latencies.bounds.count).map { cells[start + $0].load(ordering: .relaxed) }
    return LatencyHistogram(counts: counts, nanoseconds: nanoseconds)
  }
}

/// The durations of requests: how many fell into each bucket of ``Latencies/bounds``, and their sum.
struct LatencyHistogram {
  private(set) var counts = [UInt64](repeating: 0, count: Latencies.bounds.count + 1)
  private(set) var nanoseconds: UInt64 = 0

  var count: UInt64 { counts.reduce(0, &+) }

  /// The requests in each bucket and those below it.
  var cumulativeCounts: [UInt64] {
    var sum: UInt64 = 0
    return counts.map { count in
      sum &+= count
      return sum
    }
  }

  mutating func add(_ other: LatencyHistogram) {
    for index in counts.indices { counts[index] &+= other.counts[index] }
    nanoseconds &+= other.nanoseconds
  }

  /// The bound of the bucket with this part of the requests, in nanoseconds. Nil without requests, and above the last
  /// bound.
  func bound(ofPart part: Double) -> UInt64? {
    let rank = part * Double(count)
    guard count > 0, let bucket = cumulativeCounts.firstIndex(where: { Double($0) >= rank }) else { return nil }
    return bucket < Latencies.bounds.count ? Latencies.bounds[bucket] : nil
  }
}

/// Measures how long a session works on each request. The time between two pieces of a request does not count.
struct RequestTimer {
  private var begin: UInt64 = 0
  private var spent: UInt64 = 0
  private var stepBegin: UInt64 = 0

  /// The nanoseconds after which a step with further requests lets other connections work.
  private static let longStep: UInt64 = 2_000_000

  /// A step begins.
  mutating func start() {
    begin = Time.monotonicNanoseconds()
    stepBegin = begin
  }

  /// Whether the step was long when the latest request was complete.
  var isLong: Bool { begin &- stepBegin > RequestTimer.longStep }

  /// The session waits for more bytes.
  mutating func pause() { spent &+= Time.monotonicNanoseconds() &- begin }

  /// The request has waited for work elsewhere.
  mutating func add(_ nanoseconds: UInt64) { spent &+= nanoseconds }

  /// A request is complete, and the next one begins. Returns the nanoseconds that it took.
  mutating func lap() -> UInt64 {
    let now = Time.monotonicNanoseconds()
    defer { (begin, spent) = (now, 0) }
    return spent &+ (now &- begin)
  }
}
