import CacheCtlKit
import Vitrine

enum RepairCommand: Command {
  static let specification = CommandSpecification(
    name: "repair", summary: "rebuild the index from the segments", positionals: [.required("STORE")],
    options: [.wait, .json],
    notes: [
      "For a store with damaged checkpoints and WAL. No other process may have it open. Each key whose record "
        + "is intact returns, and so may removed keys. The exit status is 1 if damaged records were "
        + "left out."
    ],
    examples: [.init("cachectl repair photos.cache", "rescue the entries")])

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    let progress = Progress("repair")
    let path = try Stores.path(arguments)
    let report = try LockWait(milliseconds: arguments.waitMilliseconds()).run {
      try CacheStore.repair(at: path) { progress.show($0, of: $1) }
    }
    progress.clear()
    if arguments.has(.json) {
      try output.write(
        JSON.object([
          ("segments", .int(report.segmentCount)), ("records", .int(report.recordCount)),
          ("entries", .int(report.entryCount)), ("damaged", ProblemReport.json(report.damaged)),
          ("removed_keys_may_be_back", .bool(true)), ("notes", .array(report.notes.map { .string($0) })),
        ]))
    } else {
      try output.write(
        """
        read     \(Quantity.count(report.segmentCount, "segment", "segments")), \
        \(Quantity.count(report.recordCount, "record", "records"))
        kept     \(Quantity.count(report.entryCount, "key", "keys"))
        damaged  \(Quantity.count(report.damaged.count))

        """)
      try output.write(ProblemReport.text(report.damaged))
      for note in report.notes { try output.write("note     \(note)\n") }
      try output.write("Keys that had been removed may be back.\n")
    }
    return report.damaged.isEmpty ? .done : .problemFound
  }
}
