import Foundation

/// The transfer of one body, over one or more attempts. If an attempt broke off and the server sent a validator, the
/// next attempt requests only the rest (RFC 9110, 13.1.5 and 14).
struct Transfer {
  private let mostBytes: Int
  private var requestCount = 0
  private var receivedByteCount = 0
  /// The part received by the attempts so far, which remains if the transfer is abandoned.
  private(set) var partial: PartialBody?
  /// The pause that the server asked for when it refused the latest attempt.
  private(set) var pauseMilliseconds: Int64?
  private let watch: DownloadWatch?

  /// `partial` is the part from an earlier transfer of the same request.
  init(mostBytes: Int, partial: PartialBody? = nil, watch: DownloadWatch? = nil) {
    self.mostBytes = mostBytes
    self.partial = partial
    self.watch = watch
  }

  mutating func run(
    _ request: LoadRequest, _ conditions: [String: String], _ loader: any ByteLoading
  ) async throws -> HTTPFetcher.Fetched {
    var asked = request
    let rest = partial
    if let rest {
      asked.headers["Range"] = "bytes=\(rest.bytes.count)-"
      asked.headers["If-Range"] = rest.validator
    } else {
      asked.headers.merge(conditions) { _, condition in condition }
    }
    let receiver = BodyReceiver(mostBytes: mostBytes, partial: rest, watch: watch)
    requestCount += 1
    pauseMilliseconds = nil
    do {
      try await loader.load(asked, receiver)
    } catch {
      // A response that does not continue the partial body would fail in the same way each time.
      if rest != nil, receiver.result.response != nil, !receiver.result.isContinued { partial = nil }
      note(receiver)
      throw error
    }
    note(receiver)
    let result = receiver.result
    guard let response = result.response else { throw LoadError.interrupted("no response arrived") }
    switch response.status {
    case 304 where !conditions.isEmpty && rest == nil: break
    case let status where [201, 202, 226].contains(status) && result.bytes.isEmpty:
      partial = nil
      throw LoadError.status(response.status)
    case 200...203, 226,
      206 where result.isContinued:
      if let expected = response.expectedByteCount, result.receivedByteCount < expected, !response.isEncoded {
        throw LoadError.interrupted("\(result.receivedByteCount) of \(expected) bytes arrived")
      }
      if result.isContinued, let total = result.total, result.bytes.count != total {
        // If too few bytes arrived, the next attempt continues. If too many arrived, the excess cannot be told apart.
        if result.bytes.count > total { partial = nil }
        throw LoadError.interrupted("\(result.bytes.count) of \(total) bytes arrived")
      }
      partial = nil
    case 206, 416:
      // The server did not send the requested part, so the next attempt requests the whole body.
      partial = nil
      throw LoadError.interrupted("the server did not send the requested part")
    default:
      partial = nil
      pauseMilliseconds = RetryAfter.milliseconds(response, now: Int64(Date().timeIntervalSince1970))
      throw LoadError.status(response.status)
    }
    return HTTPFetcher.Fetched(
      body: response.status == 304 ? nil : result.bytes, response: response, requestCount: requestCount,
      receivedByteCount: receivedByteCount)
  }

  /// Keeps the received bytes for continuation, if the server sent a validator and no content encoding.
  private mutating func note(_ receiver: BodyReceiver) {
    let result = receiver.result
    receivedByteCount += result.receivedByteCount
    guard let response = result.response, response.status == 200 || result.isContinued,
      !response.isEncoded, !result.bytes.isEmpty, let validator = response.strongValidator
    else { return }
    partial = PartialBody(bytes: result.bytes, validator: validator, total: result.total)
  }
}

/// The beginning of a body, with the validator that identifies its remaining bytes.
struct PartialBody: Sendable {
  let bytes: [UInt8]
  let validator: String
  /// The size of the whole body in bytes, if the server has sent it.
  let total: Int?

  /// Returns the range if a response continues this body: same validator and size (RFC 9110, 15.3.7), from the right
  /// offset.
  fileprivate func continues(_ response: LoadResponse) -> ContentRange? {
    guard response.status == 206, !response.isEncoded, response.strongValidator == validator,
      let range = response.header("Content-Range").flatMap(ContentRange.init), range.first == bytes.count,
      total == nil || range.total == nil || range.total == total
    else { return nil }
    return range
  }
}

extension LoadResponse {
  /// The validator for a range request. A date is not used, because it cannot identify a picture that was replaced
  /// within the same second.
  fileprivate var strongValidator: String? { header("ETag").flatMap { $0.hasPrefix("W/") ? nil : $0 } }

  /// Whether the bytes are decompressed during the load. Lengths and ranges count compressed bytes.
  fileprivate var isEncoded: Bool { header("Content-Encoding").map { $0.lowercased() != "identity" } ?? false }
}

/// Collects the bytes of a body.
private final class BodyReceiver: LoadReceiving {
  struct Result {
    var response: LoadResponse?
    var bytes: [UInt8] = []
    var receivedByteCount = 0
    /// Whether `bytes` begins with the bytes of earlier attempts.
    var isContinued = false
    /// The size of the whole body in bytes, if the server has sent it.
    var total: Int?
    var scans: ProgressiveScans
    var isPicture: Bool { response.map { (200..<300).contains($0.status) } ?? false }
    /// Nil for the body of an error.
    var progress: DownloadProgress? {
      if !isPicture { return nil }
      return DownloadProgress(receivedByteCount: bytes.count, expectedByteCount: total)
    }
  }

  private let mostBytes: Int
  private let partial: PartialBody?
  private let watch: DownloadWatch?
  private let state: Locked<Result>

  init(mostBytes: Int, partial: PartialBody?, watch: DownloadWatch?) {
    self.mostBytes = mostBytes
    self.partial = partial
    self.watch = watch
    state = Locked(Result(scans: ProgressiveScans(mostParts: watch?.mostParts ?? 0)))
  }

  var result: Result { state.withLock { $0 } }

  func begin(_ response: LoadResponse) throws {
    watch?.noteProgress(nil)
    let range = partial?.continues(response)
    let known = range == nil ? [] : partial?.bytes ?? []
    if let expected = response.expectedByteCount, expected > mostBytes - known.count {
      throw LoadError.tooLarge(limit: mostBytes)
    }
    let total = range == nil ? response.isEncoded ? nil : response.expectedByteCount : range?.total ?? partial?.total
    // A redirect may have delivered a response before, so this one starts over.
    state.withLock {
      $0 = Result(
        response: response, bytes: known, isContinued: range != nil, total: total,
        scans: ProgressiveScans(mostParts: watch?.mostParts ?? 0))
    }
    watch?.noteProgress(result.progress)
  }

  func receive(_ bytes: Data) throws {
    let wantsParts = watch?.wantsParts ?? false
    let (isTooMuch, progress, part) = state.withLock { result in
      result.bytes += bytes
      result.receivedByteCount += bytes.count
      let part = wantsParts && result.isPicture ? result.scans.part(of: result.bytes) : nil
      return (result.bytes.count > mostBytes, result.progress, part)
    }
    watch?.noteProgress(progress)
    if let part { watch?.notePart(part) }
    if isTooMuch { throw LoadError.tooLarge(limit: mostBytes) }
  }
}
