import Vitrine

/// The key of a meta command, as the request has it.
struct MetaKey {
  let key: CacheKey
  let text: [UInt8]
  private let isEncoded: Bool

  /// Reads the key. `isEncoded` tells whether the text is in base64.
  init(_ word: UnsafeRawBufferPointer, isEncoded: Bool) throws(MetaFlags.Refusal) {
    text = Array(word)
    self.isEncoded = isEncoded
    var key: CacheKey?
    if isEncoded {
      guard let decoded = Base64.decode(text) else {
        throw MetaFlags.Refusal(text: "CLIENT_ERROR error decoding key\r\n")
      }
      key = decoded.withUnsafeBytes { ItemKey.key($0, isEncoded: true) }
    } else {
      key = ItemKey.key(word)
    }
    guard let key else { throw MetaFlags.Refusal(text: "CLIENT_ERROR bad command line format\r\n") }
    self.key = key
  }

  /// Queues the flag of an answer with the key.
  func append(to output: ResponseQueue) {
    output.append(" k")
    text.withUnsafeBytes { output.append($0) }
    if isEncoded { output.append(" b") }
  }
}
