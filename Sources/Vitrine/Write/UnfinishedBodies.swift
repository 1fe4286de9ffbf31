/// All unfinished bodies of a store, by URL, so a removal finds the bodies of its key without a scan.
struct UnfinishedBodies {
  private struct Entry {
    let body: UnfinishedBody
    var receivedByteCount = 0
    /// The file in which the body grows if its length is not known.
    var staged: StagedRoom?
    /// Whether the key was removed after the body had begun. If so, the body must not be committed.
    var isAborted = false
  }

  private var entries: [UInt64: Entry] = [:]
  /// By the hash of their URLs.
  private var byURL: [UInt64: [UInt64: UnfinishedBody]] = [:]
  private var nextNumber: UInt64 = 1

  mutating func begin(_ target: BodyTarget, _ hash: KeyHash, length: Int?) -> UnfinishedBody {
    defer { nextNumber += 1 }
    let body = UnfinishedBody(target, hash, length: length, number: nextNumber)
    entries[body.number] = Entry(body: body)
    byURL[hash.urlBits, default: [:]][body.number] = body
    return body
  }

  /// Ends a body. Returns false if it has ended before.
  mutating func end(_ body: UnfinishedBody) -> Bool {
    byURL[body.hash.urlBits]?[body.number] = nil
    if byURL[body.hash.urlBits]?.isEmpty == true { byURL[body.hash.urlBits] = nil }
    return entries.removeValue(forKey: body.number) != nil
  }

  var isEmpty: Bool { entries.isEmpty }
  var all: [UnfinishedBody] { entries.values.map(\.body) }

  /// The bodies whose URL has this hash.
  func candidates(_ hash: KeyHash) -> [UnfinishedBody] { byURL[hash.urlBits].map { Array($0.values) } ?? [] }

  /// Marks a body as one that must not be committed. Returns false if it has ended.
  mutating func abort(_ body: UnfinishedBody) -> Bool {
    entries[body.number]?.isAborted = true
    return entries[body.number] != nil
  }

  func isAborted(_ body: UnfinishedBody) -> Bool { entries[body.number]?.isAborted ?? false }

  mutating func note(received byteCount: Int, of body: UnfinishedBody) {
    entries[body.number]?.receivedByteCount = byteCount
  }

  func receivedByteCount(_ body: UnfinishedBody) -> Int { entries[body.number]?.receivedByteCount ?? 0 }

  /// The staged file of a body; nil if it has none, or has ended.
  subscript(staged body: UnfinishedBody) -> StagedRoom? {
    get { entries[body.number]?.staged }
    set { entries[body.number]?.staged = newValue }
  }
}
