/// A kind of measurement.
struct Metric: Hashable, Sendable {
  let name: String
  let unit: String
  /// The heading in the table.
  let title: String
  let isHigherBetter: Bool
  /// The metric of `raw` that the ratio refers to.
  let baseline: String

  private init(_ name: String, _ unit: String, _ title: String, isHigherBetter: Bool, baseline: String? = nil) {
    self.name = name
    self.unit = unit
    self.title = title
    self.isHigherBetter = isHigherBetter
    self.baseline = baseline ?? name
  }

  private static func rate(_ name: String, _ unit: String, _ title: String) -> Metric {
    Metric(name, unit, title, isHigherBetter: true)
  }

  private static func time(_ name: String, _ title: String, baseline: String? = nil) -> Metric {
    Metric(name, "ns", title, isHigherBetter: false, baseline: baseline)
  }

  private static func share(_ name: String, _ title: String) -> Metric {
    Metric(name, "ratio", title, isHigherBetter: false)
  }

  static let putBytes = rate("put_bytes", "bytes/s", "buffered puts, bytes")
  static let putCount = rate("put_count", "puts/s", "buffered puts")
  static let putBytes2 = rate("put_bytes_2_threads", "bytes/s", "buffered puts, bytes, 2 threads")
  static let putCount2 = rate("put_count_2_threads", "puts/s", "buffered puts, 2 threads")
  static let firstRead = time("get_all_first", "the first get of each value after opening, every byte")
  static let read50 = time("get_all_50", "50 gets of each value, every byte")
  static let get64 = time("get_64", "get, touching 64 bytes")
  static let get64Threads2 = time("get_64_2_threads", "the same on each of 2 threads")
  static let getMany16 = time(
    "get_many_16", "the same for each value of a getMany of 16; raw: single gets", baseline: "get_64")
  static let getRetained = time(
    "get_retained", "the same with a retained Blob; raw: single gets", baseline: "get_64")
  static let miss = time("miss", "get of an absent key")
  static let contains = time("contains", "contains, of a present key")
  static let remove = time("remove", "remove, buffered")
  static let disk = share("disk_over_payload", "bytes on disk over payload, after closing")
  static let written = share("written_over_payload", "bytes written over payload, after closing")
  static let open = time("open", "opening after a clean close, and one get")

  static let batch16 = rate("put_batch_16_1k", "puts/s", "batches of 16 puts of 1 KB, buffered")
  static let batch16Synced = rate("put_batch_16_synced_1k", "puts/s", "batches of 16 puts of 1 KB, synced")

  static func synced(_ size: String, threads: Int) -> Metric {
    rate(
      "put_synced_\(size)_\(threads)_thread\(threads == 1 ? "" : "s")", "puts/s",
      "synced puts of \(size == "1k" ? "1 KB" : "40 KB"), \(threads) thread\(threads == 1 ? "" : "s")")
  }

  static let requests = rate("requests", "requests/s", "requests of the stream")
  static let hits = Metric("hits", "ratio", "share of gets that hit", isHigherBetter: true)
  static let diskOverBudget = share("disk_over_budget", "bytes on disk over the budget, after closing")
  static let writtenOverPuts = share("written_over_put_bytes", "bytes written over bytes put, after closing")
}

/// One measured number.
struct Sample {
  let metric: Metric
  let value: Double

  init(_ metric: Metric, _ value: Double) {
    self.metric = metric
    self.value = value
  }
}
