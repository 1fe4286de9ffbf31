/// The head of a response.
public struct LoadResponse: Sendable, Hashable {
  /// The HTTP status. Other protocols use 200, or 304 for an unchanged resource.
  public var status: Int
  /// The headers of the response, by name.
  public var headers: [String: String]
  /// The number of bytes to come, if it is known.
  public var expectedByteCount: Int?

  /// Creates a response.
  public init(status: Int = 200, headers: [String: String] = [:], expectedByteCount: Int? = nil) {
    self.status = status
    self.headers = headers
    self.expectedByteCount = expectedByteCount
  }

  /// Returns the header with a name, in any case.
  func header(_ name: String) -> String? {
    headers[name] ?? headers.first { $0.key.lowercased() == name.lowercased() }?.value
  }
}
