import CacheCtlKit
import Vitrine

enum PinCommand: Command {
  private static let off = Option("off", "end the pin")

  static let specification = CommandSpecification(
    name: "pin", summary: "protect entries from eviction, or end the protection",
    positionals: [.required("STORE"), .several("URL")], options: [.style, off, .wait, .reads, .json],
    notes: [
      "A pinned entry is not evicted, whatever its uses. Later puts of its key keep the pin. rm and expiry remove "
        + "pinned entries as others.",
      "Pinned entries take at most a quarter of the byte budget, by their values and heads, and a quarter of the "
        + "entry budget. cachectl stat shows their number and bytes, and ls marks them.",
      "If a URL has no entry, it is named on stderr, and the exit status is 1. With --json: pinned, or unpinned with "
        + "--off (number of URLs), and missing (array of URLs).",
    ],
    examples: [
      .init("cachectl pin photos.cache https://example.org/a.jpg", "keep a favorite"),
      .init("cachectl pin photos.cache https://example.org/a.jpg --off", "let eviction have it again"),
    ])

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    let style = try arguments.style(.style) ?? .original
    let isPinned = !arguments.has(off)
    var options = StoreOptions()
    options.createsIfMissing = false
    return try Stores.write(arguments, options) { store in
      var count = 0
      var missing: [[UInt8]] = []
      for url in arguments.positionals.dropFirst() {
        let key = CacheKey(bytes: url, style)
        if try isPinned ? store.pin(key) : store.unpin(key) { count += 1 } else { missing.append(url) }
      }
      if arguments.has(.json) {
        let urls = missing.map { JSON.string(String(decoding: $0, as: UTF8.self)) }
        try output.write(JSON.object([(isPinned ? "pinned" : "unpinned", .int(count)), ("missing", .array(urls))]))
      } else if count > 0 {
        try output.write("\(isPinned ? "pinned" : "unpinned") \(Quantity.count(count, "entry", "entries"))\n")
      }
      for url in missing { Diagnostics.write("cachectl pin: no such key: \(printable(url))\n") }
      return missing.isEmpty ? .done : .problemFound
    }
  }
}
