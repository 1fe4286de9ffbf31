import Foundation
import Testing
import Vitrine

@testable import VitrineImages

/// Stale pictures whose original is not kept. The facts about the original are stored with the pictures made from it.
@Suite final class DroppedOriginalTests {
  static let picture = PipelineBench.jpeg
  static let other = PipelineBench.other

  let bench: PipelineBench
  let time = Locked<Int64>(1_700_000_000_000)
  let style = try! ImageStyle.rectangle(40, 40, mode: .fit)

  init() throws { bench = try PipelineBench() }

  deinit { try? bench.end() }

  /// Returns a new pipeline, which has nothing in memory.
  private func pipeline(_ change: (inout PicturePipeline.Configuration) -> Void = { _ in }) -> PicturePipeline {
    bench.pipeline { configuration in
      configuration.keeps = .styled
      configuration.loader = HTTPLoader(timeoutSeconds: 3600)
      configuration.now = { [time] in time.withLock { $0 } }
      change(&configuration)
    }
  }

  private func pass(_ seconds: Int64) { time.withLock { $0 += seconds * 1000 } }

  /// Answers as scripted, and with 304 if the request sends the current tag.
  private final class Origin: Sendable {
    let isDown = Locked(false)
    let version = Locked(1)
    let server: Locked<TestServer?> = Locked(nil)

    init(_ words: String) throws {
      let (isDown, version) = (isDown, version)
      let server = try TestServer { request in
        if isDown.withLock({ $0 }) { return .status(503) }
        let number = version.withLock { $0 }
        let headers = ["ETag": "\"v\(number)\"", "Cache-Control": words]
        if request.headers["if-none-match"] == headers["ETag"] { return .status(304, headers) }
        return .init(headers: headers, body: number == 1 ? DroppedOriginalTests.picture : DroppedOriginalTests.other)
      }
      self.server.withLock { $0 = server }
    }

    var requests: [TestServer.Request] { server.withLock { $0 }?.requests ?? [] }
    var url: String { server.withLock { $0 }?.url("/a") ?? "" }
    func fail() { isDown.withLock { $0 = true } }
    func change() { version.withLock { $0 += 1 } }
  }

  private func kept(_ request: PictureRequest) -> Blob? { bench.store.blob(request.url, style: request.style.key) }

  private func blob(_ request: PictureRequest) throws -> Blob { try #require(kept(request)) }

  private func address(_ blob: Blob) -> UInt {
    blob.withBytes { $0.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } }
  }

  @Test(arguments: [StyledForm.pixels, .encoded, .automatic])
  func notModifiedRenewsTheMetadataAndNotThePixels(_ form: StyledForm) async throws {
    let origin = try Origin("max-age=60")
    let request = PictureRequest(origin.url, style: style)
    _ = try await pipeline { $0.styledForm = form }.image(for: request)
    #expect(!bench.store.contains(request.url))
    let before = try blob(request)
    for round in 1...3 {
      pass(60)
      let pipeline = pipeline { $0.styledForm = form }
      let renewed = try await pipeline.image(for: request)
      #expect(renewed.origin == .styled && renewed.requestCount == 1, "\(round)")
      #expect(origin.requests.last?.headers["if-none-match"] == "\"v1\"")
      pass(59)
      // Memory and the store both have the new time.
      #expect(try await pipeline.image(for: request).origin == .memory)
      let kept = try await self.pipeline { $0.styledForm = form }.image(for: request)
      #expect(kept.origin == .styled && kept.requestCount == 0)
      pass(1)
    }
    #expect(origin.requests.count == 4)
    let after = try blob(request)
    #expect(after.metadata != before.metadata)
    if form != .automatic { #expect(address(after) == address(before)) }
  }

  @Test func oneRevalidationRenewsAllStylesOfAnOriginal() async throws {
    let origin = try Origin("max-age=60")
    let styles = [style, try .square(20), try .circle(30)]
    let pipeline = pipeline { $0.families = [styles] }
    _ = try await pipeline.image(for: PictureRequest(origin.url, style: style))
    pass(60)
    for style in styles {
      #expect(try await pipeline.image(for: PictureRequest(origin.url, style: style)).origin == .styled)
    }
    #expect(origin.requests.count == 2)
    // All styles have the new time, also in the next process.
    pass(59)
    for style in styles {
      #expect(try await self.pipeline().image(for: PictureRequest(origin.url, style: style)).requestCount == 0)
    }
    // A changed original is downloaded, although the styles of the old one were renewed.
    origin.change()
    pass(1)
    for style in styles { _ = try await pipeline.image(for: PictureRequest(origin.url, style: style)) }
    let new = try await pipeline.image(for: PictureRequest(origin.url, style: style))
    #expect(new.bitmap.width < new.bitmap.height && origin.requests.count >= 3)
  }

  @Test func anotherStyleThatJoinsARevalidationNeedsADownload() async throws {
    let loader = bench.loader
    loader.set("u", Self.picture)
    loader.set(headers: ["ETag": "\"v\"", "Cache-Control": "max-age=60"])
    let pipeline = pipeline { $0.loader = loader }
    let (first, second) = (PictureRequest("u", style: style), PictureRequest("u", style: try .square(20)))
    _ = try await pipeline.image(for: first)
    pass(60)
    loader.close()
    async let renewed = pipeline.image(for: first)
    try await until { loader.loads.count == 2 }
    async let other = pipeline.image(for: second)
    try await until { pipeline.pictures.originals.joined.waiterCount == 2 }
    loader.open()
    let pictures = try await [renewed, other]
    #expect(pictures.map(\.origin) == [.styled, .network])
    #expect(pictures.map(\.bitmap.width) == [40, 20])
    #expect(loader.loads.map { $0.headers["If-None-Match"] } == [nil, "\"v\"", nil])
  }

  @Test func latestResponseDecidesTheFreshness() async throws {
    let age = Locked(60)
    let server = try TestServer { request in
      let headers = ["ETag": "\"v\"", "Cache-Control": "max-age=\(age.withLock { $0 })"]
      if request.headers["if-none-match"] == "\"v\"" { return .status(304, headers) }
      return .init(headers: headers, body: Self.picture)
    }
    let pipeline = pipeline()
    var request = PictureRequest(server.url("/a"), style: style)
    _ = try await pipeline.image(for: request)
    pass(60)
    age.withLock { $0 = 1000 }
    #expect(try await pipeline.image(for: request).origin == .styled)
    // The bytes come again, fresh for a shorter time.
    age.withLock { $0 = 5 }
    request.cachePolicy = .reload
    #expect(try await pipeline.image(for: request).origin == .network)
    request.cachePolicy = .use
    pass(5)
    #expect(try await pipeline.image(for: request).requestCount == 1 && server.requests.count == 4)
  }

  @Test func changedOriginalIsDownloaded() async throws {
    let origin = try Origin("max-age=60")
    let request = PictureRequest(origin.url, style: style)
    let old = try await pipeline().image(for: request)
    origin.change()
    pass(60)
    let new = try await pipeline().image(for: request)
    #expect(new.origin == .network && new.bitmap.size != old.bitmap.size && origin.requests.count == 2)
  }

  @Test func offlineServesStalePicturesAsTheirHeadersAllow() async throws {
    for (words, isShown) in [
      ("max-age=60", true), ("max-age=60, stale-if-error=20", true), ("max-age=60, stale-if-error=5", false),
      ("max-age=60, must-revalidate", false),
    ] {
      let origin = try Origin(words)
      var request = PictureRequest(origin.url, style: style)
      _ = try await pipeline().image(for: request)
      origin.fail()
      pass(70)
      let pipeline = pipeline()
      for _ in 0..<3 {
        request.cachePolicy = .use
        if isShown {
          #expect(try await pipeline.image(for: request).origin == .styled, "\(words)")
        } else {
          await #expect(throws: LoadError.self) { try await pipeline.image(for: request) }
        }
        for policy in [PictureRequest.CachePolicy.staleIfError, .cacheOnly] {
          request.cachePolicy = policy
          #expect(try await pipeline.image(for: request).bitmap.width == 40, "\(words)")
        }
        for policy in [PictureRequest.CachePolicy.reload, .revalidate] {
          request.cachePolicy = policy
          await #expect(throws: LoadError.self) { try await pipeline.image(for: request) }
        }
      }
      // The picture is still stale.
      request.cachePolicy = .use
      #expect(pipeline.imageInMemory(for: request) == nil)
    }
  }

  @Test func staleWhileRevalidateShowsTheStalePictureAndRevalidates() async throws {
    let origin = try Origin("max-age=60, stale-while-revalidate=60")
    let request = PictureRequest(origin.url, style: style)
    let old = try await pipeline().image(for: request)
    pass(61)
    let first = try await pipeline().image(for: request)
    #expect(first.origin == .styled && first.requestCount == 0)
    // The answer is 304.
    let renewed = time.withLock { $0 } + 60_000
    try await until { self.kept(request).map { StyledRecord(metadata: $0.metadata) }?.freshUntil == renewed }
    #expect(origin.requests.count == 2)
    origin.change()
    pass(61)
    let second = try await pipeline().image(for: request)
    #expect(second.requestCount == 0 && second.bitmap.size == old.bitmap.size)
    // The answer is another picture.
    try await until { self.kept(request).flatMap(Bitmap.init)?.size == PixelSize(width: 18, height: 40) }
    #expect(try await pipeline().image(for: request).bitmap.size != old.bitmap.size && origin.requests.count == 3)
  }

  @Test func revalidatePolicySendsAConditionalRequest() async throws {
    // The picture never becomes stale.
    let origin = try Origin("")
    let request = PictureRequest(origin.url, style: style, cachePolicy: .revalidate)
    for round in 0..<3 {
      let response = try await pipeline().image(for: request)
      #expect(response.origin == (round == 0 ? .network : .styled) && response.requestCount == 1)
    }
    #expect(origin.requests.map { $0.headers["if-none-match"] } == [nil, "\"v1\"", "\"v1\""])
  }

  @Test func undecodableStyledPictureIsDownloadedAgain() async throws {
    let origin = try Origin("max-age=60")
    let request = PictureRequest(origin.url, style: style)
    _ = try await pipeline { $0.styledForm = .encoded }.image(for: request)
    let metadata = try blob(request).metadata
    try bench.store.put(
      Array("damaged".utf8), for: request.url, style: style.key, options: PutOptions(metadata: metadata))
    pass(60)
    let again = try await pipeline { $0.styledForm = .encoded }.image(for: request)
    #expect(again.origin == .network && again.bitmap.width == 40)
    #expect(origin.requests.map { $0.headers["if-none-match"] } == [nil, "\"v1\"", nil])
  }

  @Test func requestWithOtherVaryHeadersGetsAnotherPicture() async throws {
    let server = try TestServer { request in
      let isSpecial = request.headers["accept"] == "image/x"
      let headers = ["ETag": isSpecial ? "\"x\"" : "\"v\"", "Vary": "Accept", "Cache-Control": "max-age=60"]
      if request.headers["if-none-match"] == headers["ETag"] { return .status(304, headers) }
      return .init(headers: headers, body: isSpecial ? Self.other : Self.picture)
    }
    let plain = PictureRequest(server.url("/a"), style: style)
    var special = plain
    special.headers["Accept"] = "image/x"
    special.cachePolicy = .staleIfError
    _ = try await pipeline().image(for: plain)
    pass(60)
    #expect(try await pipeline().image(for: plain).origin == .styled)
    let other = try await pipeline().image(for: special)
    #expect(other.origin == .network && other.bitmap.width < other.bitmap.height)
    #expect(server.requests.map { $0.headers["if-none-match"] } == [nil, "\"v\"", nil])
  }

  // MARK: Where the original is kept

  @Test func notModifiedRenewsStylesOfAKeptOriginal() async throws {
    let origin = try Origin("max-age=60")
    let styles = [style, try .square(20)]
    for style in styles {
      _ = try await pipeline { $0.keeps = .both }.image(for: PictureRequest(origin.url, style: style))
    }
    pass(60)
    for (index, style) in styles.enumerated() {
      let request = PictureRequest(origin.url, style: style)
      #expect(try await pipeline { $0.keeps = .both }.image(for: request).requestCount == (index == 0 ? 1 : 0))
      #expect(StyledRecord(metadata: try blob(request).metadata).freshUntil == time.withLock { $0 } + 60_000)
      // The renewed picture is there at once, so it is the only element of a sequence.
      let sequence = pipeline { $0.keeps = .both }.images(for: request)
      let origins = try await sequence.reduce(into: []) { $0.append($1.origin) }
      #expect(origins == [.styled])
    }
    #expect(origin.requests.count == 2)
  }
}
