import CacheCtlKit
import Vitrine

/// The built-in benchmark: fill, read, open, write.
struct Benchmark {
  static let rounds = 5
  static let entryCount = 100_000
  static let smallValue = 1 << 10
  static let largeValue = 40 << 10

  private let folder: String
  private let progress: (String) -> Void

  init(folder: String, progress: @escaping (String) -> Void) {
    self.folder = folder
    self.progress = progress
  }

  func run() throws -> [BenchResult] {
    let urls = URLTable("warm", count: Benchmark.entryCount)
    var store = try open()
    var results: [BenchResult] = []
    do {
      progress("filling")
      try fill(store, urls)
      progress("reading")
      results += try ReadBenchmark(store: store, urls: urls).run()
      progress("opening")
      results.append(try measureOpening(&store))
      progress("writing")
      results += try WriteBenchmark(store: store, folder: folder, progress: progress).run()
    } catch {
      try? store.close()
      throw error
    }
    try store.close()
    return results
  }

  private func open() throws -> CacheStore {
    try CacheStore.open(
      at: folder + "/store", options: StoreOptions(byteBudget: 2 << 30, durability: .buffered))
  }

  private func fill(_ store: CacheStore, _ urls: URLTable) throws {
    let bytes = RandomPool(byteCount: urls.count * Benchmark.smallValue).bytes
    let values = bytes.span.bytes
    for index in 0..<urls.count {
      let start = index * Benchmark.smallValue
      try store.put(values.extracting(start..<(start + Benchmark.smallValue)), for: urls.key(index))
    }
    try store.flush()
  }

  private func measureOpening(_ store: inout CacheStore) throws -> BenchResult {
    var times: [Double] = []
    for _ in 0..<Benchmark.rounds {
      try store.close()
      let start = Time.monotonicNanoseconds()
      store = try open()
      times.append(Double(Time.monotonicNanoseconds() - start))
    }
    return BenchResult(name: "open", title: "open, 100,000 entries", nanoseconds: median(times), raw: nil)
  }
}
