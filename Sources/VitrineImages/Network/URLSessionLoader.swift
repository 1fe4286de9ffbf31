import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Loads by HTTP, with a session of its own that keeps nothing: what is kept, and for how long, is the store's matter.
///
/// Only `http:` and `https:` are loaded, also behind redirects. Headers of a request go to the server that it names; to one
/// that it redirects to only those that say what is wanted, no others: they may be secrets.
///
/// On Linux, the toolchain's URLSession (seen with Swift 6.3.1) ends the process over some answers, which nothing here can
/// prevent: a connection that ends within the head, a zero byte in the head, a trailer behind chunks, a length of almost
/// 2^63. Whoever loads from servers that may be hostile brings a ``DataLoading`` of their own there.
///
/// Safe from any thread. A load costs a task of the session; its bytes are passed on as they come.
public final class URLSessionLoader: DataLoading {
  private let session: URLSession
  private let loads: Loads
  private let mostSeconds: Double
  /// Not a task: those wait while others, such as decoding, have all of their threads.
  private let timer = DispatchQueue(label: "vitrine.loader.timer")

  /// `timeoutSeconds`: without a byte, in whole seconds, and 1 at least; `mostSeconds`: for all of them, however they trickle
  /// in. `connectionsPerHost`: at once. The default is what a pipeline's defaults come to, 6 loads and 2 that are preheated:
  /// with fewer, requests would wait behind preheating for a connection.
  public init(timeoutSeconds: Double = 30, mostSeconds: Double = 300, connectionsPerHost: Int = 8) {
    self.mostSeconds = min(max(mostSeconds, 0), 1e9)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.httpCookieStorage = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    // Linux' session takes less than a second for none at all.
    configuration.timeoutIntervalForRequest = max(1, timeoutSeconds)
    configuration.httpMaximumConnectionsPerHost = connectionsPerHost
    loads = Loads()
    session = URLSession(configuration: configuration, delegate: loads, delegateQueue: nil)
  }

  deinit { session.invalidateAndCancel() }

  var connectionsPerHost: Int { session.configuration.httpMaximumConnectionsPerHost }

  /// Loads by HTTP. Throws ``LoadError``, `CancellationError`, and the errors of the receiver.
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
        // The cancellation may have come before: then nobody has heard of it.
        if Task.isCancelled { loads.end(task, nil) }
        task.resume()
      }
    } onCancel: {
      loads.end(task, nil)
    }
  }
}

/// What is under way, by task. Calls come one at a time, on the session's own queue.
private final class Loads: NSObject, URLSessionDataDelegate {
  struct Load {
    let receiver: any LoadReceiving
    let continuation: CheckedContinuation<Void, any Error>
    /// What the receiver threw.
    var failure: (any Error)?
    var hasEnded = false
  }

  private let loads = Locked<[Int: Load]>([:])

  func add(_ task: URLSessionTask, _ load: Load) { loads.withLock { $0[task.taskIdentifier] = load } }

  /// Passes something on; an error ends the load.
  private func pass(_ task: URLSessionTask, _ body: (any LoadReceiving) throws -> Void) {
    guard let load = loads.withLock({ $0[task.taskIdentifier] }), !load.hasEnded else { return }
    do {
      try body(load.receiver)
    } catch {
      end(task, error)
    }
  }

  /// The first reason counts; nil for that it was cancelled. Nothing for a load that has not been added: its session would
  /// tell of an end that nobody waits for yet, and never again.
  ///
  /// With the lock held, as redirects are followed: Linux' session traps when it hears of a redirect behind a cancellation.
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

  /// What an app sends along is meant for the server that it names, and may be a secret: elsewhere only these go.
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
    loads.withLock { loads in
      // One that has ended meanwhile waits for no answer.
      if loads[task.taskIdentifier]?.hasEnded == false { completionHandler(request) }
    }
  }

  /// Nobody here knows a password: the answer that asks for one is the answer. Whom to trust is the system's matter.
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
    var headers: [String: String] = [:]
    let http = response as? HTTPURLResponse
    for case (let name as String, let value as String) in http?.allHeaderFields ?? [:] { headers[name] = value }
    let expected = response.expectedContentLength
    pass(dataTask) {
      try $0.begin(
        LoadResponse(
          status: http?.statusCode ?? 200, headers: headers,
          expectedByteCount: expected >= 0 ? Int(clamping: expected) : nil))
    }
    completionHandler(.allow)
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
    // Also `unsupportedURL`, which on Linux says that the server does not speak HTTP.
    case .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet: LoadError.unreachable(text)
    default: LoadError.interrupted(text)
    }
  }
}
