import CacheCtlKit
import Vitrine

enum RemoveCommand: Command {
  private static let allStyles = Option("all-styles", "every style of URL")
  private static let erase = Option("erase", "compact afterwards, so that no file holds removed bytes")

  static let specification = CommandSpecification(
    name: "rm", summary: "remove one key, all styles of a URL, or a prefix",
    positionals: [.required("STORE"), .optional("URL")],
    options: [.style, allStyles, .prefix, erase, .wait, .reads, .json],
    forms: [
      "STORE URL [--style S | --all-styles] [--erase] [--wait SECONDS] [--reads mapped|copied] [--json]",
      "STORE --prefix P [--erase] [--wait SECONDS] [--reads mapped|copied] [--json]",
    ],
    notes: [
      "Removed bytes stay in the store's files until compaction reaches them. --erase compacts the store at once (see "
        + "cachectl help compact).",
      "If URL has no entry, the exit status is 1. A prefix without an entry is not an error. An empty prefix removes "
        + "everything.",
      "An exit status of 0 means that the removal survives loss of power: closing the store makes everything durable.",
    ],
    examples: [
      .init("cachectl rm photos.cache https://example.org/a.jpg --all-styles", "forget a picture"),
      .init("cachectl rm photos.cache --prefix https://example.org/", "forget a site"),
      .init("cachectl rm photos.cache https://example.org/a.jpg --erase", "remove a picture and wipe its bytes"),
    ])

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    let url = arguments.positional(1)
    let prefix = arguments.value(.prefix)
    if url != nil, prefix != nil { throw arguments.fail("either URL or --prefix, not both") }
    if prefix != nil, arguments.value(.style) != nil || arguments.has(allStyles) {
      throw arguments.fail("--prefix removes every style; it goes without --style and --all-styles")
    }
    if arguments.value(.style) != nil, arguments.has(allStyles) {
      throw arguments.fail("either --style or --all-styles, not both")
    }
    let style = try arguments.style(.style) ?? .original
    guard url != nil || prefix != nil else { throw arguments.fail("missing URL, or --prefix") }

    var options = StoreOptions()
    options.createsIfMissing = false
    return try Stores.write(arguments, options) { store in
      let count: Int
      if let prefix {
        count = try remove(prefix: prefix, from: store)
      } else if arguments.has(allStyles) {
        count = try removeAllStyles(url!, from: store)
      } else {
        count = try store.remove(CacheKey(bytes: url!, style)) ? 1 : 0
      }
      if arguments.has(erase), try !store.compact().isErased {
        throw Failure("removed, but bytes of removed entries are left in the store's files", status: .problemFound)
      }
      if arguments.has(.json) {
        try output.write(JSON.object([("removed", .int(count))]))
      } else if prefix != nil || count > 0 {
        try output.write("removed \(Quantity.count(count, "key", "keys"))\n")
      }
      if count == 0, let url { throw Failure("no such key: \(printable(url))", status: .problemFound) }
      return .done
    }
  }

  // For a prefix or a URL that is not UTF-8, every key is compared.

  private static func remove(prefix: [UInt8], from store: CacheStore) throws -> Int {
    if let text = String(validating: prefix, as: UTF8.self) { return try store.removeAll(prefix: text) }
    return try store.removeAll { $0.key.url.starts(with: prefix) }
  }

  private static func removeAllStyles(_ url: [UInt8], from store: CacheStore) throws -> Int {
    if let text = String(validating: url, as: UTF8.self) { return try store.removeAllStyles(text) }
    return try store.removeAll { $0.key.url == url }
  }
}
