import CacheCtlKit
import Vitrine

enum RepairCommand: Command {
  static let specification = CommandSpecification(
    name: "repair", summary: "build the index anew from the segments", positionals: [.required("STORE")],
    options: [.json],
    notes: [
      "For a store whose checkpoints and WAL are gone or damaged. Nobody else may have it open. Every key whose record "
        + "is whole comes back, and so may keys that had been removed. The exit status is 1 when damaged records were "
        + "left out."
    ],
    examples: [.init("cachectl repair photos.cache", "rescue what is there")])

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    let progress = Progress("repair")
    let report = try CacheStore.repair(at: try Stores.path(arguments)) { progress.show($0, of: $1) }
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
