import Foundation

/// Brings the bytes behind a URL. ``URLSessionLoader`` does it by HTTP; an app may bring them from elsewhere.
public protocol DataLoading: Sendable {
  /// Tells `receiver` of the response and then of its bytes, piece by piece, from any thread but one at a time, and returns
  /// when all have come. Ends early, with what it throws, when the receiver throws or the task is cancelled. Throws
  /// ``LoadError`` for what goes wrong on the way.
  func load(_ request: LoadRequest, _ receiver: any LoadReceiving) async throws
}

/// A request for the bytes behind a URL.
public struct LoadRequest: Sendable, Hashable {
  /// The URL as text. The loader parses it.
  public var url: String
  /// Headers to send, by name.
  public var headers: [String: String]

  /// Makes a request. The loader checks the URL.
  public init(url: String, headers: [String: String] = [:]) {
    self.url = url
    self.headers = headers
  }

  /// By the URL's bytes.
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
  /// Of HTTP; 200 where there is no such thing.
  public var status: Int
  /// Headers of the response, by name.
  public var headers: [String: String]
  /// Bytes that are to come, if that is known.
  public var expectedByteCount: Int?

  /// Makes a response.
  public init(status: Int = 200, headers: [String: String] = [:], expectedByteCount: Int? = nil) {
    self.status = status
    self.headers = headers
    self.expectedByteCount = expectedByteCount
  }

  /// A header by its name in any case.
  func header(_ name: String) -> String? {
    headers[name] ?? headers.first { $0.key.lowercased() == name.lowercased() }?.value
  }
}

/// What takes a response.
public protocol LoadReceiving: Sendable {
  /// Takes the head, once and before all bytes. An error ends the load.
  func begin(_ response: LoadResponse) throws
  /// Takes the next bytes, in order. An error ends the load.
  func receive(_ bytes: Data) throws
}

/// Why there are no bytes.
public enum LoadError: Error, Sendable, Hashable {
  /// What is asked for is no URL that is loaded here.
  case invalidURL(String)
  /// No network, no such host, nobody who answers there.
  case unreachable(String)
  /// It began and broke off.
  case interrupted(String)
  /// The server took longer than the loader waits.
  case timedOut
  /// The redirects did not end.
  case tooManyRedirects
  /// The server says no.
  case status(Int)
  /// More bytes than are wanted, by what the server says or by what came.
  case tooLarge(limit: Int)
  /// Asked for lately, and it failed then. `isTransient`: in a way that may be better soon.
  case failedBefore(String, isTransient: Bool = false)
  /// Nothing is kept, and the request forbids the network.
  case notCached

  /// Whether the same may go well a moment later.
  var isTransient: Bool {
    switch self {
    case .unreachable, .interrupted, .timedOut: true
    case .status(let status): status == 408 || status == 425 || status == 429 || (500...599).contains(status)
    case .failedBefore(_, let isTransient): isTransient
    case .invalidURL, .tooManyRedirects, .tooLarge, .notCached: false
    }
  }
}

extension LoadError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .invalidURL(let url): "'\(url)' is no URL that can be loaded"
    case .unreachable(let reason): "the server cannot be reached: \(reason)"
    case .interrupted(let reason): "the connection broke off: \(reason)"
    case .timedOut: "the server took too long"
    case .tooManyRedirects: "the server sends from one place to the next without end"
    case .status(let status): "the server answered \(status)"
    case .tooLarge(let limit): "more than \(limit) bytes"
    case .failedBefore(let reason, _): "failed a moment ago: \(reason)"
    case .notCached: "not kept, and the network is not asked"
    }
  }
}
