import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// The rules of answers that do not stand alone: redirects, answers for one user, and answers without a lifetime.
extension HTTPCachingTests {
  private func request(_ server: TestServer, _ headers: [String: String] = [:]) throws -> PictureRequest {
    PictureRequest(server.url("/a"), style: try .rectangle(40, 40, mode: .fit), headers: headers)
  }

  private func isOther(_ response: PictureResponse) -> Bool { response.bitmap.width < response.bitmap.height }

  // MARK: Redirects

  /// The target is fresh for ever, but the redirect points to another one by now.
  @Test(arguments: LoaderKind.allCases) func redirectBoundsTheLifetimeOfItsTarget(_ kind: LoaderKind) async throws {
    for (rule, isAskedAtOnce) in [("no-cache", true), ("no-store", true), ("max-age=60", false)] {
      let target = Locked("/old")
      let server = try TestServer { request in
        let target = target.withLock { $0 }
        if request.path == "/a" { return .status(302, ["Location": target, "Cache-Control": rule]) }
        return .init(
          headers: ["Cache-Control": "max-age=31536000, immutable", "ETag": "\"\(request.path)\""],
          body: request.path == "/old" ? Self.picture : Self.other)
      }
      func image(_ policy: PictureRequest.CachePolicy = .use) async throws -> PictureResponse {
        var request = try request(server)
        request.cachePolicy = policy
        return try await pipeline { $0.loader = kind.loader() }.image(for: request)
      }
      #expect(try await !isOther(image()))
      target.withLock { $0 = "/new" }
      #expect(try await isOther(image()) == isAskedAtOnce, "\(rule)")
      // The redirect is not immutable, although its target is.
      #expect(try await isOther(image(.revalidate)), "\(rule)")
      target.withLock { $0 = "/old" }
      pass(61)
      #expect(try await !isOther(image()), "\(rule)")
    }
  }

  @Test(arguments: LoaderKind.allCases)
  func redirectThatVariesIsFollowedForEachRequest(_ kind: LoaderKind) async throws {
    let server = try TestServer { request in
      if request.path != "/a" { return .init(body: request.path == "/de" ? Self.picture : Self.other) }
      let language = request.headers["accept-language"] ?? "de"
      return .status(302, ["Location": "/\(language)", "Vary": "Accept-Language"])
    }
    for language in ["de", "en", "de"] {
      let response = try await pipeline { $0.loader = kind.loader() }
        .image(for: request(server, ["Accept-Language": language]))
      #expect(isOther(response) == (language == "en"))
    }
    #expect(server.requests.count == 6)
  }

  /// The server compares dates only, and the redirect points to an older picture than before.
  @Test(arguments: LoaderKind.allCases) func dateOfOneTargetDoesNotConfirmAnother(_ kind: LoaderKind) async throws {
    let target = Locked<String?>("/new")
    let server = try TestServer { request in
      let headers = ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Cache-Control": "no-cache"]
      if request.path == "/a", let target = target.withLock({ $0 }) {
        return .status(302, headers.merging(["Location": target]) { $1 })
      }
      if request.path == "/new" { return .init(headers: headers, body: Self.picture) }
      // Every date is late enough for the older picture.
      return request.headers["if-modified-since"] == nil
        ? .init(headers: headers, body: Self.other) : .status(304, headers)
    }
    func image() async throws -> PictureResponse {
      try await pipeline { $0.loader = kind.loader() }.image(for: request(server))
    }
    #expect(try await !isOther(image()))
    target.withLock { $0 = "/old" }
    #expect(try await isOther(image()))
    target.withLock { $0 = "/new" }
    #expect(try await !isOther(image()))
    // The first address has the older picture itself.
    target.withLock { $0 = nil }
    #expect(try await isOther(image()))
    // A date that belongs to the address is sent to it.
    #expect(try await isOther(image()) && server.requests.last?.headers["if-modified-since"] != nil)
  }

  // MARK: Answers for one user

  @Test(arguments: [true, false])
  func answerThatMustNotBeStoredIsOnlyForRequestsWithItsHeaders(isSameStyle: Bool) async throws {
    let isOpen = Locked(false)
    let server = try TestServer { request in
      holdUp { isOpen.withLock { $0 } }
      return .init(
        headers: ["Cache-Control": "no-store"],
        body: request.headers["authorization"] == "b" ? Self.other : Self.picture)
    }
    let pipeline = pipeline()
    let first = try request(server, ["Authorization": "a"])
    let style = isSameStyle ? first.style : try .rectangle(41, 41, mode: .fit)
    let second = PictureRequest(first.url, style: style, headers: ["Authorization": "b"])
    async let own = pipeline.image(for: first)
    try await until { server.requests.count == 1 }
    async let joined = pipeline.image(for: first)
    async let foreign = pipeline.image(for: second)
    let work = pipeline.pictures
    try await until { isSameStyle ? work.joined.waiterCount == 3 : work.originals.joined.waiterCount == 2 }
    isOpen.withLock { $0 = true }
    #expect(try await [own, joined, foreign].map { isOther($0) } == [false, false, true])
    #expect(server.requests.count == 2)
  }

  @Test func notModifiedAnswerMayForbidToKeepThePicture() async throws {
    for keepsOriginals in [true, false] {
      let isForbidden = Locked(false)
      let server = try TestServer { request in
        let words = isForbidden.withLock { $0 } ? "no-store" : "max-age=60"
        let headers = ["ETag": "\"v\"", "Cache-Control": words]
        if request.headers["if-none-match"] == "\"v\"" { return .status(304, headers) }
        return .init(headers: headers, body: Self.picture)
      }
      let request = try request(server)
      func image() async throws -> PictureResponse {
        try await pipeline { $0.keeps = keepsOriginals ? .both : .styled }.image(for: request)
      }
      _ = try await image()
      isForbidden.withLock { $0 = true }
      pass(61)
      #expect(try await !isOther(image()))
      #expect(!store.contains(request.url) && !store.contains(request.url, style: request.style.key))
      #expect(try await image().requestCount == 1)
    }
  }

  // MARK: Lifetimes

  /// A picture that is being made gets an answer 202 until it is ready.
  @Test func provisionalAnswerIsNotKeptForEver() async throws {
    for (status, isAsked) in [(200, false), (201, true), (202, true), (203, false), (226, true)] {
      let server = try TestServer { _ in .init(status: status, body: Self.picture) }
      let request = try request(server)
      for _ in 0..<2 { _ = try await pipeline().image(for: request) }
      #expect(server.requests.count == (isAsked ? 2 : 1), "\(status)")
    }
    let server = try TestServer { _ in
      .init(status: 202, headers: ["Cache-Control": "max-age=60"], body: Self.picture)
    }
    let request = try request(server)
    for _ in 0..<2 { _ = try await pipeline().image(for: request) }
    #expect(server.requests.count == 1)
    // An answer 304 does not change that.
    let tagged = try TestServer { request in
      let headers = ["ETag": "\"v\""]
      if request.headers["if-none-match"] != nil { return .status(304, headers) }
      return .init(status: 202, headers: headers, body: Self.picture)
    }
    let again = try self.request(tagged)
    for _ in 0..<4 { _ = try await pipeline().image(for: again) }
    #expect(tagged.requests.count == 4)
  }

  /// A picture that was loaded while the clock was ahead is asked for again, also if it is in memory.
  @Test func pictureFromTheFutureIsNotFresh() async throws {
    let server = try TestServer { _ in .init(headers: ["Cache-Control": "max-age=3600"], body: Self.picture) }
    let request = try request(server)
    let pipeline = pipeline()
    for _ in 0..<2 { _ = try await pipeline.image(for: request) }
    #expect(server.requests.count == 1)
    pass(-365 * 86_400)
    for _ in 0..<2 { _ = try await pipeline.image(for: request) }
    #expect(server.requests.count == 2)
  }

  /// The styles of one URL share an answer 304, also one that forbids to keep the picture.
  @Test func requestsForOneURLShareAnAnswerThatForbidsToKeepIt() async throws {
    let isOpen = Locked(true)
    let server = try TestServer { request in
      holdUp { isOpen.withLock { $0 } }
      let isKnown = request.headers["if-none-match"] != nil
      let headers = ["ETag": "\"v\"", "Cache-Control": isKnown ? "no-store" : "max-age=60"]
      return isKnown ? .status(304, headers) : .init(headers: headers, body: Self.picture)
    }
    let pipeline = pipeline { $0.keeps = .original }
    let sides: [Points] = [40, 41, 42, 43, 44]
    let requests = try sides.map { PictureRequest(server.url("/a"), style: try .square($0)) }
    _ = try await pipeline.image(for: requests[0])
    pass(61)
    isOpen.withLock { $0 = false }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for request in requests { group.addTask { _ = try await pipeline.image(for: request) } }
      try await until { pipeline.pictures.originals.joined.waiterCount == 5 }
      isOpen.withLock { $0 = true }
      try await group.waitForAll()
    }
    #expect(server.requests.count == 2)
  }
}
