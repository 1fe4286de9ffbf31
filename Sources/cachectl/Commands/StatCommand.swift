import CacheCtlKit
import Vitrine

enum StatCommand: Command {
  static let specification = CommandSpecification(
    name: "stat", summary: "what a store holds, and how it lies on the disk",
    positionals: [.required("STORE")],
    options: [.json],
    notes: [
      "Works while another process writes. It looks at every key, though at no value.",
      "With --json: format_version, entries, blobs, bytes_on_disk, bytes_live, bytes_dead, bytes_pinned, "
        + "bytes_logical, budget_bytes, budget_entries (0: no limit), hits, misses, write_amplification, damaged, lost, "
        + "last_checkpoint_ms, last_open, encodings, styles, sizes, segments.",
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
      if arguments.has(.json) {
        try output.write(StatJSON.report(statistics, tally))
      } else {
        try output.write(StatReport(statistics, tally, symbols: Terminal.symbols).text(path: store.path))
      }
      return .done
    }
  }
}
