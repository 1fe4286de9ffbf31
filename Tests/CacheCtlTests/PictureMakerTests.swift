#if Server && Images
  import Foundation
  import LocalServer
  import Synchronization
  import Testing
  import Vitrine
  import VitrineImages
  import VitrineServer

  @testable import CacheCtlTool

  /// The pictures of `cachectl serve --image-host`.
  @Suite struct PictureMakerTests {
    private let folder = FileManager.default.temporaryDirectory.path + "/vitrine-maker-\(UUID().uuidString)"

    /// Calls `body` with a maker that may ask a server.
    private func withMaker(
      _ port: Int, styles: [String]? = nil, allowsPrivateAddresses: Bool = true, seconds: Int = 3600,
      encoder: ImageEncoder = ImageEncoder(), places: PicturePlaces = PicturePlaces(most: 64, mostPerServer: 4),
      _ body: (PictureMaker, CacheStore) async throws -> Void
    ) async throws {
      let store = try CacheStore.open(at: folder, options: StoreOptions(byteBudget: 64 << 20))
      defer {
        try? store.close()
        try? FileManager.default.removeItem(atPath: folder)
      }
      let rules = PictureMaker.Rules(
        servers: ["127.0.0.1:\(port)"], styles: try styles.map { Set(try $0.map { try ImageStyle(name: $0) }) },
        allowsPrivateAddresses: allowsPrivateAddresses, seconds: seconds)
      let maker = PictureMaker(
        store, rules, encoder: encoder, decoder: ImageDecoder(limits: PictureMaker.limits), places: places)
      try await body(maker, store)
      // Blocks its thread, and needs the threads of tasks.
      await withCheckedContinuation { continuation in
        Thread.detachNewThread {
          maker.finish()
          continuation.resume()
        }
      }
    }

    /// Returns the bytes of the picture of an answer.
    private func bytes(_ answer: PictureAnswer) throws -> (bytes: [UInt8], file: PictureFile) {
      guard case .picture(let file) = answer else { throw Refused(answer: answer) }
      switch file.content {
      case .value(let blob): return (blob.withBytes { $0.withUnsafeBytes { Array($0) } }, file)
      case .bytes(let bytes): return (bytes, file)
      }
    }

    private struct Refused: Error { let answer: PictureAnswer }

    /// Holds tasks until it is opened.
    private final class Gate: Sendable {
      private let state = Mutex((isOpen: false, waiting: [CheckedContinuation<Void, Never>]()))

      var waitingCount: Int { state.withLock { $0.waiting.count } }

      func wait() async {
        await withCheckedContinuation { continuation in
          let isOpen = state.withLock { state in
            if !state.isOpen { state.waiting.append(continuation) }
            return state.isOpen
          }
          if isOpen { continuation.resume() }
        }
      }

      func open() {
        let waiting = state.withLock { state in
          defer { state.waiting = [] }
          state.isOpen = true
          return state.waiting
        }
        for one in waiting { one.resume() }
      }
    }

    private func refusal(_ answer: PictureAnswer) -> PictureAnswer.Refusal? {
      if case .refused(let refusal, _) = answer { refusal } else { nil }
    }

    @Test(arguments: [false, true]) func pictureHasTheChosenFormat(_ isWebP: Bool) async throws {
      let server = try Photo.serve(["/a": Photo.jpeg()])
      let encoder = isWebP ? ImageEncoder(opaque: .webp(), transparent: .webp()) : ImageEncoder()
      try await withMaker(server.port, encoder: encoder) { maker, _ in
        for (style, type) in [("square-40", "image/jpeg"), ("rounded-40x40-r20", "image/png")] {
          for _ in 0..<2 {
            let (bytes, file) = try bytes(
              await maker.picture(PictureQuery(style: style, url: server.url("/a"))))
            #expect(file.mediaType == (isWebP ? "image/webp" : type))
            guard case .value = file.content else {
              Issue.record("the picture is not sent from the store")
              continue
            }
            let picture = try ImageDecoder().decode(bytes)
            #expect(picture.size.width == 40 && picture.size.height == 40)
          }
        }
      }
      #expect(server.paths == ["/a"])
    }

    @Test func entriesOfOthersAreLeftAlone() async throws {
      let server = try Photo.serve(["/a": Photo.jpeg()])
      try await withMaker(server.port) { maker, store in
        let url = server.url("/a")
        try store.put([1, 2, 3], for: url)
        try store.put([4, 5], for: url, style: Style("square-40")!)
        _ = try bytes(await maker.picture(PictureQuery(style: "square-40", url: url)))
        #expect(store.bytes(url) == [1, 2, 3])
        #expect(store.bytes(url, style: Style("square-40")!) == [4, 5])
        #expect(store.contains(PictureStorage.prefix + url, style: Style("square-40")!))
        // A value that a client stored under the key of a picture, or of its original, is replaced, also if it is a
        // picture.
        for value in [[6], try Photo.jpeg()] {
          try store.put(value, for: PictureStorage.prefix + url)
          try store.put(value, for: PictureStorage.prefix + url, style: Style("square-40")!)
          let (made, _) = try bytes(await maker.picture(PictureQuery(style: "square-40", url: url)))
          #expect(try ImageDecoder().decode(made).size.width == 40)
        }
        #expect(server.paths == ["/a", "/a", "/a"])
      }
    }

    @Test func freshnessIsThatOfTheOrigin() async throws {
      let photo = try Photo.jpeg()
      let server = try TestServer { request in
        let fields = ["/short": ["Cache-Control": "max-age=50000"], "/stale": ["Cache-Control": "no-cache"]]
        return .init(headers: fields[request.path] ?? [:], body: photo)
      }
      try await withMaker(server.port) { maker, _ in
        let (_, short) = try bytes(await maker.picture(PictureQuery(style: "square-40", url: server.url("/short"))))
        #expect((1...50_000).contains(short.freshSeconds))
        let (_, stale) = try bytes(await maker.picture(PictureQuery(style: "square-40", url: server.url("/stale"))))
        #expect(stale.freshSeconds == 0)
        let (_, unstated) = try bytes(await maker.picture(PictureQuery(style: "square-40", url: server.url("/none"))))
        #expect((50_001...86_400).contains(unstated.freshSeconds))
      }
    }

    @Test func onlyListedStylesAreMade() async throws {
      let server = try Photo.serve(["/a": Photo.jpeg()])
      try await withMaker(server.port, styles: ["square-40", "rectangle-80x60"]) { maker, _ in
        #expect(refusal(await maker.picture(PictureQuery(style: "square-41", url: server.url("/a")))) == .forbidden)
        #expect(server.requests.isEmpty)
        _ = try bytes(await maker.picture(PictureQuery(style: "rectangle-80x60", url: server.url("/a"))))
      }
    }

    @Test func slowServerTakesNoMoreThanItsPlaces() async throws {
      let places = PicturePlaces(most: 5, mostPerServer: 3)
      let gate = Gate()
      func task(_ name: String, of server: String) -> Task<String, any Error> {
        Task {
          try await places.run(PictureQuery(style: "a", url: name), of: server) {
            await gate.wait()
            return name
          }
        }
      }
      let first = (0..<3).map { task("s\($0)", of: "slow:80") }
      while gate.waitingCount < 3 { await Task.yield() }
      let (fourth, fifth) = (task("s3", of: "slow:80"), task("s4", of: "slow:80"))
      while places.waitingCount < 2 { await Task.yield() }
      // A request for a picture that has a place needs none, and other servers have theirs.
      let shared = task("s0", of: "slow:80")
      let others = [task("b", of: "b:80"), task("c", of: "c:80")]
      while gate.waitingCount < 6 { await Task.yield() }
      #expect(places.waitingCount == 2 && !places.has(PictureQuery(style: "a", url: "s3")))
      let late = task("d", of: "d:80")
      while places.waitingCount < 3 { await Task.yield() }
      fifth.cancel()
      await #expect(throws: CancellationError.self) { _ = try await fifth.value }
      #expect(places.waitingCount == 2)
      gate.open()
      var ended: [String] = []
      for task in first + others + [fourth, shared, late] { ended.append(try await task.value) }
      #expect(ended == ["s0", "s1", "s2", "b", "c", "s3", "s0", "d"])
      #expect(places.waitingCount == 0 && !places.has(PictureQuery(style: "a", url: "s0")))
      // All places are free again.
      for name in ["x", "y", "z"] {
        try await places.run(PictureQuery(style: "a", url: name), of: "slow:80") {}
      }
    }

    @Test func requestWithoutAPlaceIsOverloadedAtItsLimit() async throws {
      let server = try Photo.serve(["/a": Photo.jpeg()])
      try await withMaker(server.port, seconds: 1, places: PicturePlaces(most: 0, mostPerServer: 1)) { maker, _ in
        let answer = await maker.picture(PictureQuery(style: "square-40", url: server.url("/a")))
        #expect(refusal(answer) == .overloaded)
      }
      #expect(server.requests.isEmpty)
    }

    @Test func spellingsOfOneURLAreOnePicture() async throws {
      let server = try Photo.serve(["/a": Photo.jpeg(), "/a?b": Photo.jpeg()])
      try await withMaker(server.port) { maker, store in
        let urls = ["/a", "/a#x", "/a#y"].map(server.url) + ["HTTP://127.0.0.1:\(server.port)/a"]
        for url in urls { _ = try bytes(await maker.picture(PictureQuery(style: "square-40", url: url))) }
        #expect(server.paths == ["/a"])
        _ = try bytes(await maker.picture(PictureQuery(style: "square-40", url: server.url("/a?b#c"))))
        #expect(server.paths == ["/a", "/a?b"])
        #expect(store.contains(PictureStorage.prefix + server.url("/a"), style: Style("square-40")!))
      }
    }

    @Test func privateAnswersAreNotStored() async throws {
      let photo = try Photo.jpeg()
      let server = try TestServer { request in
        let fields = [
          "/private": "private, max-age=600", "/none": "no-store", "/shared": "max-age=50000, s-maxage=20000",
        ]
        return .init(headers: ["Cache-Control": fields[request.path] ?? ""], body: photo)
      }
      try await withMaker(server.port) { maker, store in
        for path in ["/private", "/none"] {
          for _ in 0..<2 {
            let query = PictureQuery(style: "square-40", url: server.url(path))
            let (made, file) = try bytes(await maker.picture(query))
            #expect(file.isNoStore)
            #expect(try ImageDecoder().decode(made).size.width == 40)
          }
          #expect(!store.contains(PictureStorage.prefix + server.url(path)))
          #expect(!store.contains(PictureStorage.prefix + server.url(path), style: Style("square-40")!))
        }
        #expect(server.paths == ["/private", "/private", "/none", "/none"])
        let (_, shared) = try bytes(await maker.picture(PictureQuery(style: "square-40", url: server.url("/shared"))))
        #expect((1...20_000).contains(shared.freshSeconds) && !shared.isNoStore)
      }
    }

    @Test func confirmedPictureIsSentAsItIsStored() async throws {
      let photo = try Photo.jpeg()
      let server = try TestServer { request in
        request.headers["if-none-match"] == "\"a\""
          ? .init(status: 304, headers: ["ETag": "\"a\"", "Cache-Control": "no-cache"])
          : .init(headers: ["ETag": "\"a\"", "Cache-Control": "no-cache"], body: photo)
      }
      try await withMaker(server.port) { maker, store in
        let query = PictureQuery(style: "square-40", url: server.url("/a"))
        let (first, _) = try bytes(await maker.picture(query))
        let (second, file) = try bytes(await maker.picture(query))
        #expect(first == second && server.requests.count == 2)
        guard case .value = file.content else {
          Issue.record("the confirmed picture was encoded again")
          return
        }
        #expect(store.bytes(PictureStorage.prefix + server.url("/a"), style: Style("square-40")!) == second)
      }
    }

    @Test func canceledRequestEndsItsDownload() async throws {
      let server = try RawServer { _ in [.hold] }
      try await withMaker(server.port, seconds: 3600) { maker, _ in
        let url = "http://127.0.0.1:\(server.port)/a"
        let task = Task { await maker.picture(PictureQuery(style: "square-40", url: url)) }
        while server.heads.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        task.cancel()
        #expect(refusal(await task.value) != nil)
      }
    }

    @Test func failureOfTheOriginIsToldAgainForTheSameRequest() async throws {
      let server = try TestServer { request in
        switch request.path {
        case "/text": .init(body: Array("<p>no picture</p>".utf8))
        case "/gone": .status(410)
        case "/broken": .status(500)
        default: .status(404)
        }
      }
      try await withMaker(server.port) { maker, _ in
        for (path, expected) in [
          ("/text", PictureAnswer.Refusal.noPicture), ("/gone", .notFound), ("/missing", .notFound),
          ("/broken", .originFailed),
        ] {
          for _ in 0..<2 {
            let answer = await maker.picture(PictureQuery(style: "square-40", url: server.url(path)))
            #expect(refusal(answer) == expected, "\(path): \(answer)")
          }
        }
      }
    }

    @Test func originWithoutAnAnswerTimesOut() async throws {
      let server = try RawServer { _ in [.hold] }
      try await withMaker(server.port, seconds: 1) { maker, _ in
        let answer = await maker.picture(PictureQuery(style: "square-40", url: "http://127.0.0.1:\(server.port)/a"))
        #expect(refusal(answer) == .timedOut)
      }
    }

    @Test func serversThatAreNotListedAreNotAsked() async throws {
      let other = try Photo.serve(["/a": Photo.jpeg()])
      let place = other.url("/a")
      let server = try TestServer { _ in .status(302, ["Location": place]) }
      try await withMaker(server.port) { maker, _ in
        for url in [
          place, server.url("/a"), "https://example.org/a", "http://127.0.0.1:\(server.port)@x/",
          "http://user@127.0.0.1:\(server.port)/a", "http://user:word@127.0.0.1:\(server.port)/a",
        ] {
          #expect(refusal(await maker.picture(PictureQuery(style: "square-40", url: url))) == .forbidden, "\(url)")
        }
      }
      #expect(other.requests.isEmpty)
    }

    @Test func textThatIsNoURLOfTheWebIsMalformed() async throws {
      try await withMaker(1) { maker, _ in
        for url in ["", "file:///etc/passwd", "data:,a", "a", "http://", "//a/b"] {
          #expect(refusal(await maker.picture(PictureQuery(style: "square-40", url: url))) == .malformed, "\(url)")
        }
      }
    }

    @Test func answerThatTurnsPrivateIsSentWithNoStore() async throws {
      let photo = try Photo.jpeg()
      let server = try TestServer { request in
        request.headers["if-none-match"] == nil
          ? .init(headers: ["ETag": "\"a\"", "Cache-Control": "max-age=0"], body: photo)
          : .init(status: 304, headers: ["ETag": "\"a\"", "Cache-Control": "private"])
      }
      try await withMaker(server.port) { maker, _ in
        let query = PictureQuery(style: "square-40", url: server.url("/a"))
        let (first, second) = (await maker.picture(query), await maker.picture(query))
        let files = (try bytes(first).file, try bytes(second).file)
        #expect(!files.0.isNoStore && files.1.isNoStore)
      }
    }

    @Test func privateAddressesAreRefusedUnlessAllowed() async throws {
      let server = try Photo.serve(["/a": Photo.jpeg()])
      try await withMaker(server.port, allowsPrivateAddresses: false) { maker, _ in
        let answer = await maker.picture(PictureQuery(style: "square-40", url: server.url("/a")))
        #expect(refusal(answer) == .forbidden)
      }
      #expect(server.requests.isEmpty)
    }

    @Test(arguments: ["original", "square-2049", "square-0", "free-a.v1", "frob", "square-1025@2x"])
    func styleWithoutABoundedSizeIsMalformed(_ style: String) async throws {
      let server = try Photo.serve(["/a": Photo.jpeg()])
      try await withMaker(server.port) { maker, _ in
        let answer = await maker.picture(PictureQuery(style: style, url: server.url("/a")))
        #expect(refusal(answer) == .malformed)
      }
      #expect(server.requests.isEmpty)
    }

    @Test(arguments: [
      ["--image-host", ""], ["--image-host", "a,b"], ["--image-host", "a:0"], ["--image-host", "a:x"],
      ["--image-host", "::1"], ["--image-host", "[::1"], ["--image-host", "http://a"], ["--image-host", "*.a"],
      ["--image-host", ".", "--image-style", "any"], ["--image-host", "a"],
      ["--image-host", "a", "--image-style", "frob"], ["--image-host", "a", "--image-style", "original"],
      ["--image-host", "a", "--image-style", "square-2049"],
      ["--image-host", "a", "--image-style", "square-40", "--image-style", "any"],
      ["--image-host", "a", "--image-style", "any", "--read-only"],
      ["--image-host", "a", "--image-style", "any", "--image-timeout", "0"],
      ["--image-host", "a", "--image-style", "any", "--image-age", "9999999999"], ["--image-age", "5"],
      ["--image-host", "a", "--image-style", "any", "--image-format", "gif"],
      ["--image-private"], ["--image-timeout", "5"], ["--image-style", "any"], ["--image-format", "webp"],
    ])
    func optionsThatContradictAreUsageErrors(_ words: [String]) throws {
      let outcome = try Tool().run(["serve", "s", "--http", "0"] + words)
      #expect(outcome.status == 2)
      #expect(outcome.diagnostics.contains("--image-"))
    }
  }
#endif
