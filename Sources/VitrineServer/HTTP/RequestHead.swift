/// The request line and the header fields of an HTTP request (RFC 9112), read strictly: a head that two programs could
/// read in two ways is refused.
struct RequestHead {
  enum Method: Equatable {
    case get, head, put, delete
    /// A method that no resource supports.
    case other
  }

  /// The reason why a head is refused, with the status of the answer.
  struct Refusal: Error, Equatable {
    let status: HTTPStatus
    let text: String
  }

  let method: Method
  /// The method as the client sent it.
  let methodName: String
  /// The request target: printable ASCII without blanks.
  let target: [UInt8]
  /// Whether the client speaks HTTP/1.1 rather than 1.0.
  let isPersistent: Bool
  private var fields: [(name: String, value: String)] = []

  /// The longest head in bytes.
  static let longest = 32 << 10
  private static let mostFields = 100

  /// Reads a head: its lines, each with its line end, without the empty line.
  init(_ bytes: UnsafeRawBufferPointer) throws(Refusal) {
    var lines = HeadLines(bytes)
    guard let first = try lines.next() else { throw Refusal(status: .badRequest, text: "the request is empty") }
    (method, methodName, target, isPersistent) = try RequestHead.requestLine(first)
    while let line = try lines.next() {
      if fields.count == RequestHead.mostFields {
        throw Refusal(status: .headTooLarge, text: "more than \(RequestHead.mostFields) header fields")
      }
      fields.append(try RequestHead.field(line))
    }
    let hosts = fields.count { $0.name == "host" }
    if hosts > 1 || (isPersistent && hosts == 0) {
      throw Refusal(status: .badRequest, text: "a request has one Host field")
    }
  }

  private static func requestLine(
    _ line: UnsafeRawBufferPointer
  ) throws(Refusal) -> (Method, String, [UInt8], isPersistent: Bool) {
    let malformed = Refusal(status: .badRequest, text: "the request line is malformed")
    let words = line.split(separator: Byte.blank, omittingEmptySubsequences: false)
    guard words.count == 3, !words[0].isEmpty, words[0].count <= 32, words[0].allSatisfy(isToken), !words[1].isEmpty,
      words[1].allSatisfy({ $0 > 0x20 && $0 < 0x7F })
    else { throw malformed }
    let version = UnsafeRawBufferPointer(rebasing: words[2])
    let name = String(decoding: words[0], as: UTF8.self)
    let method: Method =
      switch name {
      case "GET": .get
      case "HEAD": .head
      case "PUT": .put
      case "DELETE": .delete
      default: .other
      }
    if version.isEqual("HTTP/1.1") { return (method, name, Array(words[1]), true) }
    if version.isEqual("HTTP/1.0") { return (method, name, Array(words[1]), false) }
    guard version.starts(with: "HTTP/".utf8) else { throw malformed }
    throw Refusal(status: .unsupportedVersion, text: "only HTTP/1.0 and HTTP/1.1 are supported")
  }

  private static func field(_ line: UnsafeRawBufferPointer) throws(Refusal) -> (name: String, value: String) {
    // A line that begins with a blank would continue the one before.
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0, line[..<colon].allSatisfy(isToken) else {
      throw Refusal(status: .badRequest, text: "a header field is malformed")
    }
    var value = line[(colon + 1)...]
    while let byte = value.first, isBlank(byte) { value = value.dropFirst() }
    while let byte = value.last, isBlank(byte) { value = value.dropLast() }
    guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
      throw Refusal(status: .badRequest, text: "a header field has a control character")
    }
    return (
      String(decoding: line[..<colon], as: UTF8.self).lowercased(), String(decoding: value, as: UTF8.self)
    )
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == Byte.blank || byte == 0x09 }

  private static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }

  // MARK: Fields

  /// The value of a field. Nil if it is missing; values of several fields are joined by commas.
  func value(of name: String) -> String? {
    let values = fields.lazy.filter { $0.name == name }.map(\.value)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }

  /// The words of a list, in lower case.
  private func words(of name: String) -> [String] {
    (value(of: name) ?? "").lowercased().split(separator: ",").map { word in
      String(word.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" })
    }
  }

  /// Whether the sender names a field as one of this connection alone (RFC 9110, 7.6.1). A proxy passes on neither the
  /// field nor this name.
  func isOfThisConnection(_ name: String) -> Bool { words(of: "connection").contains(name) }

  /// Whether the client closes the connection after this request.
  var isLast: Bool { !isPersistent || words(of: "connection").contains("close") }

  /// Whether the client waits for `100 Continue` before it sends the body.
  var awaitsContinue: Bool { isPersistent && words(of: "expect").contains("100-continue") }

  /// The length of the body; nil if no field tells one.
  func contentLength() throws(Refusal) -> Int? {
    let lengths = fields.filter { $0.name == "content-length" }.map(\.value)
    if value(of: "transfer-encoding") != nil {
      throw Refusal(
        status: lengths.isEmpty ? .lengthRequired : .badRequest,
        text: lengths.isEmpty ? "a body needs a Content-Length" : "a body has one length")
    }
    guard let length = lengths.first else { return nil }
    guard lengths.count == 1, !length.isEmpty, length.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
      throw Refusal(status: .badRequest, text: "the Content-Length is malformed")
    }
    return Int(length) ?? .max
  }
}

/// The lines of a head, each of which ends with carriage return and line feed.
private struct HeadLines {
  private let bytes: UnsafeRawBufferPointer
  private var offset = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  mutating func next() throws(RequestHead.Refusal) -> UnsafeRawBufferPointer? {
    guard offset < bytes.count else { return nil }
    guard let end = bytes[offset...].firstIndex(of: Byte.lineFeed), end > offset,
      bytes[end - 1] == Byte.carriageReturn
    else { throw RequestHead.Refusal(status: .badRequest, text: "a line of the head does not end with CR LF") }
    defer { offset = end + 1 }
    return UnsafeRawBufferPointer(rebasing: bytes[offset..<(end - 1)])
  }
}
