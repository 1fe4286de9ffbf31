import Foundation

/// Fetches whole bodies. Retries transient failures with growing pauses, or after the pause that the server asks for.
/// Resumes broken downloads, and limits the size. Remembers failures for a while, so that the cells of a list do not
/// all request the same dead URL.
///
/// Thread-safe. Holds one body in memory for each fetch under way, and some partial bodies of abandoned fetches.
final class HTTPFetcher: Sendable {
  struct Options: Sendable {
    /// The number of attempts, including the first.
    var attemptCount = 3
    /// The pause before the second attempt. It doubles for each further attempt, and a random part of up to a half is
    /// added.
    var pauseMilliseconds = 300
    /// The longest pause that a server may ask for before the next attempt. After a longer one, the fetch fails.
    var mostPauseMilliseconds: Int64 = 60_000
    var mostBytes = 64 << 20
    /// The times for which failures are remembered: permanent ones, and transient ones.
    var denialMilliseconds: Int64 = 60_000
    var failureMilliseconds: Int64 = 5_000
    /// The limits of remembered failures; the cost is in bytes of text.
    var failures = MemoryLimits(cost: 4 << 20, count: 10_000)
    /// The limits of partial bodies, kept from broken or canceled fetches for the next fetch of the same request.
    var partial = MemoryLimits(cost: 8 << 20, count: 32)
  }

  struct Fetched: Sendable {
    /// The body, or nil if the server declared the stored one valid.
    var body: [UInt8]?
    var response: LoadResponse
    /// The sum over all attempts, without redirects.
    var requestCount: Int
    var receivedByteCount: Int
  }

  private let loader: any ByteLoading
  private let options: Options
  private let failures: MemoryCache<LoadRequest, Failure>
  private let partials: MemoryCache<LoadRequest, PartialBody>
  private let now: @Sendable () -> Int64
  private let sleep: @Sendable (_ milliseconds: Int64) async throws -> Void

  private struct Failure: Sendable {
    let reason: String
    let isTransient: Bool
    let until: Int64
  }

  init(
    _ loader: any ByteLoading, _ options: Options = Options(),
    now: @escaping @Sendable () -> Int64 = MemoryCache<LoadRequest, Int>.uptime,
    sleep: @escaping @Sendable (_ milliseconds: Int64) async throws -> Void = {
      try await Task.sleep(nanoseconds: UInt64(max(0, $0)) * 1_000_000)
    }
  ) {
    self.sleep = sleep
    self.loader = loader
    self.options = options
    self.now = now
    failures = MemoryCache(limits: options.failures, now: now)
    partials = MemoryCache(limits: options.partial, now: now)
  }

  /// Fetches a body.
  ///
  /// - Parameters:
  ///   - conditions: Headers with which the server may answer that nothing has changed.
  ///   - forgets: Whether to ask in spite of a remembered failure.
  ///   - places: The places to take for each attempt.
  ///   - watch: Learns of received bytes, and of a failed attempt before the next one.
  /// - Throws: ``LoadError``, `CancellationError`, and other errors of the loader.
  func fetch(
    _ request: LoadRequest, conditions: [String: String] = [:], forgets: Bool = false,
    in places: DownloadPlaces? = nil, watch: DownloadWatch? = nil
  ) async throws -> Fetched {
    if !forgets, let failure = failures[request], now() < failure.until {
      throw LoadError.failedBefore(failure.reason, isTransient: failure.isTransient)
    }
    var transfer = Transfer(mostBytes: options.mostBytes, partial: partials.remove(request), watch: watch)
    var isGivenUp = true
    defer {
      if isGivenUp, let partial = transfer.partial {
        partials.insert(partial, for: request, cost: partial.bytes.count)
      }
    }
    var attempt = 0
    while true {
      attempt += 1
      do {
        let fetched =
          if let places {
            try await places.run { try await transfer.run(request, conditions, loader) }
          } else {
            try await transfer.run(request, conditions, loader)
          }
        failures.remove(request)
        isGivenUp = false
        return fetched
      } catch let error as LoadError {
        let wanted = error.isTransient ? transfer.pauseMilliseconds ?? 0 : 0
        if error.isTransient, attempt < options.attemptCount, wanted <= options.mostPauseMilliseconds {
          if transfer.partial == nil { places?.leaveBody() }
          watch?.noteFailure()
          try await pause(behind: attempt, atLeast: wanted)
          continue
        }
        isGivenUp = error.isTransient
        let milliseconds = max(wanted, error.isTransient ? options.failureMilliseconds : options.denialMilliseconds)
        note(Failure(reason: "\(error)", isTransient: error.isTransient, until: now() + milliseconds), of: request)
        throw error
      }
    }
  }

  /// The bytes of all partial bodies held.
  var partialByteCount: Int { partials.totalCost }

  /// Releases partial bodies until at most a share of their bytes is held.
  func trim(toShare share: Double) { partials.trim(toCostShare: share) }

  /// Remembers that the body is not usable, as a permanent failure.
  func remember(_ request: LoadRequest, _ reason: String) {
    note(Failure(reason: reason, isTransient: false, until: now() + options.denialMilliseconds), of: request)
  }

  private func note(_ failure: Failure, of request: LoadRequest) {
    let headers = request.headers.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    failures.insert(failure, for: request, cost: request.url.utf8.count + headers + failure.reason.utf8.count)
  }

  private func pause(behind attempt: Int, atLeast wanted: Int64) async throws {
    let milliseconds = options.pauseMilliseconds << min(attempt - 1, 10)
    let chance = milliseconds > 1 ? Int.random(in: 0...milliseconds / 2) : 0
    try await sleep(max(Int64(milliseconds), wanted) + Int64(chance))
  }
}
