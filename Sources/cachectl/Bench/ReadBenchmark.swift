import CacheCtlKit
import Vitrine

/// Gets of warm values in random order, by one thread.
struct ReadBenchmark {
  private static let batchCount = 64

  let store: CacheStore
  let urls: URLTable

  func run() throws -> [BenchResult] {
    let absent = URLTable("none", count: urls.count)
    // The first read of a value checks it, and the first touch of a page maps it, so an untimed pass comes first. Its
    // order is random, so it reads about 63 % of the values.
    guard get(urls) == urls.count else { throw Failure("a value that was just put is missing") }

    var hits: [Double] = []
    var singles: [Double] = []
    var batches: [Double] = []
    var misses: [Double] = []
    for _ in 0..<Benchmark.rounds {
      hits.append(try time(urls.count, expecting: urls.count) { get(urls) })
      let keys = randomBatches()
      singles.append(
        try time(keys.count * ReadBenchmark.batchCount, expecting: keys.count * ReadBenchmark.batchCount) {
          getEach(keys)
        })
      batches.append(
        try time(keys.count * ReadBenchmark.batchCount, expecting: keys.count * ReadBenchmark.batchCount) {
          getMany(keys)
        })
      misses.append(try time(urls.count, expecting: 0) { get(absent) })
    }
    return [
      BenchResult(name: "get_1k", title: "get 1 KiB, borrowed", nanoseconds: median(hits), raw: nil),
      BenchResult(
        name: "get_key_1k", title: "get 1 KiB, scattered keys", nanoseconds: median(singles), raw: nil),
      BenchResult(
        name: "get_many_1k", title: "the same in batches of 64", nanoseconds: median(batches), raw: nil),
      BenchResult(name: "miss", title: "miss", nanoseconds: median(misses), raw: nil),
    ]
  }

  /// Nanoseconds for one of `count` operations.
  private func time(_ count: Int, expecting found: Int, _ body: () -> Int) throws -> Double {
    let start = Time.monotonicNanoseconds()
    let result = body()
    let nanoseconds = Double(Time.monotonicNanoseconds() - start)
    guard result == found else { throw Failure("a get gave \(result) values instead of \(found)") }
    return nanoseconds / Double(count)
  }

  /// Gets as many times as there are URLs, in an order without pattern; returns the number of hits.
  private func get(_ table: URLTable) -> Int {
    let all = table.bytes.span.bytes
    var random = UInt32.random(in: 0 ... .max)
    var found = 0
    var sum: UInt64 = 0
    for _ in 0..<table.count {
      random = random &* 1_664_525 &+ 1_013_904_223
      let index = Int(UInt64(random) &* UInt64(table.count) >> 32)
      let start = index * URLTable.byteCount
      let value = store.get(all.extracting(start..<(start + URLTable.byteCount))) { bytes in
        // Both ends of the value, so that it has been read.
        bytes.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt64.self)
          ^ bytes.unsafeLoadUnaligned(fromByteOffset: bytes.byteCount - 8, as: UInt64.self)
      }
      if let value {
        found += 1
        sum ^= value
      }
    }
    keep(sum)
    return found
  }

  private func randomBatches() -> [[CacheKey]] {
    (0..<(urls.count / ReadBenchmark.batchCount)).map { _ in
      (0..<ReadBenchmark.batchCount).map { _ in urls.key(Int.random(in: 0..<urls.count)) }
    }
  }

  /// Gets the keys of the batches one by one. Each is a separate object in memory, like keys in a program.
  private func getEach(_ batches: [[CacheKey]]) -> Int {
    var found = 0
    var sum: UInt64 = 0
    for keys in batches {
      for key in keys {
        let value = store.get(key) { bytes in
          bytes.unsafeLoadUnaligned(fromByteOffset: bytes.byteCount - 8, as: UInt64.self)
        }
        if let value {
          found += 1
          sum ^= value
        }
      }
    }
    keep(sum)
    return found
  }

  private func getMany(_ batches: [[CacheKey]]) -> Int {
    var found = 0
    var sum: UInt64 = 0
    for keys in batches {
      store.getMany(keys) { _, bytes in
        guard let bytes else { return }
        found += 1
        sum ^= bytes.unsafeLoadUnaligned(fromByteOffset: bytes.byteCount - 8, as: UInt64.self)
      }
    }
    keep(sum)
    return found
  }
}

/// Makes the compiler believe that a value is needed.
@inline(never)
private func keep(_ value: UInt64) {}
