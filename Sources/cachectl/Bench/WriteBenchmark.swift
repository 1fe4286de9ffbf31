import CacheCtlKit
import Synchronization
import Vitrine

/// Puts of each kind, and the same writes on the bare disk. A round does both with the same bytes, in an order that
/// changes from round to round.
struct WriteBenchmark {
  private struct Kind {
    let name: String
    let title: String
    let valueByteCount: Int
    /// In one round, of all threads together.
    let count: Int
    let threads: Int
    let isSynced: Bool

    var rawName: String { isSynced ? "pwrite + fdatasync" : "pwrite" }
  }

  private static let kinds = [
    Kind(
      name: "put_1k", title: "put 1 KiB", valueByteCount: Benchmark.smallValue, count: 20_000, threads: 1,
      isSynced: false),
    Kind(
      name: "put_40k", title: "put 40 KiB", valueByteCount: Benchmark.largeValue, count: 500, threads: 1,
      isSynced: false),
    Kind(
      name: "put_40k_synced", title: "put 40 KiB, synced", valueByteCount: Benchmark.largeValue, count: 200,
      threads: 1, isSynced: true),
    Kind(
      name: "put_40k_synced_16_threads", title: "the same, 16 threads", valueByteCount: Benchmark.largeValue,
      count: 480, threads: 16, isSynced: true),
  ]

  let store: CacheStore
  let folder: String
  let progress: (String) -> Void

  func run() throws -> [BenchResult] {
    try WriteBenchmark.kinds.map { kind in
      let pool = RandomPool(byteCount: kind.count * kind.valueByteCount)
      var engine: [Double] = []
      var raw: [Double] = []
      for round in 0..<Benchmark.rounds {
        progress("writing: \(kind.title), round \(round + 1)")
        pool.refill()
        if round % 2 == 0 { raw.append(try writeRaw(kind, pool.bytes, round)) }
        engine.append(try put(kind, pool.bytes, round))
        if round % 2 == 1 { raw.append(try writeRaw(kind, pool.bytes, round)) }
      }
      return BenchResult(
        name: kind.name, title: kind.title, nanoseconds: median(engine),
        raw: .init(name: kind.rawName, nanoseconds: median(raw)))
    }
  }

  private func put(_ kind: Kind, _ values: [UInt8], _ round: Int) throws -> Double {
    let urls = URLTable("\(kind.name)/\(round)", count: kind.count)
    let keys = (0..<kind.count).map { urls.key($0) }
    let options = PutOptions(durability: kind.isSynced ? .synced : .buffered)
    let store = store
    let time = try measure(kind, values) { index, value in
      try store.put(value, for: keys[index], options: options)
    }
    // Pages that are still dirty must not slow the next round.
    try store.flush()
    return time
  }

  private func writeRaw(_ kind: Kind, _ values: [UInt8], _ round: Int) throws -> Double {
    let file = try RawFile("\(folder)/raw-\(kind.name)-\(round)")
    let time = try measure(kind, values) { _, value in try file.append(value, sync: kind.isSynced) }
    try file.sync()
    return time
  }

  /// Nanoseconds for one write, all threads together.
  private func measure(
    _ kind: Kind, _ values: [UInt8], _ write: @escaping @Sendable (Int, RawSpan) throws -> Void
  ) throws -> Double {
    let shared = SharedFailure()
    let share = kind.count / kind.threads
    let work: @Sendable (Int) -> Void = { thread in
      let all = values.span.bytes
      do {
        for index in (thread * share)..<((thread + 1) * share) {
          let start = index * kind.valueByteCount
          try write(index, all.extracting(start..<(start + kind.valueByteCount)))
        }
      } catch {
        shared.note(error)
      }
    }
    let nanoseconds: Double
    if kind.threads == 1 {
      let start = Time.monotonicNanoseconds()
      work(0)
      nanoseconds = Double(Time.monotonicNanoseconds() - start)
    } else {
      nanoseconds = try Threads.measure(kind.threads, work)
    }
    try shared.rethrow()
    return nanoseconds / Double(share * kind.threads)
  }
}

/// The first error of several threads.
private final class SharedFailure: Sendable {
  private let first = Mutex<(any Error)?>(nil)

  func note(_ error: any Error) { first.withLock { if $0 == nil { $0 = error } } }

  func rethrow() throws { if let error = first.withLock({ $0 }) { throw error } }
}
