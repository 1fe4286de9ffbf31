import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Loads by HTTP, with its own session that caches nothing: caching is the task of the store.
///
/// Loads only `http:` and `https:` URLs, also after redirects. Headers of a request may be secret, so all of them are
/// sent only to the server that the request names. After a redirect to another server, only headers that describe the
/// wanted content are sent.
///
/// On Linux, ``CurlLoader`` is the better choice. The URLSession of the toolchain there (seen with Swift 6.3.1)
/// occupies a processor while a new connection waits. It terminates the process on some responses, and this class
/// cannot prevent that: a connection that ends within the head, a zero byte in the head, a trailer after chunks, a
/// length of almost 2^63.
///
/// Thread-safe. A load costs one task of the session. Its bytes are passed on as they arrive.
public final class URLSessionLoader: ByteLoading {
  private let session: URLSession
  private let loads: Loads
  private let mostSeconds: Double
  /// A dispatch queue and not a task, since tasks wait while decoding or other work occupies all threads of their
  /// pool.
  private let timer = DispatchQueue(label: "vitrine.loader.timer")

  /// Creates a loader.
  ///
  /// - Parameters:
  ///   - timeoutSeconds: The time without a byte after which a load fails, in whole seconds, at least 1.
  ///   - mostSeconds: The time limit of a whole load.
  ///   - connectionsPerHost: The number of concurrent connections to a host. The default fits the defaults of a
  ///     pipeline: 6 loads and 2 preheated ones. With fewer, requests would wait for connections of preheating.
  public init(timeoutSeconds: Double = 30, mostSeconds: Double = 300, connectionsPerHost: Int = 8) {
    self.mostSeconds = min(max(mostSeconds, 0), 1e9)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.httpCookieStorage = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    // On Linux a timeout below 1 s means no timeout.
    configuration.timeoutIntervalForRequest = max(1, timeoutSeconds)
    configuration.httpMaximumConnectionsPerHost = connectionsPerHost
    loads = Loads()
    session = URLSession(configuration: configuration, delegate: loads, delegateQueue: nil)
  }

  deinit { session.invalidateAndCancel() }

  var connectionsPerHost: Int { session.configuration.httpMaximumConnectionsPerHost }

  /// Loads by HTTP. Throws ``LoadError``, `CancellationError`, and errors of the receiver.
  public func load(_ request: LoadRequest, _ receiver: any LoadReceiving) async throws {
    guard let url = URL(string: request.url), Loads.isLoaded(url) else { throw LoadError.invalidURL(request.url) }
    var urlRequest = URLRequest(url: url)
    for (name, value) in request.headers { urlRequest.setValue(value, forHTTPHeaderField: name) }
    let task = session.dataTask(with: urlRequest)
    let end = DispatchWorkItem { [loads] in loads.end(task, LoadError.timedOut) }
    timer.asyncAfter(deadline: .now() + mostSeconds, execute: end)
    defer { end.cancel() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        loads.add(task, Loads.Load(receiver: receiver, continuation: continuation))
        // If the task was canceled before this point, the cancellation handler found no load to end.
        if Task.isCancelled { loads.end(task, nil) }
        task.resume()
      }
    } onCancel: {
      loads.end(task, nil)
    }
  }
}

/// The loads under way, by task. The session calls these methods one at a time, on its own queue.
private final class Loads: NSObject, URLSessionDataDelegate {
  struct Load {
    let receiver: any LoadReceiving
    let continuation: CheckedContinuation<Void, any Error>
    /// The error of the receiver, or another reason for the end.
    var failure: (any Error)?
    var hasEnded = false
    var redirects: [[String: String]] = []
  }

  private let loads = Locked<[Int: Load]>([:])

  func add(_ task: URLSessionTask, _ load: Load) { loads.withLock { $0[task.taskIdentifier] = load } }

  /// Calls the receiver. An error ends the load.
  private func pass(_ task: URLSessionTask, _ body: (any LoadReceiving) throws -> Void) {
    guard let load = loads.withLock({ $0[task.taskIdentifier] }), !load.hasEnded else { return }
    do {
      try body(load.receiver)
    } catch {
      end(task, error)
    }
  }

  /// Ends a load. The first reason counts; nil means cancellation. Does nothing for a load that has not been added:
  /// the session would report its end before there is a continuation to resume.
  ///
  /// Cancels with the lock held, because URLSession on Linux traps if it gets the answer to a redirect after a
  /// cancellation. The same lock is held for these answers.
  func end(_ task: URLSessionTask, _ error: (any Error)?) {
    loads.withLock { loads in
      guard var load = loads[task.taskIdentifier] else { return }
      if !load.hasEnded {
        load.failure = error
        load.hasEnded = true
        loads[task.taskIdentifier] = load
      }
      task.cancel()
    }
  }

  static func isLoaded(_ url: URL) -> Bool {
    ["http", "https"].contains(url.scheme?.lowercased()) && url.host?.isEmpty == false
  }

  /// The headers that may be sent to another server after a redirect. All others may be secrets for the first server.
  private static let harmlessHeaders: Set<String> = [
    "accept", "accept-encoding", "accept-language", "cache-control", "if-modified-since", "if-none-match", "if-range",
    "range", "user-agent",
  ]

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
  ) {
    guard let url = request.url, Loads.isLoaded(url) else {
      return end(task, LoadError.invalidURL(request.url?.absoluteString ?? ""))
    }
    var request = request
    let asked = task.originalRequest?.url
    if asked?.scheme != url.scheme || asked?.host != url.host || asked?.port != url.port {
      for name in (request.allHTTPHeaderFields ?? [:]).keys where !Loads.harmlessHeaders.contains(name.lowercased()) {
        request.setValue(nil, forHTTPHeaderField: name)
      }
    }
    // The date of a condition belongs to the picture that the first address had.
    request.setValue(nil, forHTTPHeaderField: "If-Modified-Since")
    let rules = LoadResponse.rules(ofRedirect: Loads.headers(response))
    loads.withLock { loads in
      // A load that has ended must not answer the redirect.
      guard loads[task.taskIdentifier]?.hasEnded == false else { return }
      loads[task.taskIdentifier]?.redirects.append(rules)
      completionHandler(request)
    }
  }

  /// Handles authentication. There are no passwords here, so the challenge's status is the result. The system decides
  /// about trust in certificates.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    let method = challenge.protectionSpace.authenticationMethod
    if ["NSURLAuthenticationMethodServerTrust", "NSURLAuthenticationMethodClientCertificate"].contains(method) {
      return completionHandler(.performDefaultHandling, nil)
    }
    let status = (challenge.failureResponse as? HTTPURLResponse)?.statusCode ?? 401
    loads.withLock { loads in
      if loads[task.taskIdentifier]?.hasEnded == false {
        loads[task.taskIdentifier]?.failure = LoadError.status(status)
        loads[task.taskIdentifier]?.hasEnded = true
      }
    }
    completionHandler(.cancelAuthenticationChallenge, nil)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    let http = response as? HTTPURLResponse
    let redirects = loads.withLock { $0[dataTask.taskIdentifier]?.redirects ?? [] }
    let expected = response.expectedContentLength
    pass(dataTask) {
      try $0.begin(
        LoadResponse(
          status: http?.statusCode ?? 200, headers: http.map(Loads.headers) ?? [:],
          expectedByteCount: expected >= 0 ? Int(clamping: expected) : nil, redirects: redirects))
    }
    completionHandler(.allow)
  }

  private static func headers(_ response: HTTPURLResponse) -> [String: String] {
    var headers: [String: String] = [:]
    for case (let name as String, let value as String) in response.allHeaderFields { headers[name] = value }
    return headers
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    pass(dataTask) { try $0.receive(data) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    guard let load = loads.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
    if let failure = load.failure {
      load.continuation.resume(throwing: failure)
    } else if let error {
      load.continuation.resume(throwing: Loads.meaning(of: error))
    } else {
      load.continuation.resume()
    }
  }

  private static func meaning(of error: any Error) -> any Error {
    guard let error = error as? URLError else { return LoadError.interrupted("\(error)") }
    let text = error.localizedDescription
    return switch error.code {
    case .cancelled: CancellationError()
    case .timedOut: LoadError.timedOut
    case .httpTooManyRedirects: LoadError.tooManyRedirects
    case .badURL: LoadError.invalidURL(error.failingURL?.absoluteString ?? "")
    // `unsupportedURL` is left to the default case: on Linux it means that the server does not speak HTTP.
    case .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet: LoadError.unreachable(text)
    default: LoadError.interrupted(text)
    }
  }
}
