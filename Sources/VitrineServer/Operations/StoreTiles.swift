import Vitrine

/// The tiles at the top of a page about a store.
struct StoreTiles {
  let statistics: StoreStatistics

  func hitRatio(hits: Double, misses: Double, note: String) -> String {
    let ratio = hits + misses == 0 ? nil : hits / (hits + misses)
    return StoreTiles.tile("Hit ratio", ratio.map(PageText.percent) ?? "–", note, bar: ratio)
  }

  /// The space, the entries, eviction and compaction.
  var store: String {
    let used = PageText.part(statistics.bytesOnDisk, of: statistics.byteBudget)
    return [
      StoreTiles.tile(
        "On disk", PageText.bytes(statistics.bytesOnDisk),
        "\(PageText.percent(used)) of \(PageText.bytes(statistics.byteBudget))", bar: used),
      StoreTiles.tile(
        "Entries", PageText.count(statistics.entryCount),
        statistics.entryBudget == 0
          ? "\(PageText.count(statistics.blobCount)) blobs" : "of \(PageText.count(statistics.entryBudget))"),
      StoreTiles.tile(
        "Live", PageText.bytes(statistics.liveByteCount), "\(PageText.bytes(statistics.deadByteCount)) dead"),
      StoreTiles.tile(
        "Evicted", PageText.count(statistics.evictedCount),
        "\(PageText.bytes(statistics.evictedByteCount)), by \(statistics.policy.name)"),
      StoreTiles.tile(
        "Compacted", PageText.count(statistics.compaction.segmentsFreed),
        "segments freed, \(PageText.bytes(statistics.compaction.bytesMoved)) moved"),
    ].joined()
  }

  static func tile(_ title: String, _ value: String, _ note: String, bar: Double? = nil) -> String {
    let meter = bar.map { "<div class=\"meter\"><i style=\"width:\(PageText.percent($0))\"></i></div>" } ?? ""
    return "<div class=\"tile\"><h3>\(title)</h3><b>\(value)</b>\(meter)<p>\(PageText.escaped(note))</p></div>"
  }
}
