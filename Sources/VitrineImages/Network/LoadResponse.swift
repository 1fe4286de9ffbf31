/// The head of a response.
public struct LoadResponse: Sendable, Hashable {
  /// The HTTP status. Other protocols use 200, or 304 for an unchanged resource.
  public var status: Int
  /// The headers of the response, by name.
  public var headers: [String: String]
  /// The number of bytes to come, if it is known.
  public var expectedByteCount: Int?
  /// The headers of the redirects that led to this response, in their order. Their caching rules bound the lifetime of
  /// the response under the URL of the request.
  public var redirects: [[String: String]]

  /// Creates a response.
  public init(
    status: Int = 200, headers: [String: String] = [:], expectedByteCount: Int? = nil,
    redirects: [[String: String]] = []
  ) {
    self.status = status
    self.headers = headers
    self.expectedByteCount = expectedByteCount
    self.redirects = redirects
  }

  /// Returns the headers of a redirect that say how long and for which requests it is valid.
  static func rules(ofRedirect headers: [String: String]) -> [String: String] {
    headers.filter { ["cache-control", "expires", "date", "age", "vary"].contains($0.key.lowercased()) }
  }

  /// Returns the header with a name, in any case.
  func header(_ name: String) -> String? {
    headers[name] ?? headers.first { $0.key.lowercased() == name.lowercased() }?.value
  }
}
