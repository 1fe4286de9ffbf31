import Foundation

/// The content of a `data:` URL (RFC 2397).
struct DataURL {
  let mediaType: String
  let bytes: Data

  /// Returns nil for a URL without a comma and for malformed base64. Ignores spaces and line ends within base64.
  init?(_ url: LoadURL) {
    guard let comma = url.rest.firstIndex(of: UInt8(ascii: ",")) else { return nil }
    let description = String(decoding: url.rest[..<comma], as: UTF8.self)
    let data = LoadURL.decoded(url.rest[(comma + 1)...])
    let parts = description.split(separator: ";", omittingEmptySubsequences: false)
      .map { $0.trimmingCharacters(in: .whitespaces) }
    mediaType = parts.first.flatMap { $0.isEmpty ? nil : $0 } ?? "text/plain"
    guard parts.count > 1, parts.last?.lowercased() == "base64" else {
      bytes = Data(data)
      return
    }
    var digits = Data(data.filter { $0 > 0x20 && $0 != UInt8(ascii: "=") })
    digits.append(contentsOf: Array(repeating: UInt8(ascii: "="), count: (4 - digits.count % 4) % 4))
    guard let decoded = Data(base64Encoded: digits) else { return nil }
    bytes = decoded
  }

  func load(_ receiver: any LoadReceiving) throws {
    try receiver.begin(LoadResponse(headers: ["Content-Type": mediaType], expectedByteCount: bytes.count))
    if !bytes.isEmpty { try receiver.receive(bytes) }
  }
}
