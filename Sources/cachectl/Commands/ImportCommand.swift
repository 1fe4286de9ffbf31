import CacheCtlKit
import Glibc
import Vitrine

enum ImportCommand: Command {
  private static let urlPrefix = Option(
    "url-prefix", value: "P", "the beginning of the URLs (empty)")
  private static let names = Option(
    "names", value: Names.allCases.map(\.rawValue).joined(separator: "|"),
    "how paths become URLs: byte for byte (plain), or read back as export writes them (exported); "
      + "automatic: exported if export could have written every path, else plain")

  private enum Names: String, CaseIterable {
    case automatic
    case plain
    case exported
  }

  static let specification = CommandSpecification(
    name: "import", summary: "store every file of a folder",
    positionals: [.required("STORE"), .required("FOLDER")],
    options: [
      urlPrefix, names, .budget, .entries, .keepFree, .styleBudget, .policy, .sync, .wait, .reads, .json,
    ],
    notes: [
      "The URL of a file is the prefix and its path within FOLDER, byte for byte. The content type comes from the "
        + "file's first bytes, or else from its name, and is stored as by put. A missing store is made. "
        + "Budgets and policy are kept in the store, as with put.",
      "export writes the values of a style into the folder OUT/STYLE. import reads the URLs back from such a folder: "
        + "FOLDER is OUT/original, and all values get the style original. A folder counts as one of export if export "
        + "could have written each of its paths. With --names exported, other files are skipped. With --names plain, "
        + "no name is read back.",
      "Symbolic links and special files are skipped and named on stderr. So are files that cannot be read or stored: "
        + "the exit status is 1 then.",
      "An exit status of 0, 1 or 4 means that every file in the store survives loss of power: closing it makes "
        + "everything durable. With --sync, that holds for each file as soon as its line is written, also when the "
        + "import is killed.",
      "If the budget holds less than the folder, the store evicts earlier files for later ones. Then a line says how "
        + "many files were not kept, and the exit status is 4, or 1 if files were skipped too. The same holds for a "
        + "file that is larger than the budget can ever hold.",
      "With --json, one object a line (url, bytes), written out as soon as that file's put has returned. At the end, "
        + "each file that was evicted has another line, with \"evicted\": true. A file that the budget can never hold "
        + "has one line, with \"refused\": true.",
    ],
    examples: [
      .init("cachectl import photos.cache ~/Pictures --url-prefix file://pictures/", "a folder of pictures"),
      .init(
        "cachectl import photos.cache ~/Pictures --budget 2GiB --sync --json", "durably, one line a file"),
    ])

  static var isCutShortByClosedOutput: Bool { true }

  private struct Tally {
    var fileCount = 0
    var byteCount = 0
    var failureCount = 0
    var evictedCount = 0
    var evictedByteCount = 0
    /// Values that the budget can never hold.
    var refusedCount = 0
    var refusedByteCount = 0
    var byteBudget = 0
  }

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    let prefix = arguments.value(urlPrefix) ?? []
    let path = try Stores.path(arguments)
    let names = try chosenNames(arguments)
    let options = try arguments.storeOptions()
    // Before the store: a missing folder must not leave a new store.
    _ = try SourceFolder(arguments.positionals[1], excluding: nil)
    let start = Time.monotonicNanoseconds()
    var tally = Tally()
    let progress = Progress("import")

    try Stores.write(arguments, options) { store in
      let folder = try SourceFolder(arguments.positionals[1], excluding: FileIdentity(path: path))
      let evictedBefore = store.statistics().evictedCount
      let isExported =
        switch names {
        case .automatic: try folder.allFiles { ExportPath.url(atPath: $0) != nil }
        case .plain: false
        case .exported: true
        }
      var stored = StoredNames()
      try folder.forEachFile { path, file in
        let byteCount: Int?
        let url = isExported ? ExportPath.url(atPath: path) : path
        let name = url ?? path
        do {
          if url == nil { throw Failure("\(printable(path)): export does not write such a name") }
          byteCount = try put(file, named: name, prefix: prefix, into: store, sync: arguments.has(.sync))
        } catch StoreError.tooLarge(let byteCount, let limit) {
          progress.clear()
          tally.refusedCount += 1
          tally.refusedByteCount += byteCount
          let reason = StoreError.tooLarge(byteCount: byteCount, limit: limit)
          Diagnostics.write("cachectl import: not kept: \(printable(name)): \(reason)\n")
          if arguments.has(.json) {
            let members = JSON.members(url: prefix + name) + [("bytes", .int(byteCount)), ("refused", .bool(true))]
            try output.writeNow(JSON.object(members).line + "\n")
          }
          return
        } catch let failure as Failure {
          progress.clear()
          Diagnostics.write("cachectl import: skipped: \(failure.message)\n")
          byteCount = nil
        }
        guard let byteCount else {
          tally.failureCount += 1
          return
        }
        tally.fileCount += 1
        tally.byteCount += byteCount
        stored.add(name, byteCount: byteCount)
        if arguments.has(.json) {
          try output.writeNow(
            JSON.object(JSON.members(url: prefix + name) + [("bytes", .int(byteCount))]).line + "\n")
        }
        progress.show(
          "\(Quantity.count(tally.fileCount, "file", "files")), \(Quantity.bytes(tally.byteCount))")
      } skipped: { name, reason in
        progress.clear()
        Diagnostics.write("cachectl import: skipped \(printable(name)): \(reason)\n")
      }
      tally.byteBudget = store.byteBudget
      try stored.forEachEvicted(from: store, prefix: prefix, evictedBefore: evictedBefore) { url, byteCount in
        tally.evictedCount += 1
        tally.evictedByteCount += byteCount
        if arguments.has(.json) {
          let members = JSON.members(url: url) + [("bytes", .int(byteCount)), ("evicted", .bool(true))]
          try output.write(JSON.object(members).line + "\n")
        }
      }
    }
    progress.clear()
    if !arguments.has(.json) { try report(tally, start, output) }
    return tally.failureCount > 0 ? .problemFound : tally.evictedCount + tally.refusedCount > 0 ? .notKept : .done
  }

  private static func chosenNames(_ arguments: Arguments) throws -> Names {
    guard let word = arguments.value(names) else { return .automatic }
    guard let found = Names(rawValue: String(decoding: word, as: UTF8.self)) else {
      let all = Names.allCases.map(\.rawValue).joined(separator: ", ")
      throw arguments.fail("--names: '\(printable(word))' is none of \(all)")
    }
    return found
  }

  /// Returns the bytes stored. Throws `Failure` for errors of the file itself, and `tooLarge` if the budget can never
  /// hold the file; any other error ends the import.
  private static func put(
    _ file: borrowing Descriptor, named name: [UInt8], prefix: [UInt8], into store: CacheStore, sync: Bool
  ) throws -> Int {
    guard Int(try file.status().st_size) <= PutCommand.largestValue,
      let bytes = try file.readAll(limit: PutCommand.largestValue)
    else { throw Failure("\(printable(name)): more than 1 GiB, the most a value may have") }
    let options = PutOptions(
      metadata: EntryMetadata.bytes(contentType: ContentType.of(name: name, bytes: bytes)),
      durability: sync ? .synced : nil)
    do {
      try store.put(bytes, for: CacheKey(bytes: prefix + name), options: options)
    } catch StoreError.invalidArgument(let reason) {
      throw Failure("\(printable(name)): \(reason)")
    }
    return bytes.count
  }

  private static func report(_ tally: Tally, _ start: UInt64, _ output: Output) throws {
    let nanoseconds = max(1, Double(Time.monotonicNanoseconds() - start))
    let rate = Quantity.bytes(Int(Double(tally.byteCount) / nanoseconds * 1e9))
    try output.write(
      "imported \(Quantity.count(tally.fileCount, "file", "files")), \(Quantity.bytes(tally.byteCount)) "
        + "in \(Quantity.nanoseconds(nanoseconds)) (\(rate)/s)\n")
    if tally.evictedCount > 0 {
      try output.write(
        "not kept: \(tally.evictedCount) of them, \(Quantity.bytes(tally.evictedByteCount)), were evicted again; "
          + "the budget is \(Quantity.bytes(tally.byteBudget)) (--budget, --entries)\n")
    }
    if tally.refusedCount > 0 {
      try output.write(
        "not kept: \(Quantity.count(tally.refusedCount, "file", "files")), "
          + "\(Quantity.bytes(tally.refusedByteCount)), larger than the budget, or the budget of a style, "
          + "can hold (--budget)\n")
    }
    if tally.failureCount > 0 {
      try output.write("left out \(Quantity.count(tally.failureCount, "file", "files"))\n")
    }
  }
}
