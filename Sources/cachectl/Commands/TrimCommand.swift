import CacheCtlKit
import Vitrine

enum TrimCommand: Command {
  private static let bytes = Option("to", value: "SIZE", "evict until the folder takes at most SIZE: 500MB, 2GiB")
  private static let count = Option("to-entries", value: "N", "evict until at most N entries are left")
  private static let unused = Option("unused", value: "SECONDS", "evict every entry that was not used for SECONDS")

  static let specification = CommandSpecification(
    name: "trim", summary: "evict entries until the store is small enough",
    positionals: [.required("STORE")], options: [bytes, count, unused, .wait, .reads, .json],
    notes: [
      "Evicts the entries used longest ago first, under fifo those put longest ago. With --to, s3fifo and sieve then "
        + "evict by segments. --to and --to-entries evict expired entries before others. Several options apply in the "
        + "order --unused, --to-entries, --to.",
      "The budgets stay, so the store may grow again. --budget and --entries of cachectl put change them.",
      "If the folder stays larger than SIZE, the exit status is 1. An empty store takes some hundred KiB, so a smaller "
        + "SIZE removes all entries.",
      "Puts, changes of metadata and gets are uses. Under fifo, only puts and changes are.",
      "With --json: removed and entries (numbers of entries), bytes_before and bytes_after (of the folder, on the "
        + "disk).",
    ],
    examples: [
      .init("cachectl trim photos.cache --to 200MB", "make room on the disk"),
      .init("cachectl trim photos.cache --unused 2592000", "remove pictures that were not used for 30 days"),
    ])

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    let byteCount = try arguments.size(bytes)
    let entryCount = try arguments.count(count)
    let seconds = try arguments.count(unused)
    guard byteCount != nil || entryCount != nil || seconds != nil else {
      throw arguments.fail("missing --to, --to-entries or --unused")
    }
    let now = Time.wallMilliseconds()
    var options = StoreOptions()
    options.createsIfMissing = false
    return try Stores.write(arguments, options) { store in
      let before = store.statistics().bytesOnDisk
      var removed = 0
      if let seconds {
        let age = seconds.multipliedReportingOverflow(by: 1000)
        removed += try store.removeUnused(since: age.overflow ? 0 : max(0, now - Int64(age.partialValue)))
      }
      if let entryCount { removed += try store.trim(toEntries: entryCount) }
      if let byteCount {
        removed += try store.trim(toBytes: byteCount)
      } else {
        // The records of removed entries stay on the disk until upkeep reclaims them.
        _ = try store.idle { true }
      }
      let after = store.statistics()
      if arguments.has(.json) {
        try output.write(
          JSON.object([
            ("removed", .int(removed)), ("entries", .int(after.entryCount)), ("bytes_before", .int(before)),
            ("bytes_after", .int(after.bytesOnDisk)),
          ]))
      } else {
        try output.write(
          "removed \(Quantity.count(removed, "entry", "entries")), left \(Quantity.count(after.entryCount)); "
            + "\(Quantity.bytes(before)) before, \(Quantity.bytes(after.bytesOnDisk)) now\n")
      }
      if let byteCount, after.bytesOnDisk > byteCount {
        throw Failure(
          "\(Quantity.bytes(byteCount)) is too little for this store; it takes \(Quantity.bytes(after.bytesOnDisk))",
          status: .problemFound)
      }
      return .done
    }
  }
}
