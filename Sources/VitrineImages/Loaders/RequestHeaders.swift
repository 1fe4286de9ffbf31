/// The checked headers of a request. Removes secret ones for a redirect to another server.
struct RequestHeaders: Sendable {
  /// The headers that may be sent to another server after a redirect. All others may be secrets for the first server.
  private static let harmless: Set<String> = [
    "accept", "accept-encoding", "accept-language", "cache-control", "if-modified-since", "if-none-match", "if-range",
    "range", "user-agent",
  ]

  private(set) var fields: [(name: String, value: String)]
  /// The value of `Cookie`, which is joined with the cookies of redirects.
  private(set) var cookie: String?

  /// Throws ``ImageError/invalidArgument(_:)`` for a name or value that would change the form of the request.
  init(_ headers: [String: String]) throws(ImageError) {
    fields = []
    for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
      let isName = !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
      guard isName, name.utf8.last != UInt8(ascii: ";"), !value.utf8.contains(where: { [0, 0x0A, 0x0D].contains($0) })
      else { throw .invalidArgument("the header '\(name.prefix(100))' cannot be sent") }
      if name.lowercased() == "cookie" { cookie = value } else { fields.append((name, value)) }
    }
  }

  mutating func removeSecrets() {
    fields.removeAll { !RequestHeaders.harmless.contains($0.name.lowercased()) }
    cookie = nil
  }

  /// Removes the date of a condition for a redirect. It belongs to the picture that another address had, and an older
  /// picture at the new address would seem unchanged.
  mutating func removeDate() { fields.removeAll { $0.name.lowercased() == "if-modified-since" } }

  func contains(_ name: String) -> Bool { fields.contains { $0.name.lowercased() == name } }

  /// The lines for libcurl, which removes a header without a value unless a semicolon ends its name.
  var lines: [String] {
    fields.map { name, value in
      value.utf8.allSatisfy { $0 <= 0x20 } ? "\(name);" : "\(name): \(value)"
    }
  }
}
