import Foundation
import Testing

@testable import VitrineImages

@Suite struct RedirectTests {
  private func fetch(
    _ url: String, _ headers: [String: String] = [:], loader: any ByteLoading
  ) async throws -> HTTPFetcher.Fetched {
    try await HTTPFetcher(loader, .init(attemptCount: 1)).fetch(LoadRequest(url: url, headers: headers))
  }

  @Test(arguments: [301, 302, 303, 307, 308], LoaderKind.allCases)
  func everyRedirectStatusIsFollowed(_ status: Int, _ kind: LoaderKind) async throws {
    let loader = kind.loader()
    let server = try TestServer { request in
      request.path == "/a" ? .status(status, ["Location": "b?c=d"]) : .init(body: [1, 2, 3])
    }
    #expect(try await fetch(server.url("/a"), loader: loader).body == [1, 2, 3])
    #expect(server.paths == ["/a", "/b?c=d"])
  }

  @Test(arguments: LoaderKind.allCases)
  func redirectLoopIsAnErrorWithoutARetry(_ kind: LoaderKind) async throws {
    let loader = kind.loader()
    let server = try TestServer { request in
      .status(302, ["Location": request.path == "/a" ? "/b" : "/a"])
    }
    let fetcher = HTTPFetcher(loader, .init(attemptCount: 3, pauseMilliseconds: 1)) { 0 }
    await #expect(throws: LoadError.tooManyRedirects) { try await fetcher.fetch(LoadRequest(url: server.url("/a"))) }
    let count = server.requests.count
    #expect(count < 50)
    await #expect {
      try await fetcher.fetch(LoadRequest(url: server.url("/a")))
    } throws: {
      if case .failedBefore? = $0 as? LoadError { true } else { false }
    }
    #expect(server.requests.count == count)
  }

  @Test(arguments: LoaderKind.allCases)
  func redirectToAnotherServerDropsSecretHeaders(_ kind: LoaderKind) async throws {
    let loader = kind.loader()
    let other = try TestServer { request in .init(body: Array("\(request.path)".utf8)) }
    let elsewhere = other.url("/there")
    let server = try TestServer { request in
      switch request.path {
      case "/away": .status(302, ["Location": elsewhere])
      case "/here": .status(302, ["Location": "/end"])
      default: .init(body: [7])
      }
    }
    let secrets = ["Authorization": "Bearer x", "Cookie": "a=b", "X-Key": "secret", "Accept": "image/png"]
    #expect(try await fetch(server.url("/away"), secrets, loader: loader).body == Array("/there".utf8))
    let told = try #require(other.requests.first).headers
    #expect(told["authorization"] == nil && told["cookie"] == nil && told["x-key"] == nil)
    #expect(told["accept"] == "image/png")
    // A redirect to the same server keeps the headers.
    #expect(try await fetch(server.url("/here"), secrets, loader: loader).body == [7])
    let kept = try #require(server.requests.last).headers
    #expect(kept["authorization"] == "Bearer x" && kept["x-key"] == "secret" && kept["cookie"] == "a=b")
  }

  @Test(
    arguments: [
      "file:///etc/passwd", "ftp://127.0.0.1/a", "data:image/png;base64,AAAA", "http:///a", "javascript:1",
    ], LoaderKind.allCases)
  func onlyRedirectsToHTTPAreFollowed(_ target: String, _ kind: LoaderKind) async throws {
    let loader = kind.loader()
    let server = try TestServer { request in
      request.path == "/start" ? .status(302, ["Location": target]) : .status(404)
    }
    // URLSession on Linux takes some of these targets for a path on the same server.
    await #expect {
      try await fetch(server.url("/start"), loader: loader)
    } throws: { error in
      switch error as? LoadError {
      case .invalidURL?, .status(302)?, .status(404)?: true
      default: false
      }
    }
    #expect(server.requests.count <= 2)
  }

  /// URLSession on Linux traps if it learns of a redirect after a cancellation. The loader prevents that.
  @Test(arguments: LoaderKind.allCases)
  func cancellationDuringRedirectsIsHarmless(_ kind: LoaderKind) async throws {
    let loader = kind.loader()
    let server = try TestServer { _ in .status(302, ["Location": "/a"]) }
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<150 {
        group.addTask {
          let task = Task { try await fetch(server.url("/a"), loader: loader) }
          try? await Task.sleep(nanoseconds: UInt64(number) * 200_000)
          task.cancel()
          await #expect(throws: (any Error).self) { try await task.value }
        }
      }
    }
    // A request to another server still works.
    let other = try TestServer { _ in .init(body: [1]) }
    #expect(try await fetch(other.url("/"), loader: loader).body == [1])
  }

  @Test(arguments: LoaderKind.allCases)
  func redirectWithoutALocationIsAnError(_ kind: LoaderKind) async throws {
    let loader = kind.loader()
    let server = try TestServer { _ in .status(302) }
    await #expect {
      try await fetch(server.url("/"), loader: loader)
    } throws: { error in
      switch error as? LoadError {
      case .status(302)?, .interrupted?: true
      default: false
      }
    }
  }

  @Test(arguments: LoaderKind.allCases)
  func interruptedBodyBehindARedirectIsResumed(_ kind: LoaderKind) async throws {
    let loader = kind.loader()
    let body = LoaderTests.body
    let server = try TestServer { request in
      if request.path == "/a" { return .status(302, ["Location": "/b"]) }
      guard request.headers["range"] == "bytes=40000-" else {
        return .init(headers: ["ETag": "\"v\""], body: body, cut: 40_000)
      }
      return .init(
        status: 206, headers: ["ETag": "\"v\"", "Content-Range": "bytes 40000-99999/100000"],
        body: Array(body[40_000...]))
    }
    let fetcher = HTTPFetcher(loader, .init(attemptCount: 2, pauseMilliseconds: 1))
    #expect(try await fetcher.fetch(LoadRequest(url: server.url("/a"))).body == body)
  }
}
