import CacheCtlKit
import Glibc
import Vitrine

/// The cost of many entries: memory for each, and the time to open with and without a log to replay.
struct ScaleBenchmark {
  private static let rounds = 5
  private static let tailCount = 50_000

  let folder: String
  let entryCount: Int
  let progress: (String) -> Void

  func run() throws -> ScaleReport {
    let path = folder + "/many"
    progress("filling")
    var bytesPerEntry = 0.0
    do {
      let urls = urls("many", entryCount)
      let store = try open(path)
      let before = anonymousByteCount()
      try fill(store, urls, entryCount)
      bytesPerEntry = Double(anonymousByteCount() - before) / Double(entryCount)
      try store.close()
      withExtendedLifetime(urls) {}
    }
    progress("opening")
    let clean = try medianOpening { path }
    let read = readCheckpoints(path)
    progress("replaying")
    let (idle, replayed) = try measureReplay()
    return ScaleReport(
      entryCount: entryCount, bytesPerEntry: bytesPerEntry, cleanOpening: clean, checkpointReading: read,
      tailCount: ScaleBenchmark.tailCount,
      nanosecondsPerChange: (replayed - idle) / Double(ScaleBenchmark.tailCount))
  }

  private func open(_ path: String) throws -> CacheStore {
    try CacheStore.open(at: path, options: StoreOptions(byteBudget: 8 << 30, durability: .buffered))
  }

  /// Stores values of eight bytes, all different: the smallest entries, so that the index dominates.
  private func fill(_ store: CacheStore, _ urls: URLTable, _ count: Int) throws {
    for index in 0..<count {
      var key = urls.key(index % urls.count)
      key.url += Array(String(index / urls.count).utf8)
      try store.put(withUnsafeBytes(of: index) { Array($0) }, for: key)
    }
  }

  private func urls(_ name: String, _ count: Int) -> URLTable { URLTable(name, count: min(count, 100_000)) }

  private func medianOpening(_ path: () throws -> String) throws -> Double {
    var times: [Double] = []
    for _ in 0..<ScaleBenchmark.rounds {
      let path = try path()
      let start = Time.monotonicNanoseconds()
      let store = try open(path)
      times.append(Double(Time.monotonicNanoseconds() - start))
      try store.close()
    }
    return median(times)
  }

  /// Opens copies of a store made while it is open, as the death of its process would leave it: with a long tail in
  /// the log, and with almost none.
  private func measureReplay() throws -> (idle: Double, replayed: Double) {
    let path = folder + "/tail"
    let store = try open(path)
    defer { try? store.close() }
    try fill(store, urls("one", 1), 1)
    try store.checkpoint()
    var copies = 0
    func copy() throws -> String {
      copies += 1
      let target = folder + "/copy-\(copies)"
      try FolderTree.copy(path, to: target)
      return target
    }
    let idle = try medianOpening(copy)
    try fill(store, urls("tail", ScaleBenchmark.tailCount), ScaleBenchmark.tailCount)
    return (idle, try medianOpening(copy))
  }

  /// Returns the nanoseconds to read the pieces of the index, from the page cache like the openings.
  private func readCheckpoints(_ path: String) -> Double {
    var times: [Double] = []
    for _ in 0..<ScaleBenchmark.rounds {
      let start = Time.monotonicNanoseconds()
      FolderTree.readThrough(path + "/checkpoints/area")
      times.append(Double(Time.monotonicNanoseconds() - start))
    }
    return median(times)
  }

  /// Anonymous memory of this process, as the kernel counts it.
  private func anonymousByteCount() -> Int {
    guard let file = fopen("/proc/self/smaps_rollup", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, CInt(line.count), file) != nil {
      let words = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self).split(
        separator: " ")
      if words.count > 1, words[0] == "Anonymous:" { return (Int(words[1]) ?? 0) * 1024 }
    }
    return 0
  }
}

struct ScaleReport {
  let entryCount: Int
  let bytesPerEntry: Double
  let cleanOpening: Double
  let checkpointReading: Double
  let tailCount: Int
  let nanosecondsPerChange: Double

  var json: JSON {
    .object([
      ("entries", .int(entryCount)), ("memory_bytes_per_entry", .rounded(bytesPerEntry, places: 1)),
      ("clean_open_ns", .rounded(cleanOpening, places: 0)),
      ("checkpoint_read_ns", .rounded(checkpointReading, places: 0)), ("tail", .int(tailCount)),
      ("replay_ns_per_change", .rounded(nanosecondsPerChange, places: 1)),
    ])
  }

  var text: String {
    var table = Table([.left, .right, .left])
    table.add(["memory", Quantity.fixed(bytesPerEntry, places: 1) + " B", "an entry, anonymous, growth included"])
    table.add(["open, closed cleanly", Quantity.nanoseconds(cleanOpening), "median of 5"])
    table.add(["reading its checkpoint", Quantity.nanoseconds(checkpointReading), "a part of it"])
    table.add(
      [
        "open, process killed", Quantity.nanoseconds(nanosecondsPerChange),
        "more for each of \(Quantity.count(tailCount)) changes in the log",
      ])
    return "\(Quantity.count(entryCount)) entries\n\n\(table.text(indentation: "  "))"
  }
}
