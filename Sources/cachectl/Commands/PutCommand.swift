import CacheCtlKit
import Glibc
import Vitrine

enum PutCommand: Command {
  private static let bitmap = Option(
    "bitmap", value: "WIDTHxHEIGHT:FORMAT", "the bytes are pixels, rows packed: 60x60:BGRA8888")
  private static let type = Option("type", value: "MIME", "keep this content type with the value: image/jpeg")
  private static let ttl = Option("ttl", value: "SECONDS", "let it expire this many seconds from now")

  static let specification = CommandSpecification(
    name: "put", summary: "store one value, from a file or stdin",
    positionals: [.required("STORE"), .required("URL"), .optional("FILE")],
    options: [
      .style, bitmap, type, ttl, .sync, .budget, .entries, .keepFree, .styleBudget, .policy, .wait, .reads, .json,
    ],
    notes: [
      "Without FILE, or with '-', the bytes come from stdin. A missing store is made. An existing value "
        + "of URL and style is replaced. Budgets, --keep-free and policy are kept in the store, for all programs, "
        + "until they are changed again; a new store begins with a tenth of the free disk, no other limit, and s3fifo.",
      "An exit status of 0 means that the value survives loss of power, with and without --sync: closing the store "
        + "makes everything durable. With --sync the put itself has waited for the disk, before the store is closed.",
      "Formats of bitmaps: " + PixelFormat.allCases.map(\.name).joined(separator: ", ") + ".",
      "The content type goes into the entry's metadata as one line, 'content-type: MIME'. Metadata of cachectl is "
        + "lines of that form, each ended by a line feed.",
    ],
    examples: [
      .init("cachectl put photos.cache https://example.org/a.jpg a.jpg", "store a picture"),
      .init(
        "curl -s $U | cachectl put photos.cache $U --type image/jpeg --ttl 86400", "from a pipe, for a day"),
      .init("cachectl put c a.jpg px --style thumb --bitmap 60x60:BGRA8888", "store pixels"),
    ])

  /// The engine's limit for one value.
  static let largestValue = 1 << 30

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    let key = CacheKey(bytes: arguments.positionals[1], try arguments.style(.style) ?? .original)
    let options = PutOptions(
      metadata: EntryMetadata.bytes(contentType: try arguments.contentType(type)),
      expirationMilliseconds: try arguments.expiration(ttl, nowMilliseconds: Time.wallMilliseconds()),
      durability: arguments.has(.sync) ? .synced : nil, layout: try arguments.bitmapLayout(bitmap))
    let storeOptions = try arguments.storeOptions()

    // Read before the store is opened: a slow pipe must not lock the store.
    let bytes = try read(arguments.positional(2))
    if let layout = options.layout, layout.byteCount != bytes.count {
      throw arguments.fail(
        "a bitmap of \(layout.width)x\(layout.height) \(layout.format.name) is \(layout.byteCount) bytes, not "
          + "\(bytes.count)"
      )
    }
    return try Stores.write(arguments, storeOptions) { store in
      try store.put(bytes, for: key, options: options)
      if arguments.has(.json) { try report(key, bytes.count, store, output) }
      return .done
    }
  }

  private static func read(_ file: [UInt8]?) throws -> [UInt8] {
    let source: Descriptor
    if let file, file != Array("-".utf8) {
      source = try Descriptor.open(file, O_RDONLY)
    } else {
      source = try Descriptor.standardInput()
    }
    guard let bytes = try source.readAll(limit: largestValue) else {
      throw Failure("\(printable(source.path)) has more than 1 GiB, the most a value may have")
    }
    return bytes
  }

  private static func report(_ key: CacheKey, _ byteCount: Int, _ store: CacheStore, _ output: Output) throws {
    var members = JSON.members(key: key) + [("bytes", .int(byteCount))]
    if case .found(let entry) = store.lookup(key) {
      members += [
        ("digest", .string("\(entry.digest)")), ("encoding", .string("\(entry.encoding)")),
        ("stored_bytes", .int(entry.storedByteCount)), ("shared", .bool(entry.isShared)),
      ]
    }
    try output.write(JSON.object(members))
  }
}
