/// A request for the bytes behind a URL.
public struct LoadRequest: Sendable, Hashable {
  /// The URL as text. The loader parses it.
  public var url: String
  /// The headers to send, by name.
  public var headers: [String: String]

  /// Creates a request. The loader checks the URL.
  public init(url: String, headers: [String: String] = [:]) {
    self.url = url
    self.headers = headers
  }

  /// Compares URLs by their bytes.
  public static func == (a: LoadRequest, b: LoadRequest) -> Bool {
    KeyText(a.url) == KeyText(b.url) && a.headers == b.headers
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(KeyText(url))
    hasher.combine(headers)
  }
}
