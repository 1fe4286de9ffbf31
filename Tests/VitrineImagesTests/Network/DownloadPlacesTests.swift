import Foundation
import Testing

@testable import VitrineImages

/// A download that waits for its next attempt delays no other download.
@Suite struct DownloadPlacesTests {
  private let loads = LimitedQueue(limit: 1, preheatingLimit: 1)
  private let bodies = LimitedQueue(limit: 2, preheatingLimit: 1)

  /// Waits an hour before the second attempt.
  private func fetcher(_ loader: any ByteLoading) -> HTTPFetcher {
    HTTPFetcher(loader, .init(attemptCount: 2, pauseMilliseconds: 3_600_000))
  }

  private func begin(_ fetcher: HTTPFetcher, _ url: String) -> Task<HTTPFetcher.Fetched, any Error> {
    Task { [loads, bodies] in
      let places = DownloadPlaces(loads: loads, bodies: bodies, Interest(.normal))
      return try await fetcher.fetch(LoadRequest(url: url), in: places)
    }
  }

  @Test func downloadsThatWaitToRetryDelayNoOther() async throws {
    let loader = ScriptedLoader { request in
      if request.url.hasPrefix("dead") { throw LoadError.unreachable("nobody answers") }
      return .init(body: [1])
    }
    let fetcher = fetcher(loader)
    // More downloads than there are places for loads and for bodies.
    let dead = (0..<6).map { begin(fetcher, "dead \($0)") }
    defer { for task in dead { task.cancel() } }
    try await until { loader.requests.count == 6 && loads.runningCount == 0 && bodies.runningCount == 0 }
    try #require(loads.runningCount == 0 && bodies.runningCount == 0)
    #expect(try await begin(fetcher, "alive").value.body == [1])
    for task in dead { task.cancel() }
    for task in dead { await #expect(throws: CancellationError.self) { try await task.value } }
    #expect(loads.runningCount == 0 && bodies.runningCount == 0)
  }

  @Test func partlyReceivedBodyKeepsItsPlace() async throws {
    // Breaks off after the first of two bytes. The rest can be requested.
    struct Breaking: ByteLoading {
      let hasSent = Locked(false)

      func load(_ request: LoadRequest, _ receiver: any LoadReceiving) async throws {
        try receiver.begin(LoadResponse(headers: ["ETag": "\"v\""], expectedByteCount: 2))
        try receiver.receive(Data([1]))
        hasSent.withLock { $0 = true }
        throw LoadError.interrupted("gone")
      }
    }
    let loader = Breaking()
    let task = begin(fetcher(loader), "a")
    try await until { loader.hasSent.withLock { $0 } && loads.runningCount == 0 }
    #expect(bodies.runningCount == 1 && bodies.waitingCount == 0)
    // There is memory for two bodies, so one place is free.
    let place = try await bodies.place(Interest(.normal))
    #expect(bodies.runningCount == 2)
    withExtendedLifetime(place) {}
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func bodyPlaceIsHeldUntilItsReferenceIsReleased() async throws {
    var places: DownloadPlaces? = DownloadPlaces(loads: loads, bodies: bodies, Interest(.normal))
    try await places?.run {}
    try await places?.run {}
    #expect(loads.runningCount == 0 && bodies.runningCount == 1)
    var body = places?.body
    places = nil
    #expect(bodies.runningCount == 1)
    body = nil
    #expect(body == nil && bodies.runningCount == 0)
  }
}
