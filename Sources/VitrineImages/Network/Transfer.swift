import Foundation

/// One body on its way, over as many tries as it takes. Where a try broke off and the server has said how to tell the
/// body from a later one, the next asks for the rest (RFC 9110, 13.1.5 and 14).
struct Transfer {
  private let mostBytes: Int
  private var requestCount = 0
  private var receivedByteCount = 0
  /// Of the tries before, and what is left when it is given up.
  private(set) var partial: PartialBody?

  /// `partial`: of an earlier one of the same request.
  init(mostBytes: Int, partial: PartialBody? = nil) {
    self.mostBytes = mostBytes
    self.partial = partial
  }

  mutating func run(
    _ request: LoadRequest, _ conditions: [String: String], _ loader: any DataLoading
  ) async throws -> HTTPFetcher.Fetched {
    var asked = request
    let rest = partial
    if let rest {
      asked.headers["Range"] = "bytes=\(rest.bytes.count)-"
      asked.headers["If-Range"] = rest.validator
    } else {
      asked.headers.merge(conditions) { _, condition in condition }
    }
    let receiver = BodyReceiver(mostBytes: mostBytes, partial: rest)
    requestCount += 1
    do {
      try await loader.load(asked, receiver)
    } catch {
      note(receiver)
      throw error
    }
    note(receiver)
    let result = receiver.result
    guard let response = result.response else { throw LoadError.interrupted("no answer came") }
    switch response.status {
    case 304 where !conditions.isEmpty && rest == nil: break
    case 200, 203,
      206 where result.isContinued:
      if let expected = response.expectedByteCount, result.receivedByteCount < expected, !response.isEncoded {
        throw LoadError.interrupted("\(result.receivedByteCount) of \(expected) bytes came")
      }
      if result.isContinued, let total = result.total, result.bytes.count != total {
        // Less than all of the rest may come, and is gone on from; more cannot be told apart.
        if result.bytes.count > total { partial = nil }
        throw LoadError.interrupted("\(result.bytes.count) of \(total) bytes came")
      }
      partial = nil
    case 206, 416:
      // Not what was asked for: then all of it, the next time.
      partial = nil
      throw LoadError.interrupted("the server sent another part than was asked for")
    default:
      partial = nil
      throw LoadError.status(response.status)
    }
    return HTTPFetcher.Fetched(
      body: response.status == 304 ? nil : result.bytes, headers: response.headers, requestCount: requestCount,
      receivedByteCount: receivedByteCount)
  }

  /// What has come may be gone on from, if its server names it and has sent it as it is.
  private mutating func note(_ receiver: BodyReceiver) {
    let result = receiver.result
    receivedByteCount += result.receivedByteCount
    guard let response = result.response, response.status == 200 || result.isContinued,
      !response.isEncoded, !result.bytes.isEmpty, let validator = response.strongValidator
    else { return }
    partial = PartialBody(bytes: result.bytes, validator: validator, total: result.total)
  }
}

/// The beginning of a body, and what tells whether more bytes are of the same.
struct PartialBody: Sendable {
  let bytes: [UInt8]
  let validator: String
  /// Bytes of the whole, if the server has said.
  let total: Int?

  /// Whether a response is what follows: of the same name and size (RFC 9110, 15.3.7), and from the right place.
  fileprivate func continues(_ response: LoadResponse) -> ContentRange? {
    guard response.status == 206, !response.isEncoded, response.strongValidator == validator,
      let range = response.header("Content-Range").flatMap(ContentRange.init), range.first == bytes.count,
      total == nil || range.total == nil || range.total == total
    else { return nil }
    return range
  }
}

extension LoadResponse {
  /// What a range of the same bytes can be asked for by. A date would do too, but says too little of a picture that was
  /// replaced within its second.
  fileprivate var strongValidator: String? { header("ETag").flatMap { $0.hasPrefix("W/") ? nil : $0 } }

  /// Bytes that are unpacked on the way: lengths and ranges count the packed ones.
  fileprivate var isEncoded: Bool { header("Content-Encoding").map { $0.lowercased() != "identity" } ?? false }
}

/// Gathers a body.
private final class BodyReceiver: LoadReceiving {
  struct Result {
    var response: LoadResponse?
    var bytes: [UInt8] = []
    var receivedByteCount = 0
    /// The bytes of the tries before are the beginning.
    var isContinued = false
    /// Bytes of the whole, if the server says.
    var total: Int?
  }

  private let mostBytes: Int
  private let partial: PartialBody?
  private let state = Locked(Result())

  init(mostBytes: Int, partial: PartialBody?) {
    self.mostBytes = mostBytes
    self.partial = partial
  }

  var result: Result { state.withLock { $0 } }

  func begin(_ response: LoadResponse) throws {
    let range = partial?.continues(response)
    let known = range == nil ? [] : partial?.bytes ?? []
    if let expected = response.expectedByteCount, expected > mostBytes - known.count {
      throw LoadError.tooLarge(limit: mostBytes)
    }
    let total = range == nil ? response.isEncoded ? nil : response.expectedByteCount : range?.total ?? partial?.total
    // A redirect may have had a response of its own: this begins anew.
    state.withLock { $0 = Result(response: response, bytes: known, isContinued: range != nil, total: total) }
  }

  func receive(_ bytes: Data) throws {
    let isTooMuch = state.withLock { result in
      result.bytes += bytes
      result.receivedByteCount += bytes.count
      return result.bytes.count > mostBytes
    }
    if isTooMuch { throw LoadError.tooLarge(limit: mostBytes) }
  }
}
