import Vitrine

/// A request of HTTP/1.1, without the fields that its connection adds.
struct Request {
  let method: StaticString
  let target: String
  /// Header fields, each with its line end.
  var fields = ""
  /// Valid during the call that sends the request.
  var body = UnsafeRawBufferPointer(start: nil, count: 0)

  init(method: StaticString, target: String) {
    self.method = method
    self.target = target
  }

  /// Whether the request changes nothing.
  var isForReading: Bool { isForHead || "\(method)" == "GET" }

  /// Whether the answer has no body, even if it has a length field.
  var isForHead: Bool { "\(method)" == "HEAD" }

  /// The head, with the handles of values to release.
  func head(releasing handles: [UInt64]) -> String {
    var text = "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n" + fields
    if !handles.isEmpty { text += "Vitrine-Release: \(handles.map(String.init).joined(separator: " "))\r\n" }
    return text + "\r\n"
  }
}

/// Paths of values: `/v1/STYLE/URL`, both percent-encoded.
enum RequestTarget {
  static func text(_ key: CacheKey) -> String {
    var text = Array("/v1/".utf8)
    encode(Array(key.style.name.utf8), to: &text)
    text.append(UInt8(ascii: "/"))
    encode(key.url, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  private static func encode(_ bytes: [UInt8], to text: inout [UInt8]) {
    let digits = Array("0123456789ABCDEF".utf8)
    for byte in bytes {
      if isUnreserved(byte) {
        text.append(byte)
      } else {
        text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: "-._~".utf8.contains(byte)
    }
  }
}
