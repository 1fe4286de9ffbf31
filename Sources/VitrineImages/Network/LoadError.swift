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
  /// The settings of the loader forbid this server, or its address.
  case forbidden(String)
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
    case .invalidURL, .tooManyRedirects, .tooLarge, .untrusted, .forbidden, .unreadable, .notCached: false
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
    case .forbidden(let reason): "the server may not be asked: \(reason)"
    case .unreadable(let reason): "the file cannot be read: \(reason)"
    case .notCached: "not stored, and the request forbids the network"
    }
  }
}
