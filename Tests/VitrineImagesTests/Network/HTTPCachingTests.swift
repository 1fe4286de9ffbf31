import Foundation
import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// The effect of an answer's headers on the next request, with a real server, a real store and a clock that tests move.
@Suite final class HTTPCachingTests {
  static let picture = try! ImageEncoder.encode(.gradient(200, 120), as: .png)
  static let other = try! ImageEncoder.encode(.gradient(90, 200), as: .png)

  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("vitrine-http-\(UUID().uuidString)")
  let store: CacheStore
  let time = Locked<Int64>(1_700_000_000_000)

  init() throws { store = try CacheStore.open(at: folder.path, options: StoreOptions(byteBudget: 16 << 20)) }

  deinit {
    try? store.close()
    try? FileManager.default.removeItem(at: folder)
  }

  /// Returns a new pipeline, which has nothing in memory.
  func pipeline(_ change: (inout PicturePipeline.Configuration) -> Void = { _ in }) -> PicturePipeline {
    var configuration = PicturePipeline.Configuration(storage: StoreStorage(store))
    configuration.attemptCount = 1
    // A slow machine must not look like a silent server.
    configuration.silenceMilliseconds = .max
    configuration.loader = LoaderKind.allCases[0].loader()
    let time = time
    configuration.now = { time.withLock { $0 } }
    change(&configuration)
    return PicturePipeline(configuration)
  }

  func pass(_ seconds: Int64) { time.withLock { $0 += seconds * 1000 } }

  /// Answers with a picture, or with 304 if the request sends its tag.
  private func server(_ headers: [String: String], tag: String? = "\"v\"") throws -> TestServer {
    try TestServer { request in
      var headers = headers
      headers["ETag"] = tag
      if let tag, request.headers["if-none-match"] == tag { return .status(304, headers) }
      return .init(headers: headers, body: Self.picture)
    }
  }

  // MARK: How long

  @Test func responseWithoutCacheHeadersIsNeverRevalidated() async throws {
    let server = try server(["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"])
    let request = PictureRequest(server.url("/a"), style: try .square(20))
    _ = try await pipeline().image(for: request)
    pass(10 * 365 * 86_400)
    #expect(try await pipeline().image(for: request).origin == .styled)
    #expect(server.requests.count == 1)
  }

  @Test(
    arguments: [
      (["Cache-Control": "max-age=60"], 60), (["Cache-Control": "private, max-age=60"], 60),
      (["Cache-Control": "max-age=60, immutable"], 60), (["Cache-Control": "max-age=100", "Age": "40"], 60),
      (["Cache-Control": "max-age=60", "Expires": "Thu, 01 Jan 2099 00:00:00 GMT"], 60),
      (["Date": "Sun, 06 Nov 1994 08:49:37 GMT", "Expires": "Sun, 06 Nov 1994 08:50:37 GMT"], 60),
      (["Cache-Control": "s-maxage=1, max-age=60"], 60), (["Cache-Control": "no-cache"], 0),
      (["Cache-Control": "max-age=0"], 0), (["Expires": "0"], 0),
    ] as [([String: String], Int64)])
  func pictureIsRevalidatedExactlyWhenItsFreshnessEnds(_ headers: [String: String], _ seconds: Int64) async throws {
    let server = try server(headers)
    let request = PictureRequest(server.url("/a"), style: try .square(20))
    let pipeline = pipeline()
    _ = try await pipeline.image(for: request)
    if seconds > 0 {
      pass(seconds - 1)
      #expect(try await pipeline.image(for: request).origin == .memory)
      #expect(try await self.pipeline().image(for: request).requestCount == 0 && server.requests.count == 1)
      pass(1)
    }
    // The picture is stale in memory too. The answer renews it in memory and in the store.
    let renewed = try await pipeline.image(for: request)
    #expect(renewed.requestCount == 1 && renewed.origin == .styled && renewed.decodeCount == 0)
    #expect(server.requests.last?.headers["if-none-match"] == "\"v\"")
    if seconds > 0 {
      pass(seconds - 1)
      #expect(try await pipeline.image(for: request).origin == .memory && server.requests.count == 2)
    }
  }

  @Test func notModifiedWithoutHeadersKeepsTheOldLifetime() async throws {
    let server = try TestServer { request in
      request.headers["if-none-match"] == nil
        ? .init(headers: ["ETag": "\"v\"", "Cache-Control": "max-age=60"], body: Self.picture) : .status(304)
    }
    let request = PictureRequest(server.url("/a"), style: try .square(20))
    for round in 1...3 {
      #expect(try await pipeline().image(for: request).requestCount == 1)
      pass(59)
      #expect(try await pipeline().image(for: request).requestCount == 0, "\(round)")
      pass(1)
    }
    #expect(server.requests.count == 3)
  }

  @Test func notModifiedChangesTheMetadataAndNotTheBytes() async throws {
    var random = SeededRandom(seed: 1)
    let noise = (0..<20_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    let large = try ImageEncoder.encode(
      .drawn(100, 100) { x, y in RGBA(noise[x * 100 + y], noise[x * 100 + y + 9999], noise[y * 100 + x]) }, as: .png)
    let round = Locked(0)
    let server = try TestServer { request in
      round.withLock { $0 += 1 }
      let headers = ["ETag": "\"v\"", "Cache-Control": "max-age=\(round.withLock { $0 } * 100)"]
      return request.headers["if-none-match"] == nil
        ? .init(headers: headers, body: large) : .status(304, headers)
    }
    let request = PictureRequest(server.url("/a"))
    _ = try await pipeline().image(for: request)
    let before = try #require(store.blob(request.url))
    let written = store.statistics().segments.reduce(0) { $0 + $1.byteCount - $1.freeByteCount }
    pass(100)
    #expect(try await pipeline().image(for: request).requestCount == 1)
    let after = try #require(store.blob(request.url))
    func address(_ blob: Blob) -> UInt { blob.withBytes { $0.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } } }
    #expect(after.metadata != before.metadata && address(after) == address(before))
    #expect(ResponseRecord(metadata: after.metadata)?.freshUntil == time.withLock { $0 } + 200_000)
    let more = store.statistics().segments.reduce(0) { $0 + $1.byteCount - $1.freeByteCount } - written
    #expect(large.count > 20_000 && more < large.count / 2, "\(more) of \(large.count) bytes")
    #expect(store.count == 1 && store.statistics().blobCount == 1)
  }

  @Test func dateIsSentIfThereIsNoEntityTag() async throws {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    let server = try TestServer { request in
      let headers = ["Last-Modified": date, "Cache-Control": "max-age=60"]
      return request.headers["if-modified-since"] == date
        ? .status(304, headers) : .init(headers: headers, body: Self.picture)
    }
    let request = PictureRequest(server.url("/a"), style: try .square(20))
    _ = try await pipeline().image(for: request)
    pass(60)
    #expect(try await pipeline().image(for: request).origin == .styled)
    #expect(server.requests.count == 2 && server.requests[1].headers["if-none-match"] == nil)
  }

  @Test func stalePictureWithoutAValidatorIsDownloadedAgain() async throws {
    let server = try server(["Cache-Control": "max-age=60"], tag: nil)
    let request = PictureRequest(server.url("/a"), style: try .square(20))
    _ = try await pipeline().image(for: request)
    pass(60)
    #expect(try await pipeline().image(for: request).origin == .network)
    #expect(server.requests[1].headers["if-none-match"] == nil)
  }

  // MARK: Words

  @Test func noStorePictureIsNotKeptInMemory() async throws {
    let server = try server(["Cache-Control": "no-store"])
    let pipeline = pipeline()
    let request = PictureRequest(server.url("/a"), style: try .square(20))
    for _ in 0..<3 { #expect(try await pipeline.image(for: request).origin == .network) }
    #expect(server.requests.count == 3 && store.count == 0)
  }

  @Test func freshImmutablePictureIsNotRevalidatedOnRequest() async throws {
    let server = try server(["Cache-Control": "max-age=60, immutable"])
    var request = PictureRequest(server.url("/a"), style: try .square(20))
    _ = try await pipeline().image(for: request)
    request.cachePolicy = .revalidate
    #expect(try await pipeline().image(for: request).requestCount == 0)
    pass(60)
    #expect(try await pipeline().image(for: request).requestCount == 1)
    request.cachePolicy = .reload
    #expect(try await pipeline().image(for: request).origin == .network)
  }

  @Test func staleWhileRevalidateShowsTheStalePictureAndRevalidates() async throws {
    let version = Locked(1)
    let server = try TestServer { request in
      let tag = "\"v\(version.withLock { $0 })\""
      let headers = ["ETag": tag, "Cache-Control": "max-age=60, stale-while-revalidate=60"]
      if request.headers["if-none-match"] == tag { return .status(304, headers) }
      return .init(headers: headers, body: tag == "\"v1\"" ? Self.picture : Self.other)
    }
    let request = PictureRequest(server.url("/a"), style: try .rectangle(40, 40, mode: .fit))
    let old = try await pipeline().image(for: request)
    version.withLock { $0 = 2 }
    pass(61)
    let shown = try await pipeline().image(for: request)
    #expect(shown.origin == .styled && shown.requestCount == 0 && shown.bitmap.size == old.bitmap.size)
    // The downloaded picture is for the next request.
    try await until { store.blob(request.url)?.byteCount == Self.other.count }
    let new = try await pipeline().image(for: request)
    #expect(new.bitmap.size != old.bitmap.size && new.requestCount == 0 && server.requests.count == 2)
    pass(60 + 60)
    #expect(try await pipeline().image(for: request).requestCount == 1)
  }

  @Test func mustRevalidateForbidsStalePicturesAfterAnError() async throws {
    for (word, isShown) in [
      ("must-revalidate", false), ("stale-if-error=100", true), ("stale-if-error=5", false), ("", true),
    ] {
      let isDown = Locked(false)
      let server = try TestServer { _ in
        isDown.withLock { $0 }
          ? .status(500)
          : .init(headers: ["Cache-Control": "max-age=60, \(word)", "ETag": "\"a\""], body: Self.picture)
      }
      var request = PictureRequest(server.url("/a"), style: try .square(20))
      _ = try await pipeline().image(for: request)
      isDown.withLock { $0 = true }
      pass(70)
      if isShown {
        #expect(try await pipeline().image(for: request).origin == .styled, "\(word)")
      } else {
        await #expect(throws: LoadError.status(500)) { try await self.pipeline().image(for: request) }
      }
      // The policy of the request overrides the header.
      request.cachePolicy = .staleIfError
      #expect(try await pipeline().image(for: request).origin == .styled, "\(word)")
      request.cachePolicy = .cacheOnly
      #expect(try await pipeline().image(for: request).requestCount == 0, "\(word)")
    }
  }

  @Test func goneResponseIsAnErrorAndKeepsTheStoredPicture() async throws {
    let isGone = Locked(false)
    let server = try TestServer { _ in
      isGone.withLock { $0 } ? .status(410) : .init(headers: ["Cache-Control": "max-age=60"], body: Self.picture)
    }
    var request = PictureRequest(server.url("/a"), style: try .square(20))
    _ = try await pipeline().image(for: request)
    isGone.withLock { $0 = true }
    pass(60)
    await #expect(throws: LoadError.status(410)) { try await self.pipeline().image(for: request) }
    request.cachePolicy = .cacheOnly
    #expect(try await pipeline().image(for: request).requestCount == 0)
  }

  // MARK: Vary

  @Test func pictureIsShownOnlyToRequestsWithItsVaryHeaders() async throws {
    let server = try TestServer { request in
      .init(headers: ["Vary": "Accept"], body: request.headers["accept"] == "image/x" ? Self.other : Self.picture)
    }
    let style = try ImageStyle.rectangle(40, 40, mode: .fit)
    let plain = PictureRequest(server.url("/a"), style: style)
    let special = PictureRequest(server.url("/a"), style: style, headers: ["accept": "image/x"])
    let pipeline = pipeline()
    let first = try await pipeline.image(for: plain)
    #expect(try await pipeline.image(for: plain).origin == .memory)
    let second = try await pipeline.image(for: special)
    #expect(second.origin == .network && second.bitmap.size != first.bitmap.size)
    #expect(try await self.pipeline().image(for: special).origin == .styled)
    // Headers that the server does not name in Vary choose nothing.
    var same = special
    same.headers["X-Other"] = "1"
    #expect(try await self.pipeline().image(for: same).origin == .styled && server.requests.count == 2)
    let third = try await self.pipeline().image(for: plain)
    #expect(third.origin == .network && third.bitmap.size == first.bitmap.size && server.requests.count == 3)
  }

  @Test(arguments: [true, false])
  func concurrentRequestsWithOtherVaryHeadersGetTheirOwnPictures(isSameStyle: Bool) async throws {
    let isOpen = Locked(false)
    let server = try TestServer { request in
      holdUp { isOpen.withLock { $0 } }
      return .init(
        headers: ["Vary": "Accept"], body: request.headers["accept"] == "image/x" ? Self.other : Self.picture)
    }
    let style = try ImageStyle.rectangle(40, 40, mode: .fit)
    let other = isSameStyle ? style : try ImageStyle.rectangle(41, 41, mode: .fit)
    let pipeline = pipeline()
    async let plain = pipeline.image(for: PictureRequest(server.url("/a"), style: style))
    try await until { server.requests.count == 1 }
    async let special = pipeline.image(
      for: PictureRequest(server.url("/a"), style: other, headers: ["accept": "image/x"]))
    try await until {
      (isSameStyle ? pipeline.pictures.joined.waiterCount : pipeline.pictures.originals.joined.waiterCount) == 2
    }
    isOpen.withLock { $0 = true }
    let sizes = try await [plain, special].map { ($0.bitmap.width > $0.bitmap.height, $0.requestCount) }
    #expect(sizes.map(\.0) == [true, false] && sizes.map(\.1) == [1, 1] && server.requests.count == 2)
  }

  @Test func pictureThatVariesByEveryHeaderIsRequestedEachTime() async throws {
    let server = try server(["Vary": "*"])
    let request = PictureRequest(server.url("/a"), style: try .square(20))
    let pipeline = pipeline()
    for _ in 0..<3 { #expect(try await pipeline.image(for: request).requestCount == 1) }
    #expect(server.requests.count == 3)
  }

  // MARK: Failures

  @Test func failedURLIsNotRequestedAgainForAMinute() async throws {
    let server = try TestServer { request in request.path == "/dead" ? .status(404) : .init(body: Self.picture) }
    let uptime = Locked<Int64>(0)
    let pipeline = pipeline {
      $0.attemptCount = 3
      $0.uptime = { uptime.withLock { $0 } }
    }
    for _ in 0..<10 {
      await #expect(throws: LoadError.self) {
        try await pipeline.image(for: PictureRequest(server.url("/dead"), style: try .square(20)))
      }
    }
    #expect(server.requests.count == 1)
    _ = try await pipeline.image(for: PictureRequest(server.url("/alive"), style: try .square(20)))
    // A reload asks the server in spite of the remembered failure.
    await #expect(throws: LoadError.status(404)) {
      try await pipeline.image(
        for: PictureRequest(server.url("/dead"), style: try .square(20), cachePolicy: .reload))
    }
    #expect(server.paths == ["/dead", "/alive", "/dead"])
    uptime.withLock { $0 += 60_000 }
    await #expect(throws: LoadError.status(404)) {
      try await pipeline.image(for: PictureRequest(server.url("/dead"), style: try .square(20)))
    }
  }

  @Test func offlineServesStoredPictures() async throws {
    var request: PictureRequest
    do {
      let server = try server(["Cache-Control": "max-age=60"])
      request = PictureRequest(server.url("/a"), style: try .square(20))
      _ = try await pipeline().image(for: request)
    }
    // The server no longer runs.
    pass(3600)
    #expect(try await pipeline().image(for: request).origin == .styled)
    request.style = try .square(30)
    #expect(try await pipeline().image(for: request).origin == .original)
    request.cachePolicy = .reload
    await #expect(throws: LoadError.self) { try await self.pipeline().image(for: request) }
  }
}
