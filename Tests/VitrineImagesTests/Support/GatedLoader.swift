import Foundation

@testable import VitrineImages

/// Answers from a table while it is open.
final class GatedLoader: ByteLoading {
  private struct State {
    var bodies: [String: [UInt8]]
    var headers: [String: String] = [:]
    var isOpen: Bool
    var openURLs: Set<String> = []
    var loads: [LoadRequest] = []
    var running = 0
    var mostRunning = 0
    var cancelled = 0
  }

  private let state: Locked<State>

  /// The error of a URL without a body.
  private let failure: LoadError

  init(_ bodies: [String: [UInt8]], isOpen: Bool = true, failure: LoadError = .status(404)) {
    state = Locked(State(bodies: bodies, isOpen: isOpen))
    self.failure = failure
  }

  var loads: [LoadRequest] { state.withLock { $0.loads } }
  var mostRunning: Int { state.withLock { $0.mostRunning } }
  var cancelledCount: Int { state.withLock { $0.cancelled } }

  func open() { state.withLock { $0.isOpen = true } }
  /// Opens one URL, also while the loader is closed.
  func open(_ url: String) { state.withLock { _ = $0.openURLs.insert(url) } }
  func close() { state.withLock { $0.isOpen = false } }
  func set(_ url: String, _ body: [UInt8]?) { state.withLock { $0.bodies[url] = body } }
  func set(headers: [String: String]) { state.withLock { $0.headers = headers } }

  func load(_ request: LoadRequest, _ receiver: any LoadReceiving) async throws {
    state.withLock {
      $0.loads.append(request)
      $0.running += 1
      $0.mostRunning = max($0.mostRunning, $0.running)
    }
    defer { state.withLock { $0.running -= 1 } }
    while !state.withLock({ $0.isOpen || $0.openURLs.contains(request.url) }) {
      if Task.isCancelled {
        state.withLock { $0.cancelled += 1 }
        throw CancellationError()
      }
      try? await Task.sleep(nanoseconds: 300_000)
    }
    let (body, headers) = state.withLock { ($0.bodies[request.url], $0.headers) }
    guard let body else { throw failure }
    if let tag = headers["ETag"], request.headers["If-None-Match"] == tag {
      return try receiver.begin(LoadResponse(status: 304, headers: headers))
    }
    try receiver.begin(LoadResponse(headers: headers, expectedByteCount: body.count))
    try receiver.receive(Data(body))
  }
}
