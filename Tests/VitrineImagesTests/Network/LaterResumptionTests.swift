import Foundation
import PictureFiles
import Testing

@testable import VitrineImages

/// Parts of bodies whose download was given up, used by a later request for the same body.
@Suite struct LaterResumptionTests {
  static let body = LoaderTests.body

  /// Forwards all calls, and counts the bytes.
  private struct CountingLoader: ByteLoading {
    let byteCount = Locked(0)
    private let loader = HTTPLoader(timeoutSeconds: 3600)

    private struct Counter: LoadReceiving {
      let receiver: any LoadReceiving
      let byteCount: Locked<Int>

      func begin(_ response: LoadResponse) throws { try receiver.begin(response) }

      func receive(_ bytes: Data) throws {
        try receiver.receive(bytes)
        byteCount.withLock { $0 += bytes.count }
      }
    }

    func load(_ request: LoadRequest, _ receiver: any LoadReceiving) async throws {
      try await loader.load(request, Counter(receiver: receiver, byteCount: byteCount))
    }
  }

  /// Sends a whole body very slowly, or only up to `cut`. Sends the rest of a body at once.
  private static func server(_ body: [UInt8], cut: Int? = nil, tag: String? = "\"v\"") throws -> TestServer {
    try TestServer { request in
      var headers: [String: String] = [:]
      headers["ETag"] = tag
      guard let start = request.headers["range"].flatMap({ Int($0.dropFirst(6).dropLast()) }),
        request.headers["if-range"] == tag
      else { return .init(headers: headers, body: body, cut: cut, pause: cut == nil ? 60_000 : 0) }
      headers["Content-Range"] = "bytes \(start)-\(body.count - 1)/\(body.count)"
      return .init(status: 206, headers: headers, body: Array(body[start...]))
    }
  }

  @Test func canceledDownloadIsResumedByTheNextRequest() async throws {
    var random = SeededRandom(seed: 5)
    let noise = Bitmap.drawn(100, 100) { _, _ in
      let word = random.next()
      return RGBA(
        UInt8(truncatingIfNeeded: word), UInt8(truncatingIfNeeded: word >> 8), UInt8(truncatingIfNeeded: word >> 16))
    }
    let picture = try ImageEncoder.encode(noise, as: .png)
    let server = try Self.server(picture)
    let loader = CountingLoader()
    let pipeline = PicturePipeline(.init(loader: loader))
    let request = PictureRequest(server.url("/a"))
    let first = Task { try await pipeline.image(for: request) }
    try await until { loader.byteCount.withLock { $0 } > 0 }
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    let fetcher = pipeline.pictures.fetcher
    try await until { fetcher.partialByteCount > 0 }
    let known = fetcher.partialByteCount
    let response = try await pipeline.image(for: request)
    #expect(response.bitmap.size == noise.size && response.receivedByteCount == picture.count - known)
    #expect(server.requests.map { $0.headers["range"] } == [nil, "bytes=\(known)-"])
    #expect(fetcher.partialByteCount == 0)
  }

  private func fetcher(_ most: Int = 1 << 20, partial: MemoryLimits = .init(cost: 1 << 20, count: 2)) -> HTTPFetcher {
    HTTPFetcher(
      HTTPLoader(timeoutSeconds: 3600),
      .init(attemptCount: 1, mostBytes: most, failureMilliseconds: 0, partial: partial))
  }

  @Test func interruptedDownloadIsResumedByTheNextRequest() async throws {
    let server = try Self.server(Self.body, cut: 40_000)
    let fetcher = fetcher()
    let request = LoadRequest(url: server.url("/"))
    await #expect(throws: LoadError.self) { try await fetcher.fetch(request) }
    #expect(fetcher.partialByteCount == 40_000)
    // A request with other headers does not use the part.
    await #expect(throws: LoadError.self) {
      try await fetcher.fetch(LoadRequest(url: request.url, headers: ["X": "1"]))
    }
    let fetched = try await fetcher.fetch(request)
    #expect(fetched.body == Self.body && fetched.receivedByteCount == 60_000 && fetched.requestCount == 1)
    #expect(server.requests.map { $0.headers["range"] } == [nil, nil, "bytes=40000-"])
  }

  @Test func changedBodyIsDownloadedFromItsBeginning() async throws {
    let other = Array(Self.body.reversed())
    let count = Locked(0)
    let server = try TestServer { _ in
      count.withLock { $0 += 1 }
      return count.withLock { $0 } == 1
        ? .init(headers: ["ETag": "\"v\""], body: Self.body, cut: 40_000)
        : .init(headers: ["ETag": "\"w\""], body: other)
    }
    let fetcher = fetcher()
    let request = LoadRequest(url: server.url("/"))
    await #expect(throws: LoadError.self) { try await fetcher.fetch(request) }
    #expect(try await fetcher.fetch(request).body == other && fetcher.partialByteCount == 0)
  }

  @Test func partialBodiesStayWithinTheirLimits() async throws {
    let server = try Self.server(Self.body, cut: 40_000)
    let fetcher = fetcher(partial: MemoryLimits(cost: 100_000, count: 2))
    for path in ["/a", "/b", "/c"] {
      await #expect(throws: LoadError.self) { try await fetcher.fetch(LoadRequest(url: server.url(path))) }
      #expect(fetcher.partialByteCount <= 80_000)
    }
    #expect(try await fetcher.fetch(LoadRequest(url: server.url("/c"))).requestCount == 1)
    fetcher.trim(toShare: 0)
    #expect(fetcher.partialByteCount == 0)
    let none = self.fetcher(partial: MemoryLimits(cost: 39_999))
    await #expect(throws: LoadError.self) { try await none.fetch(LoadRequest(url: server.url("/a"))) }
    #expect(none.partialByteCount == 0)
  }

  @Test func partialBodyThatCannotBeResumedIsNotHeld() async throws {
    // Without an entity tag; denied; larger than the limit, which only the bytes show.
    let nameless = try Self.server(Self.body, cut: 40_000, tag: nil)
    let denied = try TestServer { _ in .init(status: 404, headers: ["ETag": "\"v\""], body: Self.body) }
    let large = try TestServer { _ in .init(headers: ["ETag": "\"v\""], body: Self.body, declaredByteCount: -1) }
    for server in [nameless, denied, large] {
      let fetcher = fetcher(50_000)
      await #expect(throws: LoadError.self) { try await fetcher.fetch(LoadRequest(url: server.url("/"))) }
      #expect(fetcher.partialByteCount == 0)
    }
  }
}
