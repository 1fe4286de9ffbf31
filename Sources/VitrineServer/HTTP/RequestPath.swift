import Vitrine

/// The resource that the target of a request names.
///
/// The path of a value is `/v1/STYLE/URL`, both percent-encoded. The style ends at the next slash, so a slash in it is
/// written `%2F`. The URL is all that follows. It may be empty and may have any bytes. A question mark in it is written
/// `%3F`.
/// The path of a picture that is made on request is `/image/STYLE/URL`, in the same form.
enum RequestPath: Equatable {
  case value(CacheKey)
  case picture(CacheKey)
  case metrics, health, status

  init(_ target: [UInt8]) throws(RequestHead.Refusal) {
    let target = RequestPath.withoutServer(target)
    if target.starts(with: "/v1/".utf8) {
      self = .value(try RequestPath.key(target[4...]))
      return
    }
    if target.starts(with: "/image/".utf8) {
      self = .picture(try RequestPath.key(target[7...]))
      return
    }
    switch String(decoding: target.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self) {
    case "/metrics": self = .metrics
    case "/health": self = .health
    case "/status": self = .status
    default:
      throw RequestHead.Refusal(
        status: .notFound, text: "there is no such path; try /v1/STYLE/URL, /status, /metrics or /health")
    }
  }

  /// Leaves out the scheme and the server of a target that names them (RFC 9112, 3.2.2).
  private static func withoutServer(_ target: [UInt8]) -> [UInt8] {
    let scheme = target.prefix(8).map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }
    let count = scheme.starts(with: "http://".utf8) ? 7 : scheme == Array("https://".utf8) ? 8 : 0
    if count == 0 { return target }
    return Array(target[count...].drop { $0 != UInt8(ascii: "/") })
  }

  private static func key(_ path: ArraySlice<UInt8>) throws(RequestHead.Refusal) -> CacheKey {
    guard let slash = path.firstIndex(of: UInt8(ascii: "/")) else {
      throw RequestHead.Refusal(status: .notFound, text: "a path has a style and a URL: /v1/STYLE/URL")
    }
    if path.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) {
      throw RequestHead.Refusal(status: .badRequest, text: "write a question mark of the URL as %3F, and # as %23")
    }
    guard let name = decode(path[..<slash]), let url = decode(path[(slash + 1)...]) else {
      throw RequestHead.Refusal(status: .badRequest, text: "a percent sign must be followed by two hexadecimal digits")
    }
    guard let style = Style(String(decoding: name, as: UTF8.self)) else {
      throw RequestHead.Refusal(
        status: .badRequest, text: "a style has 1 to 255 bytes of printable ASCII without blanks")
    }
    return CacheKey(bytes: url, style)
  }

  /// Returns nil if a percent sign is not followed by two hexadecimal digits.
  static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var index = text.startIndex
    while index < text.endIndex {
      guard text[index] == UInt8(ascii: "%") else {
        bytes.append(text[index])
        index += 1
        continue
      }
      guard index + 2 < text.endIndex, let high = digit(text[index + 1]), let low = digit(text[index + 2]) else {
        return nil
      }
      bytes.append(high << 4 | low)
      index += 3
    }
    return bytes
  }

  private static func digit(_ letter: UInt8) -> UInt8? {
    switch letter {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): letter - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): letter - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): letter - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
