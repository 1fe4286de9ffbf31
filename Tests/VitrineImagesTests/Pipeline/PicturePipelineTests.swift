import Foundation
import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// The whole pipeline, with a real server and a real store.
@Suite struct PicturePipelineTests {
  static let jpeg = try! ImageEncoder.encode(.gradient(200, 120), as: .jpeg(quality: 0.9))
  static let other = try! ImageEncoder.encode(.gradient(90, 200), as: .png)
  let folder: URL
  let store: CacheStore
  let square: ImageStyle
  let circle: ImageStyle

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("vitrine-images-\(UUID().uuidString)")
    store = try CacheStore.open(at: folder.path, options: StoreOptions(byteBudget: 16 << 20))
    square = try .square(40)
    circle = try .circle(30, scale: 2)
  }

  private func pipeline(_ change: (inout PicturePipeline.Configuration) -> Void = { _ in }) -> PicturePipeline {
    var configuration = PicturePipeline.Configuration(storage: StoreStorage(store))
    configuration.attemptCount = 1
    // A slow machine must not look like a silent server.
    configuration.silenceMilliseconds = .max
    change(&configuration)
    return PicturePipeline(configuration)
  }

  private func removeFolder() throws {
    try store.close()
    try FileManager.default.removeItem(at: folder)
  }

  private func pixels(_ bitmap: Bitmap) -> [UInt8] {
    bitmap.withPixels { $0.withUnsafeBytes { Array($0.prefix(bitmap.layout.byteCount)) } }
  }

  @Test func aPictureComesFromTheNetworkThenFromMemoryThenFromTheStore() async throws {
    let server = try TestServer { _ in
      .init(headers: ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"], body: Self.jpeg)
    }
    let request = PictureRequest(server.url("/a.jpg"), style: square)
    let first = pipeline()
    let fromNetwork = try await first.image(for: request)
    #expect(fromNetwork.origin == .network && fromNetwork.requestCount == 1 && fromNetwork.decodeCount == 1)
    #expect(
      fromNetwork.receivedByteCount == Self.jpeg.count && fromNetwork.bitmap.size == PixelSize(width: 40, height: 40))
    #expect(fromNetwork.bitmap.isMapped)
    let fromMemory = try await first.image(for: request)
    #expect(fromMemory.origin == .memory && fromMemory.requestCount == 0 && fromMemory.decodeCount == 0)
    let fromStore = try await pipeline().image(for: request)
    #expect(fromStore.origin == .styled && fromStore.requestCount == 0 && fromStore.decodeCount == 0)
    #expect(fromStore.bitmap.isMapped && pixels(fromStore.bitmap) == pixels(fromNetwork.bitmap))
    // Another style is made from the kept original.
    let styled = try await pipeline().image(for: PictureRequest(request.url, style: circle))
    #expect(styled.origin == .original && styled.requestCount == 0 && styled.decodeCount == 1)
    #expect(server.requests.count == 1)
    try removeFolder()
  }

  @Test func concurrentRequestsShareOneDownload() async throws {
    let server = try TestServer { _ in .init(body: Self.jpeg, delay: 60) }
    let pipeline = pipeline()
    let styles = [
      square, circle, try .square(20), try .rectangle(60, 30, mode: .fit), try .square(40, format: .rgb565),
    ]
    let responses = try await withThrowingTaskGroup(of: PictureResponse.self) { group in
      for number in 0..<60 {
        let request = PictureRequest(server.url("/a?signed=\(number)"), key: "a", style: styles[number % 5])
        group.addTask { try await pipeline.image(for: request) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(server.requests.count == 1 && responses.count == 60)
    #expect(store.count == 6)
    try removeFolder()
  }

  @Test func stylesOfAFamilyAreMadeTogether() async throws {
    let server = try TestServer { _ in .init(body: Self.jpeg) }
    let pipeline = pipeline { $0.families = [[square, circle]] }
    _ = try await pipeline.image(for: PictureRequest(server.url("/a"), style: square))
    #expect(
      store.contains(server.url("/a"), style: circle.key) && store.contains(server.url("/a"), style: square.key))
    let other = try await pipeline.image(for: PictureRequest(server.url("/a"), style: circle))
    #expect(other.origin == .styled && other.decodeCount == 0 && server.requests.count == 1)
    try removeFolder()
  }

  @Test func stylesOfAChangedOriginalAreMadeAgain() async throws {
    let version = Locked(1)
    let server = try TestServer { request in
      let tag = "\"v\(version.withLock { $0 })\""
      if request.headers["if-none-match"] == tag { return .status(304, ["ETag": tag]) }
      return .init(headers: ["ETag": tag], body: tag == "\"v1\"" ? Self.jpeg : Self.other)
    }
    var request = PictureRequest(server.url("/a"), style: square)
    let before = try await pipeline().image(for: request)
    request.cachePolicy = .revalidate
    let same = try await pipeline().image(for: request)
    #expect(same.origin == .styled && same.requestCount == 1 && pixels(same.bitmap) == pixels(before.bitmap))
    version.withLock { $0 = 2 }
    let after = try await pipeline().image(for: request)
    #expect(after.origin == .network && pixels(after.bitmap) != pixels(before.bitmap))
    request.cachePolicy = .use
    let kept = try await pipeline().image(for: request)
    #expect(kept.origin == .styled && pixels(kept.bitmap) == pixels(after.bitmap) && server.requests.count == 3)
    try removeFolder()
  }

  @Test func stalePictureIsRevalidatedAndShownAfterAnError() async throws {
    let time = Locked<Int64>(1_700_000_000_000)
    let isDown = Locked(false)
    let server = try TestServer { request in
      if isDown.withLock({ $0 }) { return .status(503) }
      let headers = ["ETag": "\"a\"", "Cache-Control": "max-age=60"]
      return request.headers["if-none-match"] == nil
        ? .init(headers: headers, body: Self.jpeg) : .status(304, headers)
    }
    let request = PictureRequest(server.url("/a"), style: square)
    func load() async throws -> PictureResponse {
      try await pipeline { $0.now = { time.withLock { $0 } } }.image(for: request)
    }
    _ = try await load()
    time.withLock { $0 += 59_000 }
    #expect(try await load().requestCount == 0)
    time.withLock { $0 += 2000 }
    let renewed = try await load()
    #expect(renewed.requestCount == 1 && renewed.origin == .styled && server.requests.count == 2)
    time.withLock { $0 += 50_000 }
    #expect(try await load().requestCount == 0)
    time.withLock { $0 += 20_000 }
    isDown.withLock { $0 = true }
    #expect(try await load().origin == .styled)
    #expect(server.requests.count == 3)
    try removeFolder()
  }

  /// A picture is at hand if it is in memory, or in a store that has checked its bytes.
  @Test func pictureAtHandIsReturnedWithoutWaiting() async throws {
    let time = Locked<Int64>(1_700_000_000_000)
    let server = try TestServer { _ in
      .init(headers: ["Cache-Control": "max-age=60", "Vary": "Accept"], body: Self.jpeg)
    }
    let headers = ["Accept": "image/jpeg"]
    let request = PictureRequest(server.url("/a"), style: square, headers: headers)
    #expect(pipeline().imageAtHand(for: request) == nil)
    let made = try await pipeline { $0.now = { time.withLock { $0 } } }.image(for: request)
    let later = pipeline { $0.now = { time.withLock { $0 } } }
    #expect(later.imageInMemory(for: request) == nil)
    let shown = try #require(later.imageAtHand(for: request))
    #expect(shown.origin == .styled && shown.requestCount == 0 && shown.decodeCount == 0)
    #expect(shown.bitmap.isMapped && pixels(shown.bitmap) == pixels(made.bitmap))
    #expect(
      later.imageInMemory(for: request)?.origin == .memory && later.imageAtHand(for: request)?.origin == .memory)
    // A picture is not at hand if it must be requested, is missing, was chosen by other headers, or is stale.
    for policy in [PictureRequest.CachePolicy.reload, .revalidate] {
      #expect(
        later.imageAtHand(for: PictureRequest(request.url, style: square, headers: headers, cachePolicy: policy)) == nil
      )
    }
    later.trimMemory()
    #expect(later.imageAtHand(for: PictureRequest(request.url, headers: headers)) == nil)
    #expect(later.imageAtHand(for: PictureRequest(request.url, style: circle, headers: headers)) == nil)
    #expect(later.imageAtHand(for: PictureRequest(request.url, style: square, headers: ["Accept": "image/png"])) == nil)
    time.withLock { $0 += 60_000 }
    #expect(later.imageAtHand(for: request) == nil)
    let any = PictureRequest(request.url, style: square, headers: headers, cachePolicy: .cacheOnly)
    #expect(later.imageAtHand(for: any)?.origin == .styled)
    #expect(server.requests.count == 1)
    try removeFolder()
  }

  /// Encoded pictures must be decoded. Bytes not read since the store was opened must be checked.
  @Test func encodedOrUncheckedPictureIsNotAtHand() async throws {
    let server = try TestServer { _ in .init(body: Self.jpeg) }
    let request = PictureRequest(server.url("/a"), style: square)
    _ = try await pipeline().image(for: request)
    _ = try await pipeline { $0.styledForm = .encoded }.image(for: PictureRequest(request.url, style: circle))
    #expect(pipeline().imageAtHand(for: PictureRequest(request.url, style: circle)) == nil)
    #expect(pipeline().imageAtHand(for: request) != nil)
    try store.close()
    let again = try CacheStore.open(at: folder.path)
    let opened = PicturePipeline(.init(storage: StoreStorage(again)))
    #expect(opened.imageAtHand(for: request) == nil)
    #expect(try await opened.image(for: request).origin == .styled)
    opened.trimMemory()
    #expect(opened.imageAtHand(for: request)?.origin == .styled)
    try again.close()
    try FileManager.default.removeItem(at: folder)
  }

  @Test func noStorePictureIsNotKept() async throws {
    let server = try TestServer { _ in .init(headers: ["Cache-Control": "no-store"], body: Self.jpeg) }
    for _ in 0..<2 { _ = try await pipeline().image(for: PictureRequest(server.url("/a"), style: square)) }
    #expect(server.requests.count == 2 && store.count == 0)
    try removeFolder()
  }

  @Test func undecodableDownloadIsAnErrorAndNotKept() async throws {
    let server = try TestServer { request in
      request.path == "/cut"
        ? .init(body: Array(Self.jpeg.prefix(Self.jpeg.count / 2))) : .init(body: Array("<html>".utf8))
    }
    let pipeline = pipeline()
    await #expect(throws: ImageError.truncated(.jpeg)) {
      try await pipeline.image(for: PictureRequest(server.url("/cut"), style: square))
    }
    for path in ["/html", "/cut", "/cut"] {
      await #expect(throws: (any Error).self) {
        try await pipeline.image(for: PictureRequest(server.url(path), style: square))
      }
    }
    // The failures are remembered, so the second and third request for /cut do not reach the server.
    #expect(store.count == 0 && server.requests.count == 2)
    try removeFolder()
  }

  @Test func cacheOnlyMakesNoRequest() async throws {
    let server = try TestServer { _ in .init(body: Self.jpeg) }
    let request = PictureRequest(server.url("/a"), style: square, cachePolicy: .cacheOnly)
    await #expect(throws: LoadError.notCached) { try await pipeline().image(for: request) }
    _ = try await pipeline().image(for: PictureRequest(server.url("/a"), style: circle))
    #expect(try await pipeline().image(for: request).origin == .original)
    #expect(server.requests.count == 1)
    try removeFolder()
  }

  @Test func canceledRequestLeavesTheOthersTheirPicture() async throws {
    let isOpen = Locked(false)
    let server = try TestServer { _ in
      holdUp { isOpen.withLock { $0 } }
      return .init(body: Self.jpeg)
    }
    let pipeline = pipeline()
    let request = PictureRequest(server.url("/a"), style: square)
    let tasks = (0..<4).map { _ in Task { try await pipeline.image(for: request) } }
    try await until { server.requests.count == 1 && pipeline.pictures.joined.waiterCount == 4 }
    tasks[0].cancel()
    tasks[1].cancel()
    for task in tasks[..<2] { await #expect(throws: CancellationError.self) { try await task.value } }
    isOpen.withLock { $0 = true }
    for task in tasks[2...] { #expect(try await task.value.bitmap.width == 40) }
    #expect(server.requests.count == 1)
    try removeFolder()
  }

  /// 50 pictures are preheated, and 5 others are requested at the same moment. The server gets the 5 first.
  @Test func requestsComeBeforePreheating() async throws {
    let server = try TestServer { _ in .init(body: Self.jpeg, delay: 5) }
    // Long enough for the tasks below to start on a thread.
    let pipeline = pipeline { $0.preheatingPauseMilliseconds = 3000 }
    pipeline.startPreheating((0..<50).map { PictureRequest(server.url("/preheated/\($0)"), style: square) })
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<5 {
        group.addTask { _ = try await pipeline.image(for: PictureRequest(server.url("/\(number)"), style: square)) }
      }
      try await group.waitForAll()
    }
    try await until { server.requests.count == 55 }
    #expect(Set(server.paths.prefix(5)) == Set((0..<5).map { "/\($0)" }))
    try await until {
      (0..<50).allSatisfy {
        pipeline.imageInMemory(for: PictureRequest(server.url("/preheated/\($0)"), style: square)) != nil
      }
    }
    let ready = try await pipeline.image(for: PictureRequest(server.url("/preheated/7"), style: square))
    #expect(ready.origin == .memory)
    pipeline.stopAllPreheating()
    try removeFolder()
  }

  @Test func encodedPictureTurnsToPixelsAtItsSecondShowingFromTheStore() async throws {
    let server = try TestServer { _ in .init(body: Self.jpeg) }
    let request = PictureRequest(server.url("/a"), style: square)
    let pipeline = pipeline {
      $0.styledForm = .automatic
      $0.memory.count = 0
    }
    func isBitmap() -> Bool { store.blob(request.url, style: square.key)?.encoding == .bitmap }
    _ = try await pipeline.image(for: request)
    #expect(!isBitmap() && store.contains(request.url, style: square.key))
    #expect(try await pipeline.image(for: request).decodeCount == 1)
    #expect(!isBitmap())
    #expect(try await pipeline.image(for: request).decodeCount == 1)
    #expect(isBitmap())
    #expect(try await pipeline.image(for: request).decodeCount == 0)
    try removeFolder()
  }

  @Test func keysAreClearedAndRetained() async throws {
    let server = try TestServer { _ in .init(body: Self.jpeg) }
    let pipeline = pipeline()
    for name in ["a", "b", "c"] {
      _ = try await pipeline.image(for: PictureRequest(server.url("/\(name)"), key: name, style: square))
    }
    try await pipeline.clear(["a"])
    #expect(!store.contains("a") && !store.contains("a", style: square.key) && store.contains("b", style: square.key))
    #expect(pipeline.imageInMemory(for: PictureRequest("", key: "a", style: square)) == nil)
    try await pipeline.retain(only: ["c"])
    #expect(store.count == 2 && store.contains("c", style: square.key))
    #expect(pipeline.imageInMemory(for: PictureRequest("", key: "b", style: square)) == nil)
    #expect(pipeline.imageInMemory(for: PictureRequest("", key: "c", style: square)) != nil)
    try removeFolder()
  }
}
