/// A failure of shared work, with the load that failed. A key may have several URLs and headers, such as those of
/// signatures that expire, so it is not the failure of each request that has joined.
struct FailedLoad: Error {
  let load: LoadRequest
  let error: LoadError

  /// Runs work for a request, and adds its load to a failure.
  static func noting<Value>(_ request: PictureRequest, _ work: () async throws -> Value) async throws -> Value {
    do {
      return try await work()
    } catch let error as LoadError {
      throw FailedLoad(load: LoadRequest(request), error: error)
    }
  }

  /// Whether the failure is also that of a request that has joined the work. A request that must ask the network does
  /// not share a failure that was only remembered.
  func concerns(_ request: PictureRequest) -> Bool {
    if load != LoadRequest(request) { return false }
    if case .failedBefore = error { return request.mayShowKept }
    return true
  }
}

extension LoadRequest {
  init(_ request: PictureRequest) { self.init(url: request.url, headers: request.headers) }
}
