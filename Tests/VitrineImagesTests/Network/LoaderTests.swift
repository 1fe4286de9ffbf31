import Foundation
import Testing

@testable import VitrineImages

@Suite struct LoaderTests {
  final class Receiver: LoadReceiving {
    let state = Locked((response: LoadResponse?.none, bytes: [UInt8](), pieces: 0))
    private let most: Int
    init(most: Int = .max) { self.most = most }

    func begin(_ response: LoadResponse) throws { state.withLock { $0.response = response } }
    func receive(_ bytes: Data) throws {
      let count = state.withLock { state in
        state.bytes += bytes
        state.pieces += 1
        return state.bytes.count
      }
      if count > most { throw LoadError.tooLarge(limit: most) }
    }
    var bytes: [UInt8] { state.withLock { $0.bytes } }
    var response: LoadResponse? { state.withLock { $0.response } }
  }

  static let body = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }

  @Test(arguments: LoaderKind.allCases)
  func bytesArriveUnchangedInPieces(_ kind: LoaderKind) async throws {
    let loader = kind.loader()
    let server = try TestServer { _ in .init(headers: ["ETag": "\"x\""], body: Self.body, pause: 2) }
    let receiver = Receiver()
    try await loader.load(LoadRequest(url: server.url("/a?b=c"), headers: ["X-Own": "1"]), receiver)
    #expect(receiver.bytes == Self.body && receiver.response?.status == 200)
    #expect(receiver.response?.expectedByteCount == Self.body.count && receiver.response?.header("etag") == "\"x\"")
    #expect(receiver.state.withLock { $0.pieces } > 1)
    #expect(server.requests.map(\.path) == ["/a?b=c"] && server.requests[0].headers["x-own"] == "1")
  }

  @Test(arguments: LoaderKind.allCases)
  func redirectsAreFollowedUpToALimit(_ kind: LoaderKind) async throws {
    let loader = kind.loader()
    let server = try TestServer { request in
      switch request.path {
      case "/a": .status(302, ["Location": "/b"])
      case "/loop": .status(302, ["Location": "/loop"])
      default: .init(body: [1, 2, 3])
      }
    }
    let receiver = Receiver()
    try await loader.load(LoadRequest(url: server.url("/a")), receiver)
    #expect(receiver.bytes == [1, 2, 3] && server.paths == ["/a", "/b"])
    await #expect(throws: LoadError.tooManyRedirects) {
      try await loader.load(LoadRequest(url: server.url("/loop")), Receiver())
    }
  }

  @Test(arguments: LoaderKind.allCases)
  func errorStatusReachesTheReceiver(_ kind: LoaderKind) async throws {
    let loader = kind.loader()
    let server = try TestServer { request in .status(Int(request.path.dropFirst())!) }
    for status in [304, 404, 500] {
      let receiver = Receiver()
      try await loader.load(LoadRequest(url: server.url("/\(status)")), receiver)
      #expect(receiver.response?.status == status && receiver.bytes.isEmpty)
    }
  }

  @Test(arguments: LoaderKind.allCases)
  func interruptedConnectionIsATransientError(_ kind: LoaderKind) async throws {
    let loader = kind.loader()
    let server = try TestServer { request in
      request.path == "/cut"
        ? .init(body: Self.body, cut: 50_000) : .init(body: Self.body, declaredByteCount: 200_000)
    }
    for path in ["/cut", "/short"] {
      let receiver = Receiver()
      await #expect { try await loader.load(LoadRequest(url: server.url(path)), receiver) } throws: { error in
        (error as? LoadError)?.isTransient == true
      }
      #expect(Self.body.starts(with: receiver.bytes))
    }
  }

  @Test(arguments: LoaderKind.allCases)
  func closedPortAndInvalidURLAreErrors(_ kind: LoaderKind) async throws {
    let loader = kind.loader()
    let port = try TestServer { _ in .init() }.port
    await #expect { try await loader.load(LoadRequest(url: "http://127.0.0.1:\(port)/"), Receiver()) } throws: {
      if case .unreachable? = $0 as? LoadError { true } else { false }
    }
    for url in ["", "no url", "file:///etc/passwd", "http://", "ftp://a/b", "http:///a"] {
      await #expect(throws: LoadError.invalidURL(url)) { try await loader.load(LoadRequest(url: url), Receiver()) }
    }
  }

  @Test(arguments: LoaderKind.allCases)
  func errorOfTheReceiverEndsTheLoad(_ kind: LoaderKind) async throws {
    let loader = kind.loader()
    let server = try TestServer { _ in .init(body: Self.body, pause: 20) }
    let receiver = Receiver(most: 10_000)
    await #expect(throws: LoadError.tooLarge(limit: 10_000)) {
      try await loader.load(LoadRequest(url: server.url("/")), receiver)
    }
    #expect(receiver.bytes.count < Self.body.count)
  }

  @Test(arguments: LoaderKind.allCases)
  func cancellationEndsTheLoad(_ kind: LoaderKind) async throws {
    let loader = kind.loader()
    let server = try TestServer { _ in .init(body: Self.body, pause: 10_000) }
    let receiver = Receiver()
    let task = Task { try await loader.load(LoadRequest(url: server.url("/")), receiver) }
    try await until { !receiver.bytes.isEmpty }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(receiver.bytes.count < Self.body.count)
  }

  @Test(arguments: LoaderKind.allCases)
  func taskCanceledBeforeItsLoadSendsNoRequest(_ kind: LoaderKind) async throws {
    let loader = kind.loader()
    let server = try TestServer { _ in .init(body: Self.body) }
    for _ in 0..<300 {
      let early = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        try await loader.load(LoadRequest(url: server.url("/")), Receiver())
      }
      await #expect(throws: CancellationError.self) { try await early.value }
    }
    #expect(server.requests.isEmpty)
  }

  @Test(arguments: LoaderKind.allCases)
  func concurrentLoadsKeepTheirBytesApart(_ kind: LoaderKind) async throws {
    let loader = kind.loader()
    let server = try TestServer { request in
      .init(body: [UInt8](repeating: UInt8(request.path.dropFirst())!, count: 30_000))
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<60 {
        group.addTask {
          let receiver = Receiver()
          try await loader.load(LoadRequest(url: server.url("/\(number)")), receiver)
          #expect(receiver.bytes == [UInt8](repeating: UInt8(number), count: 30_000))
        }
      }
      try await group.waitForAll()
    }
  }
}
