import Vitrine

/// The status line and the header fields of an answer.
struct AnswerHead {
  let status: Int
  private var fields: [String: String] = [:]

  /// The longest head in bytes that is read.
  static let longest = 128 << 10

  /// Reads a head: its lines, each with its line end, without the empty line.
  init(_ bytes: ArraySlice<UInt8>) throws(ClientError) {
    var lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)[...]
    guard let first = lines.popFirst() else { throw .notUnderstood("it is empty") }
    let words = first.split(separator: " ", maxSplits: 2)
    guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]), (100...599).contains(status) else {
      throw .notUnderstood("the status line is malformed")
    }
    self.status = status
    for line in lines where !line.isEmpty {
      guard let colon = line.firstIndex(of: ":") else { throw .notUnderstood("a header field has no colon") }
      let value = line[line.index(after: colon)...].drop { $0 == " " }
      fields[line[..<colon].lowercased()] = String(value)
    }
  }

  func value(of name: String) -> String? { fields[name] }

  /// Whether the server closes the connection after this answer.
  var isLast: Bool { fields["connection"]?.lowercased() == "close" }

  /// The length of the body.
  func contentLength() throws(ClientError) -> Int {
    if status == 204 || status == 304 { return 0 }
    guard let text = fields["content-length"], let length = Int(text), length >= 0 else {
      throw .notUnderstood("it has no Content-Length")
    }
    if length > RecordHeader.largestPayload { throw .notUnderstood("its body is larger than any value") }
    return length
  }

  /// The place of a value whose file was passed.
  struct Place {
    let handle: UInt64
    let range: Range<Int>
  }

  /// The place of the value; nil if its bytes are sent.
  func place() throws(ClientError) -> Place? {
    guard let field = fields["vitrine-place"] else { return nil }
    let numbers = field.split(separator: " ").map { Int($0) }
    guard numbers.count == 3, let handle = numbers[0], let offset = numbers[1], let count = numbers[2],
      handle > 0, offset >= 0, count > 0, offset <= 1 << 50, count <= RecordHeader.largestPayload
    else { throw .notUnderstood("the place of a value is malformed") }
    return Place(handle: UInt64(handle), range: offset..<offset + count)
  }
}

/// An answer of the server.
struct Answer {
  let head: AnswerHead
  let body: [UInt8]
  /// The place of a value in the file, and the right to it; nil if the bytes are sent.
  let place: (range: Range<Int>, lease: Lease)?
  /// The file of a value, if the server passed one.
  let file: PassedFile?
  /// Whether the process had no descriptor for a file that the server passed.
  let lacksDescriptor: Bool
  /// Whether the connection takes no further request.
  let isLast: Bool

  /// The error of a refused request.
  var refusal: ClientError {
    let text = String(decoding: body.prefix(300), as: UTF8.self)
    return .refused(status: head.status, reason: text.split(whereSeparator: \.isNewline).first.map(String.init) ?? "")
  }
}
