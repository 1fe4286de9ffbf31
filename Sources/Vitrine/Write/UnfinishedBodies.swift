/// All unfinished bodies of a store, by URL, so a removal finds the bodies of its key without a scan. Guarded by the
/// store's commit lock.
struct UnfinishedBodies {
  private var bodies: [UInt64: UnfinishedBody] = [:]
  /// By the hash of their URLs.
  private var byURL: [UInt64: [UInt64: UnfinishedBody]] = [:]
  private var nextNumber: UInt64 = 1

  mutating func begin(_ target: BodyTarget, _ hash: KeyHash, length: Int?, isAnybodys: Bool) -> UnfinishedBody {
    defer { nextNumber += 1 }
    let body = UnfinishedBody(target, hash, length: length, number: nextNumber, isAnybodys: isAnybodys)
    bodies[body.number] = body
    byURL[hash.urlBits, default: [:]][body.number] = body
    return body
  }

  /// Ends a body. Returns false if it has ended before.
  mutating func end(_ body: UnfinishedBody) -> Bool {
    byURL[body.hash.urlBits]?[body.number] = nil
    if byURL[body.hash.urlBits]?.isEmpty == true { byURL[body.hash.urlBits] = nil }
    return bodies.removeValue(forKey: body.number) != nil
  }

  var isEmpty: Bool { bodies.isEmpty }
  var all: some Collection<UnfinishedBody> { bodies.values }

  /// The bodies whose URL has this hash.
  func candidates(_ hash: KeyHash) -> [UnfinishedBody] { byURL[hash.urlBits].map { Array($0.values) } ?? [] }

  func contains(_ body: UnfinishedBody) -> Bool { bodies[body.number] != nil }
}
