import Foundation

/// Loads the bytes behind a URL. ``HTTPLoader`` loads by HTTP; an app may load from other sources.
public protocol DataLoading: Sendable {
  /// Loads bytes. Passes the response and then its bytes, in pieces, to `receiver`, from any thread but one call at a
  /// time, and returns after the last piece. If the receiver throws or the task is canceled, ends early and throws
  /// that error. Throws ``LoadError`` if the load fails.
  func load(_ request: LoadRequest, _ receiver: any LoadReceiving) async throws
}

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

/// The head of a response.
public struct LoadResponse: Sendable, Hashable {
  /// The HTTP status; 200 for other protocols.
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

/// Receives a response and its bytes.
public protocol LoadReceiving: Sendable {
  /// Receives the head of the response. Called once, before all bytes. An error that it throws ends the load, which
  /// throws the same error.
  func begin(_ response: LoadResponse) throws
  /// Receives the next bytes, in order. An error that it throws ends the load, which throws the same error.
  func receive(_ bytes: Data) throws
}

/// Errors of a load.
public enum LoadError: Error, Sendable, Hashable {
  /// The text is not a URL that this loader supports.
  case invalidURL(String)
  /// There is no network, no such host, or no answer from it.
  case unreachable(String)
  /// The connection broke off during the load.
  case interrupted(String)
  /// The server exceeded the time limit of the loader.
  case timedOut
  /// There were too many redirects.
  case tooManyRedirects
  /// The server answered with this HTTP status.
  case status(Int)
  /// The body is larger than the limit in bytes, by its header or by the received bytes.
  case tooLarge(limit: Int)
  /// An equal request failed recently and was not repeated. `isTransient` tells whether a later attempt may succeed.
  case failedBefore(String, isTransient: Bool = false)
  /// The certificate of the server is not valid or not trusted, or its key is not a pinned one.
  case untrusted(String)
  /// The file of a `file:` URL cannot be read.
  case unreadable(String)
  /// The picture is not stored, and the request forbids the network.
  case notCached

  /// Whether a later attempt may succeed.
  var isTransient: Bool {
    switch self {
    case .unreachable, .interrupted, .timedOut: true
    case .status(let status): status == 408 || status == 425 || status == 429 || (500...599).contains(status)
    case .failedBefore(_, let isTransient): isTransient
    case .invalidURL, .tooManyRedirects, .tooLarge, .untrusted, .unreadable, .notCached: false
    }
  }
}

extension LoadError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .invalidURL(let url): "'\(url)' is not a URL that can be loaded"
    case .unreachable(let reason): "the server cannot be reached: \(reason)"
    case .interrupted(let reason): "the load was interrupted: \(reason)"
    case .timedOut: "the server exceeded the time limit"
    case .tooManyRedirects: "the server redirected too many times"
    case .status(let status): "the server answered \(status)"
    case .tooLarge(let limit): "the body has more than \(limit) bytes"
    case .failedBefore(let reason, _): "the same request failed recently: \(reason)"
    case .untrusted(let reason): "the server's certificate is not accepted: \(reason)"
    case .unreadable(let reason): "the file cannot be read: \(reason)"
    case .notCached: "not stored, and the request forbids the network"
    }
  }
}
