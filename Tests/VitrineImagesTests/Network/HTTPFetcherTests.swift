import Foundation
import Testing

@testable import VitrineImages

@Suite struct HTTPFetcherTests {
  static let body = LoaderTests.body

  private func fetcher(attempts: Int = 3, most: Int = 1 << 20) -> HTTPFetcher {
    HTTPFetcher(
      HTTPLoader(timeoutSeconds: 3600),
      HTTPFetcher.Options(attemptCount: attempts, pauseMilliseconds: 1, mostBytes: most))
  }

  @Test func bodyIsReceivedWhole() async throws {
    let server = try TestServer { _ in .init(headers: ["Last-Modified": "x"], body: Self.body) }
    let fetched = try await fetcher().fetch(LoadRequest(url: server.url("/")))
    #expect(fetched.body == Self.body && fetched.requestCount == 1 && fetched.receivedByteCount == Self.body.count)
  }

  @Test func notModifiedResponseHasNoBody() async throws {
    let server = try TestServer { request in
      request.headers["if-none-match"] == "\"a\"" ? .status(304, ["Cache-Control": "max-age=5"]) : .init(body: [1])
    }
    let fetched = try await fetcher().fetch(
      LoadRequest(url: server.url("/")), conditions: ["If-None-Match": "\"a\""])
    #expect(fetched.body == nil && fetched.headers["Cache-Control"] == "max-age=5")
    // The request has no condition, so 304 is an error.
    let rude = try TestServer { _ in .status(304) }
    await #expect(throws: LoadError.status(304)) { try await fetcher().fetch(LoadRequest(url: rude.url("/"))) }
  }

  @Test func transientErrorIsRetried() async throws {
    let count = Locked(0)
    let server = try TestServer { _ in
      count.withLock { $0 += 1 }
      return count.withLock { $0 } < 3 ? .status(503) : .init(body: [7])
    }
    let fetched = try await fetcher().fetch(LoadRequest(url: server.url("/")))
    #expect(fetched.body == [7] && fetched.requestCount == 3)
    await #expect(throws: LoadError.status(503)) {
      count.withLock { $0 = 0 }
      return try await fetcher(attempts: 2).fetch(LoadRequest(url: server.url("/")))
    }
  }

  @Test func interruptedBodyIsResumed() async throws {
    let server = try TestServer { request in
      guard let range = request.headers["range"], let start = Int(range.dropFirst(6).dropLast()) else {
        return .init(headers: ["ETag": "\"v1\""], body: Self.body, cut: 40_000)
      }
      #expect(request.headers["if-range"] == "\"v1\"")
      return .init(
        status: 206,
        headers: [
          "ETag": "\"v1\"", "Content-Range": "bytes \(start)-\(Self.body.count - 1)/\(Self.body.count)",
        ], body: Array(Self.body[start...]), cut: start < 70_000 ? 35_000 : nil)
    }
    let fetched = try await fetcher().fetch(LoadRequest(url: server.url("/")))
    #expect(fetched.body == Self.body && fetched.requestCount == 3)
    #expect(fetched.receivedByteCount == Self.body.count)
  }

  @Test func changedBodyIsDownloadedFromItsBeginning() async throws {
    let other = Array(Self.body.reversed())
    let count = Locked(0)
    let server = try TestServer { request in
      count.withLock { $0 += 1 }
      return count.withLock { $0 } == 1
        ? .init(headers: ["ETag": "\"v1\""], body: Self.body, cut: 40_000)
        : .init(headers: ["ETag": "\"v2\""], body: other)
    }
    #expect(try await fetcher().fetch(LoadRequest(url: server.url("/"))).body == other)
  }

  @Test func bodyWithAWeakTagIsNotResumed() async throws {
    let server = try TestServer { request in
      #expect(request.headers["range"] == nil)
      return .init(headers: ["ETag": "W/\"v\""], body: Self.body, cut: 1000)
    }
    await #expect { try await fetcher().fetch(LoadRequest(url: server.url("/"))) } throws: {
      if case .interrupted? = $0 as? LoadError { true } else { false }
    }
    #expect(server.requests.count == 3)
  }

  @Test func unrequestedPartialResponseIsAnError() async throws {
    let server = try TestServer { request in
      .init(status: 206, headers: ["Content-Range": "bytes 5-9/10", "ETag": "\"v\""], body: [1, 2, 3, 4, 5])
    }
    await #expect(throws: LoadError.self) { try await fetcher().fetch(LoadRequest(url: server.url("/"))) }
    let whole = try TestServer { _ in .init(body: Self.body, declaredByteCount: -1) }
    #expect(try await fetcher().fetch(LoadRequest(url: whole.url("/"))).body == Self.body)
  }

  @Test func bodyAboveTheSizeLimitIsAnError() async throws {
    let server = try TestServer { request in
      .init(body: Self.body, declaredByteCount: request.path == "/silent" ? -1 : nil)
    }
    for path in ["/", "/silent"] {
      await #expect(throws: LoadError.tooLarge(limit: 50_000)) {
        try await fetcher(most: 50_000).fetch(LoadRequest(url: server.url(path)))
      }
    }
    #expect(server.requests.count == 2)
  }

  @Test func failureIsRememberedForAMinute() async throws {
    let server = try TestServer { _ in .status(404) }
    let time = Locked<Int64>(0)
    let fetcher = HTTPFetcher(HTTPLoader(), HTTPFetcher.Options(pauseMilliseconds: 1)) { time.withLock { $0 } }
    let request = LoadRequest(url: server.url("/"))
    await #expect(throws: LoadError.status(404)) { try await fetcher.fetch(request) }
    await #expect(throws: LoadError.failedBefore("the server answered 404")) { try await fetcher.fetch(request) }
    #expect(server.requests.count == 1)
    await #expect(throws: LoadError.status(404)) { try await fetcher.fetch(request, forgets: true) }
    time.withLock { $0 = 60_000 }
    await #expect(throws: LoadError.status(404)) { try await fetcher.fetch(request) }
    #expect(server.requests.count == 3)
  }
}

extension HTTPFetcher.Fetched {
  var headers: [String: String] { response.headers }
}
