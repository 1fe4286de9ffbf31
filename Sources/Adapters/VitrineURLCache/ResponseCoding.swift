import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The coded form of a `URLResponse`, kept in the metadata of an entry.
///
/// It begins with a byte for the version, 1, and a byte for the kind: 0 for `URLResponse`, 1 for `HTTPURLResponse`. The
/// URL follows. A `URLResponse` has its MIME type, its text encoding and its expected length. An `HTTPURLResponse` has
/// its status, the number of its header fields, and their names and values by turns, sorted by name. Numbers have 8
/// bytes, little-endian. A text is its number of UTF-8 bytes and the bytes; -1 stands for no text.
enum ResponseCoding {
  private static let version: UInt8 = 1

  /// Returns the coded form; nil if the response has no URL.
  static func encode(_ response: URLResponse) -> [UInt8]? {
    guard let url = response.url else { return nil }
    let http = response as? HTTPURLResponse
    var bytes: [UInt8] = [version, http == nil ? 0 : 1]
    append(url.absoluteString, &bytes)
    guard let http else {
      append(response.mimeType, &bytes)
      append(response.textEncodingName, &bytes)
      append(response.expectedContentLength, &bytes)
      return bytes
    }
    let fields = http.allHeaderFields.compactMap { name, value in
      (name as? String).map { (name: $0, value: value as? String ?? "\(value)") }
    }
    append(Int64(http.statusCode), &bytes)
    append(Int64(fields.count), &bytes)
    for field in fields.sorted(by: { $0.name < $1.name }) {
      append(field.name, &bytes)
      append(field.value, &bytes)
    }
    return bytes
  }

  private static func append(_ number: Int64, _ bytes: inout [UInt8]) {
    withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
  }

  private static func append(_ text: String?, _ bytes: inout [UInt8]) {
    append(text.map { Int64($0.utf8.count) } ?? -1, &bytes)
    bytes += (text ?? "").utf8
  }

  /// Returns the response, or nil if the bytes are not a whole coded form.
  static func decode(_ bytes: [UInt8]) -> URLResponse? {
    guard bytes.count >= 2, bytes[0] == version else { return nil }
    var rest = bytes[2...]
    guard let urlText = text(&rest) as? String, let url = URL(string: urlText) else { return nil }
    let response: URLResponse?
    switch bytes[1] {
    case 0: response = plainResponse(url, &rest)
    case 1: response = httpResponse(url, &rest)
    default: return nil
    }
    return rest.isEmpty ? response : nil
  }

  private static func plainResponse(_ url: URL, _ rest: inout ArraySlice<UInt8>) -> URLResponse? {
    guard let type = text(&rest), let encoding = text(&rest), let length = number(&rest),
      let count = Int(exactly: length)
    else { return nil }
    return URLResponse(url: url, mimeType: type, expectedContentLength: count, textEncodingName: encoding)
  }

  private static func httpResponse(_ url: URL, _ rest: inout ArraySlice<UInt8>) -> URLResponse? {
    guard let status = number(&rest).flatMap({ Int(exactly: $0) }), (0...999).contains(status),
      let count = number(&rest), count >= 0
    else { return nil }
    var fields: [String: String] = [:]
    // A count beyond the bytes ends at the first text that is not there.
    for _ in 0..<count {
      guard let name = text(&rest) as? String, let value = text(&rest) as? String else { return nil }
      fields[name] = value
    }
    return HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
  }

  private static func number(_ rest: inout ArraySlice<UInt8>) -> Int64? {
    guard rest.count >= 8 else { return nil }
    defer { rest = rest.dropFirst(8) }
    return Int64(bitPattern: rest.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) })
  }

  /// Reads a text. The outer nil stands for damage, the inner one for no text.
  private static func text(_ rest: inout ArraySlice<UInt8>) -> String?? {
    guard let count = number(&rest), count >= -1, count <= rest.count else { return .none }
    if count == -1 { return .some(nil) }
    defer { rest = rest.dropFirst(Int(count)) }
    return String(validating: rest.prefix(Int(count)), as: UTF8.self).map { .some($0) } ?? .none
  }
}
