import CacheCtlKit
import Vitrine

enum ListCommand: Command {
  static let specification = CommandSpecification(
    name: "ls", summary: "list the keys, in order", positionals: [.required("STORE")],
    options: [.prefix, Option("style", value: "S", "only keys of this style"), .reads, .json],
    notes: [
      "With --json, one object a line: url, style, bytes, stored_bytes, encoding, digest, shared, pinned, "
        + "content_type, written_ms and expires_ms (milliseconds since 1970), bitmap. A URL that is not UTF-8 also has "
        + "url_base64, its bytes; its url has U+FFFD for invalid bytes. Without --json such bytes, and control "
        + "characters, are shown as \\xNN.",
      "Entries that have expired are not listed. A * behind the size marks a pinned entry.",
    ],
    examples: [.init("cachectl ls photos.cache --prefix https://example.org/", "list the entries of a site")])

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    let style = try arguments.style(.style)
    let prefix = arguments.value(.prefix) ?? []
    return try Stores.read(arguments) { store in
      for key in try keys(of: store, prefix: prefix) where style == nil || key.style == style {
        switch store.lookup(key) {
        case .found(let entry):
          if arguments.has(.json) {
            try output.write(line(entry).line + "\n")
          } else {
            try output.write(row(entry))
          }
        case .damaged:
          Diagnostics.write("cachectl ls: damaged: \(printable(key.url)) (\(key.style))\n")
        case .missing, .expired, .outdated:
          continue
        case .closed:
          throw StoreError.closed
        }
      }
      return .done
    }
  }

  private static func keys(of store: CacheStore, prefix: [UInt8]) throws -> [CacheKey] {
    if let text = String(validating: prefix, as: UTF8.self) { return try store.keysInOrder(prefix: text) }
    return try store.keysInOrder().filter { $0.url.starts(with: prefix) }
  }

  private static func row(_ entry: EntryInfo) -> String {
    row(
      Quantity.bytes(entry.byteCount) + (entry.isPinned ? "*" : " "), "\(entry.encoding)",
      Time.text(milliseconds: entry.writtenMilliseconds), entry.key
    )
  }

  /// Columns of fixed width, since rows are written one by one; the URL is last and may have any length.
  private static func row(_ size: String, _ kind: String, _ written: String, _ key: CacheKey) -> String {
    let left = String(repeating: " ", count: max(0, 10 - size.count)) + size
    return "\(left) \(kind.padded(to: 7))  \(written.padded(to: 16))  \(key.style.name.padded(to: 14))  "
      + printable(key.url) + "\n"
  }

  private static func line(_ entry: EntryInfo) -> JSON {
    var members = JSON.members(key: entry.key)
    members += [
      ("bytes", .int(entry.byteCount)), ("stored_bytes", .int(entry.storedByteCount)),
      ("encoding", .string("\(entry.encoding)")), ("digest", .string("\(entry.digest)")),
      ("shared", .bool(entry.isShared)), ("pinned", .bool(entry.isPinned)),
      ("content_type", .optional(EntryMetadata.contentType(in: entry.metadata))),
      ("written_ms", .int(Int(entry.writtenMilliseconds))),
      ("expires_ms", .optional(entry.expirationMilliseconds)),
    ]
    if let layout = entry.layout { members.append(("bitmap", .layout(layout))) }
    return .object(members)
  }
}
