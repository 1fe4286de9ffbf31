/// Collects the head of a response from its lines. Accepts any bytes in values, spaces before the colon, and folded
/// lines, as browsers do. Ignores lines without a colon.
///
/// Memory is bounded by ``mostByteCount``. For one thread at a time.
struct ResponseHead {
  /// The limit in bytes of all lines of one response: interim heads, the head, and trailers.
  static let mostByteCount = 256 << 10

  private struct Field {
    let name: String
    var value: [UInt8]
  }

  /// Headers with a single value. If a server repeats one, the first counts. Values of other repeated headers are
  /// joined.
  private static let singletons: Set<String> = [
    "age", "content-length", "content-location", "content-range", "content-type", "date", "etag", "expires",
    "last-modified", "location", "retry-after",
  ]

  /// The values, by names in lower case.
  private var fields: [String: Field] = [:]
  private var lastName: String?
  private var byteCount = 0
  private var expectsStatusLine = true
  /// Whether the line that ends the head has arrived. Later lines are trailers.
  private(set) var isComplete = false

  /// Adds a line, including its line end. `status` is that of the latest status line. Throws ``LoadError`` beyond the
  /// limit.
  mutating func add(_ line: UnsafeRawBufferPointer, status: Int) throws {
    byteCount += line.count
    if byteCount > ResponseHead.mostByteCount {
      throw LoadError.interrupted("the head of the response has more than \(ResponseHead.mostByteCount) bytes")
    }
    if isComplete { return }
    if expectsStatusLine {
      expectsStatusLine = false
      (fields, lastName) = ([:], nil)
      return
    }
    let text = ResponseHead.trimmed(line)
    let isFolded = line.first == 0x20 || line.first == 0x09
    if text.isEmpty, !isFolded {
      // After an interim response, such as early hints, another head follows.
      expectsStatusLine = (100..<200).contains(status)
      isComplete = !expectsStatusLine
      return
    }
    if isFolded {
      if let lastName, !text.isEmpty { fields[lastName]?.value += [0x20] + text }
    } else if let colon = text.firstIndex(of: 0x3A) {
      add(name: ResponseHead.trimmed(UnsafeRawBufferPointer(rebasing: text[..<colon])), value: text[(colon + 1)...])
    }
  }

  private mutating func add(name: UnsafeRawBufferPointer.SubSequence, value: UnsafeRawBufferPointer.SubSequence) {
    let name = ResponseHead.text(Array(name))
    let key = name.lowercased()
    let value = Array(ResponseHead.trimmed(UnsafeRawBufferPointer(rebasing: value)))
    lastName = nil
    if key.isEmpty { return }
    if fields[key] == nil {
      fields[key] = Field(name: name, value: value)
    } else if ResponseHead.singletons.contains(key) {
      return
    } else {
      fields[key]?.value += Array(", ".utf8) + value
    }
    lastName = key
  }

  /// The bytes of a header, by its name in lower case.
  subscript(name: String) -> [UInt8]? { fields[name]?.value }

  /// The headers as text.
  var headers: [String: String] {
    Dictionary(fields.values.map { ($0.name, ResponseHead.text($0.value)) }) { a, _ in a }
  }

  /// Returns the text of bytes: UTF-8, or else Latin-1.
  static func text(_ bytes: [UInt8]) -> String {
    String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }

  private static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer.SubSequence {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
    guard let first = bytes.firstIndex(where: { !isBlank($0) }), let last = bytes.lastIndex(where: { !isBlank($0) })
    else { return bytes[..<0] }
    return bytes[first...last]
  }
}
