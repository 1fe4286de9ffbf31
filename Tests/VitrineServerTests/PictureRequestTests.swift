import Foundation
import Synchronization
import Testing
import Vitrine

@testable import VitrineServer

/// Answers when the test says so, with the query as the bytes of the picture.
private final class StubMaker: PictureMaking {
  private let isHeld = Mutex(false)
  private let held = Mutex<[CheckedContinuation<Void, Never>]>([])
  private let answer: PictureAnswer?
  private let canceled = Mutex(0)

  init(isHeld: Bool = false, _ answer: PictureAnswer? = nil) {
    self.answer = answer
    self.isHeld.withLock { $0 = isHeld }
  }

  var heldCount: Int { held.withLock { $0.count } }
  var canceledCount: Int { canceled.withLock { $0 } }

  func release() {
    isHeld.withLock { $0 = false }
    for one in held.withLock({ held in
      defer { held = [] }
      return held
    }) { one.resume() }
  }

  func picture(_ query: PictureQuery) async -> PictureAnswer {
    if isHeld.withLock({ $0 }) {
      await withTaskCancellationHandler {
        await withCheckedContinuation { one in held.withLock { $0.append(one) } }
      } onCancel: {
        canceled.withLock { $0 += 1 }
      }
    }
    let bytes = Array("\(query.style) \(query.url)".utf8)
    return answer ?? .picture(PictureFile(.bytes(bytes), mediaType: "image/x"))
  }
}

/// `/image/STYLE/URL` of the server.
struct PictureRequestTests {
  private func server(_ maker: StubMaker, _ change: (inout ServerOptions) -> Void = { _ in }) throws -> WebServer {
    try WebServer {
      $0.pictures = maker
      $0.threadCount = 1
      change(&$0)
    }
  }

  /// Runs a test that blocks on a thread of its own, because the maker needs the threads of tasks.
  private func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
    }
  }

  private func wait(until condition: () -> Bool) {
    while !condition() { Thread.sleep(forTimeInterval: 0.005) }
  }

  @Test func serverWithoutAMakerRefusesPictures() async throws {
    try await onThread {
      let answer = try WebServer().get("/image/square-60/https%3A%2F%2Fexample.org%2Fa")
      #expect(answer.status == 403)
    }
  }

  @Test func pictureIsSentWithItsTypeAndTag() async throws {
    try await onThread {
      let server = try server(StubMaker())
      let path = "/image/square-60%402x/https%3A%2F%2Fexample.org%2Fa%3Fb"
      let answer = try server.get(path)
      #expect(answer.status == 200)
      #expect(answer.text == "square-60@2x https://example.org/a?b")
      #expect(answer.fields["content-type"] == "image/x")
      #expect(answer.fields["cache-control"] == "no-cache")
      let secret = PictureFile(.bytes([1]), mediaType: "a\r\nb: c", freshSeconds: 9, isNoStore: true)
      let other = try self.server(StubMaker(.picture(secret))).get(path)
      #expect(other.fields["cache-control"] == "no-store")
      #expect(other.fields["content-type"] == "application/octet-stream" && other.fields["b"] == nil)
      #expect(answer.fields["x-content-type-options"] == "nosniff")
      let tag = try #require(answer.fields["etag"])
      #expect(try server.get(path, ["If-None-Match: \(tag)"]).status == 304)
      #expect(try server.get(path, ["If-None-Match: \"x\""]).status == 200)
      let client = try server.client()
      try client.send(WebResponse.request("HEAD", path, ["Connection: close"], body: nil))
      #expect(try client.line() == "HTTP/1.1 200 OK")
      while try !client.line().isEmpty {}
      #expect(client.isEnded())
      #expect(try server.put(path, [1]).status == 405)
      #expect(try MetricsFormat(server.get("/metrics").text).value("vitrine_value_memory_bytes") == 0)
    }
  }

  @Test(arguments: [
    "/image/square-60", "/image/", "/image/a%zz/b", "/image/a/%zz", "/image/a/%ff", "/image/a%20b/c", "/image/a/b?c",
  ])
  func malformedPathOfAPictureIsRefused(_ path: String) async throws {
    try await onThread {
      let status = try server(StubMaker()).get(path).status
      #expect(status == 400 || status == 404)
    }
  }

  @Test(
    arguments: [
      (.malformed, 400), (.forbidden, 403), (.notFound, 404), (.noPicture, 415), (.failed, 500), (.originFailed, 502),
      (.overloaded, 503), (.timedOut, 504),
    ] as [(PictureAnswer.Refusal, Int)])
  func refusalHasItsStatus(_ refusal: PictureAnswer.Refusal, _ status: Int) async throws {
    try await onThread {
      let answer = try server(StubMaker(.refused(refusal, "the\r\nreason"))).get("/image/a/b")
      #expect(answer.status == status)
      #expect(answer.text == "the  reason\n")
    }
  }

  @Test func pictureThatIsBeingMadeDelaysOnlyItsConnection() async throws {
    try await onThread {
      let maker = StubMaker(isHeld: true)
      let server = try server(maker)
      let client = try server.client()
      // The second request waits behind the first one, and is longer than a read.
      let request = WebResponse.request("PUT", "/v1/original/k", [], body: [UInt8](repeating: 7, count: 300_000))
      try client.send(WebResponse.request("GET", "/image/a/first", [], body: nil) + request.prefix(1000))
      wait { maker.heldCount == 1 }
      #expect(try server.get("/health").status == 200)
      #expect(try server.get("/v1/original/k").status == 404)
      maker.release()
      #expect(try client.response().text == "a first")
      try client.send(Array(request.dropFirst(1000)))
      #expect(try client.response().status == 201)
      try client.send(
        WebResponse.request("GET", "/image/a/b", [], body: nil)
          + WebResponse.request("GET", "/image/a/c", [], body: nil))
      #expect(try client.response().text == "a b")
      #expect(try client.response().text == "a c")
    }
  }

  @Test func clientThatWaitsForAPictureIsNotStalled() async throws {
    try await onThread {
      let maker = StubMaker(isHeld: true)
      let server = try server(maker) { $0.stalledMilliseconds = 50 }
      let client = try server.client()
      try client.send(WebResponse.request("GET", "/image/a/b", [], body: nil))
      wait { maker.heldCount == 1 }
      let stalled = try server.client()
      try stalled.send("GET /health")
      #expect(stalled.isEnded())
      maker.release()
      #expect(try client.response().text == "a b")
    }
  }

  @Test func valueOfAStoreIsSentWithItsFreshness() async throws {
    try await onThread {
      let folder = NSTemporaryDirectory() + "vitrine-picture-\(UUID().uuidString.prefix(8))"
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let store = try CacheStore.open(at: folder, options: StoreOptions(byteBudget: 16 << 20))
      let value = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }
      try store.put(value, for: "a")
      let file = PictureFile(.value(try #require(store.blob("a"))), mediaType: "image/x", freshSeconds: 77)
      let server = try server(StubMaker(.picture(file)))
      let answer = try server.get("/image/a/b")
      #expect(answer.status == 200 && answer.body == value)
      #expect(answer.fields["cache-control"] == "max-age=77")
      let tag = try #require(answer.fields["etag"])
      let unchanged = try server.get("/image/a/b", ["If-None-Match: \(tag)"])
      #expect(unchanged.status == 304 && unchanged.fields["cache-control"] == "max-age=77")
      let client = try server.client()
      try client.send(WebResponse.request("HEAD", "/image/a/b", ["Connection: close"], body: nil))
      var fields: [String] = []
      while let line = try? client.line(), !line.isEmpty { fields.append(line.lowercased()) }
      #expect(fields.contains("content-length: 300000"))
      #expect(client.isEnded())
      try store.close()
    }
  }

  @Test func clientThatLeavesCancelsItsPicture() async throws {
    try await onThread {
      let maker = StubMaker(isHeld: true)
      let server = try server(maker)
      for _ in 0..<3 {
        try server.client().send(WebResponse.request("GET", "/image/a/b", [], body: nil))
      }
      wait { maker.heldCount == 3 && maker.canceledCount == 3 }
      // Some leave with a reset, or while a further request is unread.
      var clients: [Client] = []
      for (isReset, rest) in [
        (true, ""), (true, "GET /health HTTP/1.1\r\n\r\n"), (false, "GET /health HTTP/1.1\r\n\r\n"),
      ] {
        let client = try server.client()
        if isReset { client.resetAtClose() }
        try client.send(WebResponse.request("GET", "/image/a/b", [], body: nil))
        clients.append(client)
        wait { maker.heldCount == 3 + clients.count }
        try client.send(rest)
      }
      #expect(maker.canceledCount == 3)
      clients = []
      wait { maker.heldCount == 6 && maker.canceledCount == 6 }
      maker.release()
      #expect(try server.get("/image/a/c").text == "a c")
    }
  }

  @Test func serverStopsWhileAPictureIsBeingMade() async throws {
    try await onThread {
      let maker = StubMaker(isHeld: true)
      let server = try server(maker)
      let client = try server.client()
      try client.send(WebResponse.request("GET", "/image/a/b", [], body: nil))
      wait { maker.heldCount == 1 }
      server.server.stop()
      #expect(client.isEnded())
      #expect(maker.canceledCount == 1)
      maker.release()
    }
  }
}
