import Foundation

/// A failure of shared work, with the load that failed. Requests of one key may have different URLs and headers, such
/// as signed URLs that expire. So the failure of one load is not the failure of every request that joined the work.
struct FailedLoad: Error {
  let load: LoadRequest
  /// A `LoadError`, or an `ImageError` of an answer that is no picture.
  let error: any Error

  /// Runs work for a request, and adds its load to a failure.
  static func noting<Value>(_ request: PictureRequest, _ work: () async throws -> Value) async throws -> Value {
    do {
      return try await work()
    } catch let error as LoadError {
      throw FailedLoad(load: LoadRequest(request), error: error)
    } catch let error as ImageError where error.condemnsPicture {
      throw FailedLoad(load: LoadRequest(request), error: error)
    }
  }

  /// Whether a request that joined the work shares the failure. An overloaded or unreachable server fails for all of
  /// its URLs. A request that must ask the network does not share a remembered failure.
  func concerns(_ request: PictureRequest) -> Bool {
    let isSame = load == LoadRequest(request)
    guard let error = error as? LoadError else { return isSame }
    if case .failedBefore = error { return isSame && request.mayShowKept }
    return isSame || error.isTransient && isOfOneServer(load.url, request.url)
  }

  private func isOfOneServer(_ one: String, _ other: String) -> Bool {
    guard let one = URL(string: one), let other = URL(string: other), let host = one.host() else { return false }
    return host == other.host() && one.scheme == other.scheme && one.port == other.port
  }
}

extension LoadRequest {
  init(_ request: PictureRequest) { self.init(url: request.url, headers: request.headers) }
}
