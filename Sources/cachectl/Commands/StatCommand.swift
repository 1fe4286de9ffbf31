import CacheCtlKit
import Vitrine

enum StatCommand: Command {
  static let specification = CommandSpecification(
    name: "stat", summary: "show a store's content and its use of the disk",
    positionals: [.required("STORE")],
    options: [.reads, .json],
    notes: [
      "Works while another process writes. It reads every key, and no value.",
      "The writer publishes its counts (hits, evicted, compaction, bytes written) about every second; they are "
        + "summed over its openings. The times of last use are those of the last checkpoint: accurate to about a "
        + "minute, under fifo not at all. A record counts once, whether its key, its payload or both are needed.",
      "The misses by budget are an estimate for lru, from a sample of the keys that the writer was asked for. Each "
        + "opening for writing begins anew, and has an estimate after 10,000 requests; until then, that of an earlier "
        + "opening is shown. The measured misses are those of the same requests, under the policy of the store.",
      "With --json: format_version, entries, blobs, bytes_on_disk, bytes_live, bytes_dead, bytes_pinned (of segments "
        + "that readers hold), bytes_logical, budget_bytes, budget_entries (0: no limit), minimum_free_bytes, "
        + "disk_free_bytes (null if not known), policy, hits, misses, last_minute and last_hour (null, or hits and "
        + "misses), miss_curve (null, or budget_bytes, requests, miss_ratio as measured, and points: budget_bytes, "
        + "value_bytes, miss_ratio as estimated), write_amplification, damaged, lost, last_checkpoint_ms, last_open "
        + "(this one, for reading), last_open_for_writing, evicted (entries, bytes, and ages: entries by the time from "
        + "their last use to their eviction), compaction (steps, records_moved, bytes_moved, segments_freed), pins "
        + "(null if not known), style_budgets, encodings, styles, streams, queues, recency, sizes, segments. In "
        + "classes, below or below_seconds is the first value above the class, null for the last; recency has a class "
        + "unknown, too.",
    ],
    examples: [.init("cachectl stat photos.cache", "how full is it?")])

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    try Stores.read(arguments) { store in
      let statistics = store.statistics()
      var tally = EntryTally()
      store.forEachEntry(prefix: "") { entry in
        tally.add(entry)
        return true
      }
      let contents = store.segmentContents()
      if arguments.has(.json) {
        try output.write(StatJSON.report(statistics, tally, contents))
      } else {
        try output.write(StatReport(statistics, tally, contents, symbols: Terminal.symbols).text(path: store.path))
      }
      return .done
    }
  }
}
