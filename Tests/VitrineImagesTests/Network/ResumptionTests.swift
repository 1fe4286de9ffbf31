import Foundation
import Testing

@testable import VitrineImages

/// Answers to a request for the rest of a body that broke off after 40,000 of 100,000 bytes.
@Suite struct ResumptionTests {
  static let body = LoaderTests.body

  /// The first answer breaks off. `second` answers the request for the rest. Later answers are complete, or the
  /// requested part.
  private func fetch(
    _ headers: [String: String] = ["ETag": "\"v1\""], _ second: @escaping @Sendable (Int) -> TestServer.Response
  ) async throws -> (fetched: HTTPFetcher.Fetched, requests: [TestServer.Request]) {
    let count = Locked(0)
    let server = try TestServer { request in
      let number = count.withLock { count in
        count += 1
        return count
      }
      let start = request.headers["range"].flatMap { Int($0.dropFirst(6).dropLast()) }
      if number == 1 { return .init(headers: headers, body: Self.body, cut: 40_000) }
      if number == 2 { return second(start ?? -1) }
      return start.map { Self.part($0, Self.body.count - 1) } ?? .init(headers: headers, body: Self.body)
    }
    let fetcher = HTTPFetcher(HTTPLoader(timeoutSeconds: 3600), .init(attemptCount: 3, pauseMilliseconds: 1))
    return (try await fetcher.fetch(LoadRequest(url: server.url("/"))), server.requests)
  }

  private static func part(
    _ first: Int, _ last: Int, total: String = "100000", tag: String? = "\"v1\""
  ) -> TestServer.Response {
    var headers = ["Content-Range": "bytes \(first)-\(last)/\(total)"]
    headers["ETag"] = tag
    return .init(status: 206, headers: headers, body: Array(body[first...last]))
  }

  @Test func restOfABodyIsRequestedAndAppended() async throws {
    let (fetched, requests) = try await fetch { Self.part($0, 99_999) }
    #expect(fetched.body == Self.body && fetched.receivedByteCount == Self.body.count && requests.count == 2)
    #expect(requests[0].headers["range"] == nil && requests[0].headers["if-range"] == nil)
    #expect(requests[1].headers["range"] == "bytes=40000-" && requests[1].headers["if-range"] == "\"v1\"")
    #expect(try await fetch { Self.part($0, 99_999, total: "*") }.fetched.body == Self.body)
  }

  @Test func partShorterThanTheRestIsResumedAgain() async throws {
    for total in ["100000", "*"] {
      let (fetched, requests) = try await fetch { Self.part($0, 69_999, total: total) }
      #expect(fetched.body == Self.body && requests.count == 3)
      #expect(requests[2].headers["range"] == "bytes=70000-")
    }
  }

  @Test(arguments: [
    "another part", "another part, and says so of the one asked for", "another tag", "a weak tag", "no tag",
    "another size", "no range", "two parts", "nothing to be had", "packed",
  ])
  func mismatchedPartIsNotAppended(_ what: String) async throws {
    let (fetched, requests) = try await fetch { start in
      switch what {
      case "another part": return Self.part(30_000, 99_999)
      case "another part, and says so of the one asked for":
        // More bytes than the range that the header names.
        var answer = Self.part(30_000, 99_999)
        answer.headers["Content-Range"] = "bytes \(start)-99999/100000"
        return answer
      case "another tag": return Self.part(start, 99_999, tag: "\"v2\"")
      case "a weak tag": return Self.part(start, 99_999, tag: "W/\"v1\"")
      case "no tag": return Self.part(start, 99_999, tag: nil)
      case "another size": return Self.part(start, 99_999, total: "100001")
      case "no range":
        return .init(status: 206, headers: ["ETag": "\"v1\""], body: Array(Self.body[start...]))
      case "two parts":
        return .init(
          status: 206, headers: ["ETag": "\"v1\"", "Content-Type": "multipart/byteranges; boundary=x"],
          body: Array("--x\r\n\r\n1\r\n--x--".utf8))
      case "packed":
        var answer = Self.part(start, 99_999)
        answer.headers["Content-Encoding"] = "gzip"
        answer.body = GZipFile.packed(answer.body)
        return answer
      default: return .status(416, ["Content-Range": "bytes */100000"])
      }
    }
    #expect(fetched.body == Self.body && requests.count == 3)
    #expect(requests[2].headers["range"] == nil && requests[2].headers["if-range"] == nil)
  }

  @Test func responseThatIgnoresTheRangeReplacesTheBody() async throws {
    let other = Array(Self.body.reversed())
    let (fetched, requests) = try await fetch { _ in .init(headers: ["ETag": "\"v2\""], body: other) }
    #expect(fetched.body == other && requests.count == 2)
    // The new body breaks off too. The next request continues it by its own tag.
    let tag = Locked<String?>(nil)
    let server = try TestServer { request in
      switch request.headers["if-range"] {
      case nil: return .init(headers: ["ETag": "\"v1\""], body: Self.body, cut: 40_000)
      case "\"v1\"": return .init(headers: ["ETag": "\"v2\""], body: other, cut: 50_000)
      case let name:
        tag.withLock { $0 = name }
        return .init(
          status: 206, headers: ["ETag": "\"v2\"", "Content-Range": "bytes 50000-99999/100000"],
          body: Array(other[50_000...]))
      }
    }
    let fetcher = HTTPFetcher(HTTPLoader(), .init(attemptCount: 3, pauseMilliseconds: 1))
    #expect(try await fetcher.fetch(LoadRequest(url: server.url("/"))).body == other)
    #expect(tag.withLock { $0 } == "\"v2\"")
  }

  @Test func bodyWithOnlyADateIsNotResumed() async throws {
    let (fetched, requests) = try await fetch(["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"]) { _ in
      .init(body: Self.body)
    }
    #expect(fetched.body == Self.body && requests.count == 2 && requests[1].headers["range"] == nil)
  }

  @Test func sizeLimitIncludesTheResumedBeginning() async throws {
    let server = try TestServer { request in
      request.headers["range"] == nil
        ? .init(headers: ["ETag": "\"v1\""], body: Self.body, declaredByteCount: -1, cut: 40_000)
        : Self.part(40_000, 99_999)
    }
    // Without a length, only a chunked body shows that it broke off.
    let chunked = try TestServer { request in
      if request.headers["range"] != nil { return Self.part(40_000, 99_999) }
      var answer = TestServer.Response.chunked(Array(Self.body[..<40_000]), of: 10_000, isCut: true)
      answer.raw?.insert(contentsOf: "ETag: \"v1\"\r\n".utf8, at: "HTTP/1.1 200 OK\r\n".utf8.count)
      return answer
    }
    func fetcher(_ most: Int) -> HTTPFetcher {
      HTTPFetcher(HTTPLoader(), .init(attemptCount: 3, pauseMilliseconds: 1, mostBytes: most))
    }
    #expect(try await fetcher(100_000).fetch(LoadRequest(url: chunked.url("/"))).body == Self.body)
    await #expect(throws: LoadError.tooLarge(limit: 99_999)) {
      try await fetcher(99_999).fetch(LoadRequest(url: chunked.url("/")))
    }
    #expect(try await fetcher(100_000).fetch(LoadRequest(url: server.url("/"))).body == Array(Self.body[..<40_000]))
  }
}
