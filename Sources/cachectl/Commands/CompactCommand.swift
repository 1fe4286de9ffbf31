import CacheCtlKit
import Vitrine

enum CompactCommand: Command {
  static let specification = CommandSpecification(
    name: "compact", summary: "free the space of dead records", positionals: [.required("STORE")],
    options: [.wait, .reads, .json],
    notes: [
      "Copies the live records out of every segment with dead ones, unlinks those segments, and overwrites old "
        + "frames of the log. Keeps every entry. Afterwards no file of the store holds bytes of removed entries. Needs "
        + "little space: that of a segment, or the free space if it is less. No other process may have the store "
        + "open for writing; readers may.",
      "SIGINT (Ctrl-C) or SIGTERM ends it early, after the present step: completed steps remain, and the exit status "
        + "is 3. A second one ends it at once, and that, or SIGKILL at any time, is safe too. Records that fail their "
        + "check are dropped with their entries; the exit status is 1 then.",
      "With --json: bytes_before and bytes_after (of the folder, on the disk), records_moved, records_dropped, "
        + "seconds, interrupted, erased (no file holds bytes of removed entries).",
    ],
    examples: [.init("cachectl compact photos.cache", "make it as small as possible")])

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    Interruption.listen()
    var options = StoreOptions()
    options.createsIfMissing = false
    let progress = Progress("compact")
    let report = try Stores.write(arguments, options) { store in
      try store.compact { done, all in
        progress.show(done, of: all)
        return !Interruption.isWanted
      }
    }
    progress.clear()
    try output.write(arguments.has(.json) ? json(report).document : text(report))
    if report.isInterrupted { return .couldNotRun }
    return report.recordsDropped == 0 ? .done : .problemFound
  }

  private static func json(_ report: CompactionReport) -> JSON {
    .object([
      ("bytes_before", .int(report.bytesBefore)), ("bytes_after", .int(report.bytesAfter)),
      ("records_moved", .int(report.recordsMoved)), ("records_dropped", .int(report.recordsDropped)),
      ("seconds", .rounded(report.seconds, places: 3)), ("interrupted", .bool(report.isInterrupted)),
      ("erased", .bool(report.isErased)),
    ])
  }

  private static func text(_ report: CompactionReport) -> String {
    var table = Table([.left, .right, .left])
    table.add(["before", Quantity.bytes(report.bytesBefore), "on disk"])
    table.add([
      "after", Quantity.bytes(report.bytesAfter),
      "\(Quantity.percent(report.bytesAfter, of: report.bytesBefore)) of that",
    ])
    table.add(["moved", Quantity.count(report.recordsMoved), report.recordsMoved == 1 ? "record" : "records"])
    if report.recordsDropped > 0 {
      table.add(["dropped", Quantity.count(report.recordsDropped), "that failed their check, with their entries"])
    }
    table.add(["in", Quantity.nanoseconds(report.seconds * 1e9)])
    return table.text() + (report.isInterrupted ? "Interrupted; run it again to continue.\n" : "")
  }
}
