import CacheCtlKit
import Vitrine

enum VerifyCommand: Command {
  static let specification = CommandSpecification(
    name: "verify", summary: "read every byte and name damaged entries", positionals: [.required("STORE")],
    options: [.reads, .json],
    notes: [
      "Changes nothing, and works while another process writes. The exit status is 1 when something is damaged. Lost "
        + "entries were never known to be durable and vanished in a crash: they are listed apart and are not damage.",
      "With --json: records_checked, bytes_checked, damaged and lost (each a list of file, offset, url, style, "
        + "reason), notes, ok. url and style are null where the record is too damaged to tell.",
    ],
    examples: [
      .init("cachectl verify photos.cache", "is everything still there?"),
      .init("cachectl verify photos.cache --reads copied", "on a file system that refuses shared mappings"),
    ])

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    try Stores.read(arguments) { store in
      let progress = Progress("verify")
      let report = try store.verify { progress.show($0, of: $1) }
      progress.clear()
      let notes = store.statistics().lastOpen.notes
      if arguments.has(.json) {
        try output.write(
          JSON.object([
            ("ok", .bool(report.isOK)), ("records_checked", .int(report.recordCount)),
            ("bytes_checked", .int(report.byteCount)), ("damaged", ProblemReport.json(report.damaged)),
            ("lost", ProblemReport.json(report.lost)), ("notes", .array(notes.map { .string($0) })),
          ]))
      } else {
        let checked =
          "\(Quantity.count(report.recordCount, "record", "records")), \(Quantity.bytes(report.byteCount))"
        try output.write("checked  \(checked)\n")
        try output.write("damaged  \(Quantity.count(report.damaged.count))\n")
        try output.write(ProblemReport.text(report.damaged))
        try output.write("lost     \(Quantity.count(report.lost.count))\n")
        try output.write(ProblemReport.text(report.lost))
        for note in notes { try output.write("note     \(note)\n") }
        try output.write(report.isOK ? "ok\n" : "not ok\n")
      }
      return report.isOK ? .done : .problemFound
    }
  }
}
