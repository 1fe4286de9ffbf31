import Foundation

/// Fetches whole bodies: tries again with growing pauses what may go well a moment later, goes on where a connection broke
/// off, keeps to a size, and remembers for a while what failed, so that a dead URL is not asked for by every cell of a list.
///
/// Safe from any thread. Holds one body in memory for each fetch that is under way, and what has come of some that were given
/// up.
final class HTTPFetcher: Sendable {
  struct Options: Sendable {
    /// The first try counts.
    var attemptCount = 3
    /// Before the second try; doubled for each further one, and up to a half longer by chance.
    var pauseMilliseconds = 300
    var mostBytes = 64 << 20
    /// For how long a failure is remembered: what the server denies, and what may be better soon.
    var denialMilliseconds: Int64 = 60_000
    var failureMilliseconds: Int64 = 5_000
    /// Of bodies that broke off or were cancelled, to be gone on from by who asks next.
    var partial = MemoryLimits(cost: 8 << 20, count: 32)
  }

  struct Fetched: Sendable {
    /// Nil where the server says that what is kept is still good.
    var body: [UInt8]?
    var headers: [String: String]
    /// Over all tries and redirects that came back here.
    var requestCount: Int
    var receivedByteCount: Int
  }

  private let loader: any DataLoading
  private let options: Options
  private let failures: MemoryCache<LoadRequest, Failure>
  private let partials: MemoryCache<LoadRequest, PartialBody>
  private let now: @Sendable () -> Int64

  private struct Failure: Sendable {
    let reason: String
    let isTransient: Bool
    let until: Int64
  }

  init(
    _ loader: any DataLoading, _ options: Options = Options(),
    now: @escaping @Sendable () -> Int64 = MemoryCache<LoadRequest, Int>.uptime
  ) {
    self.loader = loader
    self.options = options
    self.now = now
    failures = MemoryCache(limits: .init(count: 10_000), now: now)
    partials = MemoryCache(limits: options.partial, now: now)
  }

  /// `conditions`: headers under which the server may say that nothing has changed. `forgets` asks although it failed a
  /// moment ago. `places`: taken for each try. Throws ``LoadError``, `CancellationError`, and what the loader throws besides.
  func fetch(
    _ request: LoadRequest, conditions: [String: String] = [:], forgets: Bool = false,
    in places: DownloadPlaces? = nil
  ) async throws -> Fetched {
    if !forgets, let failure = failures[request], now() < failure.until {
      throw LoadError.failedBefore(failure.reason, isTransient: failure.isTransient)
    }
    var transfer = Transfer(mostBytes: options.mostBytes, partial: partials.remove(request))
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
        if error.isTransient, attempt < options.attemptCount {
          if transfer.partial == nil { places?.leaveBody() }
          try await pause(behind: attempt)
          continue
        }
        isGivenUp = error.isTransient
        let milliseconds = error.isTransient ? options.failureMilliseconds : options.denialMilliseconds
        failures.insert(
          Failure(reason: "\(error)", isTransient: error.isTransient, until: now() + milliseconds), for: request)
        throw error
      }
    }
  }

  /// Bytes held of bodies that were given up.
  var partialByteCount: Int { partials.totalCost }

  /// Lets go of what has come of bodies that were given up, down to a share of it.
  func trim(toShare share: Double) { partials.trim(toCostShare: share) }

  /// Remembers that what came is of no use, as if the server had denied it.
  func remember(_ request: LoadRequest, _ reason: String) {
    let until = now() + options.denialMilliseconds
    failures.insert(Failure(reason: reason, isTransient: false, until: until), for: request)
  }

  private func pause(behind attempt: Int) async throws {
    let milliseconds = options.pauseMilliseconds << min(attempt - 1, 10)
    let chance = milliseconds > 1 ? Int.random(in: 0...milliseconds / 2) : 0
    try await Task.sleep(nanoseconds: UInt64(milliseconds + chance) * 1_000_000)
  }
}
