import Foundation
import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// Work that several requests share, and results that must stay apart.
@Suite struct SharedWorkTests {
  let styles = try! [20, 30, 40, 50, 60].map { try ImageStyle.square(Points(Double($0))) }

  private func all(
    _ pipeline: PicturePipeline, _ requests: [PictureRequest]
  ) async throws -> [PictureResponse] {
    try await withThrowingTaskGroup(of: PictureResponse.self) { group in
      for request in requests { group.addTask { try await pipeline.image(for: request) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }

  @Test func fiveStylesTakeOneDownloadAndOneDecode() async throws {
    // Large, so that decoding takes longer than the arrival of all requests.
    let large = try ImageEncoder.encode(.gradient(900, 700), as: .jpeg(quality: 0.9))
    for keeps in [Keeping.both, .styled] {
      let bench = try PipelineBench(GatedLoader(["a": large], isOpen: false))
      let pipeline = bench.pipeline { $0.keeps = keeps }
      let responses = Task { try await all(pipeline, styles.map { PictureRequest("a", style: $0) }) }
      try await until { bench.loader.loads.count == 1 && pipeline.pictures.originals.joined.waiterCount == 5 }
      bench.loader.open()
      let decodes = try await responses.value.map(\.decodeCount)
      #expect(bench.loader.loads.count == 1 && decodes.reduce(0, +) == 1, "\(decodes)")
      // Further styles are made from the kept original.
      if keeps == .both {
        let more = try [21, 31, 41, 51, 61].map { try ImageStyle.square(Points(Double($0))) }
        let again = try await all(bench.pipeline(), more.map { PictureRequest("a", style: $0) })
        #expect(again.allSatisfy { $0.origin == .original } && bench.loader.loads.count == 1)
      }
      try bench.end()
    }
  }

  @Test func originalOfManyStylesIsSavedOnce() async throws {
    let loader = GatedLoader(["a": PipelineBench.jpeg], isOpen: false)
    let bench = try PipelineBench(loader)
    let storage = ScriptedStorage()
    let pipeline = bench.pipeline(storage) { $0.keeps = .both }
    let responses = Task { try await all(pipeline, styles.map { PictureRequest("a", style: $0) }) }
    try await until { loader.loads.count == 1 && pipeline.pictures.originals.joined.waiterCount == 5 }
    loader.open()
    _ = try await responses.value
    #expect(storage.count(of: .saveOriginal) == 1 && storage.count(of: .saveStyled) == 5)
    try bench.end()
  }

  @Test func signedURLsOfOneKeyAreDownloadedOnce() async throws {
    let urls = (0..<20).map { "https://example.org/a?signature=\($0)" }
    let bench = try PipelineBench(
      GatedLoader(Dictionary(uniqueKeysWithValues: urls.map { ($0, PipelineBench.jpeg) }), isOpen: false))
    let pipeline = bench.pipeline()
    let responses = Task { try await all(pipeline, urls.map { PictureRequest($0, key: "a", style: styles[0]) }) }
    try await until { bench.loader.loads.count == 1 && pipeline.pictures.joined.waiterCount == 20 }
    bench.loader.open()
    #expect(try await responses.value.count == 20 && bench.loader.loads.count == 1)
    try bench.end()
  }

  /// Requests for two URLs of one key. The second one joins the load of the first, and then the loader answers.
  private func expiredAndValid(
    _ bench: PipelineBench, _ pipeline: PicturePipeline, _ isSameStyle: Bool
  ) async throws -> (Task<PictureResponse, any Error>, Task<PictureResponse, any Error>) {
    let first = Task { try await pipeline.image(for: PictureRequest("expired", key: "a", style: styles[0])) }
    try await until { bench.loader.loads.count == 1 }
    let style = styles[isSameStyle ? 0 : 1]
    let second = Task { try await pipeline.image(for: PictureRequest("valid", key: "a", style: style)) }
    let joined = { isSameStyle ? pipeline.pictures.joined.waiterCount : pipeline.pictures.originals.joined.waiterCount }
    try await until { joined() == 2 }
    bench.loader.open()
    return (first, second)
  }

  /// The first URL of the key has a signature that has expired.
  @Test(arguments: [true, false]) func failureOfAnotherURLIsNotShared(_ isSameStyle: Bool) async throws {
    let bench = try PipelineBench(GatedLoader(["valid": PipelineBench.jpeg], isOpen: false))
    let pipeline = bench.pipeline()
    let (first, second) = try await expiredAndValid(bench, pipeline, isSameStyle)
    await #expect(throws: LoadError.status(404)) { try await first.value }
    #expect(try await second.value.origin == .network)
    try bench.end()
  }

  /// A login page answers the first URL of the key.
  @Test(arguments: [true, false]) func loginPageOfAnotherURLIsNotShared(_ isSameStyle: Bool) async throws {
    let page = Array("<html>log in</html>".utf8)
    let decoder = GatedDecoder(holding: page)
    let bench = try PipelineBench(GatedLoader(["expired": page, "valid": PipelineBench.jpeg], isOpen: false))
    let pipeline = bench.pipeline { $0.decoder = decoder }
    let (first, second) = try await expiredAndValid(bench, pipeline, isSameStyle)
    try await until { decoder.waitingCount > 0 }
    decoder.open()
    await #expect(throws: ImageError.self) { try await first.value }
    #expect(try await second.value.origin == .network && bench.loader.loads.count == 2)
    // Only the first URL is known as useless.
    #expect(try await pipeline.image(for: PictureRequest("valid", style: styles[2])).origin == .network)
    await #expect(throws: LoadError.self) {
      try await pipeline.image(for: PictureRequest("expired", style: styles[isSameStyle ? 0 : 1]))
    }
    #expect(bench.loader.loads.count == 3)
    try bench.end()
  }

  /// A server that cannot be reached fails all of its URLs at once.
  @Test func signedURLsOfAnUnreachableServerFailTogether() async throws {
    let loader = GatedLoader([:], isOpen: false, failure: .unreachable("no route"))
    let bench = try PipelineBench(loader)
    let pipeline = bench.pipeline { $0.attemptCount = 1 }
    let tasks = (0..<20).map { number in
      let request = PictureRequest("https://example.org/a?s=\(number)", key: "a", style: styles[number % 2])
      return Task { try await pipeline.image(for: request) }
    }
    try await until { loader.loads.count == 1 && pipeline.pictures.originals.joined.waiterCount == 2 }
    try await until { pipeline.pictures.joined.waiterCount == 20 }
    loader.open()
    for task in tasks { await #expect(throws: LoadError.unreachable("no route")) { try await task.value } }
    #expect(loader.loads.count == 1)
    try bench.end()
  }

  @Test func concurrentPoliciesAllEndWithTheNewPicture() async throws {
    for round in 0..<4 {
      let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
      let pipeline = bench.pipeline { $0.keeps = round % 2 == 0 ? .both : .styled }
      let use = PictureRequest("a", style: styles[0])
      let old = try await pipeline.image(for: use).bitmap.bytes
      bench.loader.set("a", PipelineBench.other)
      bench.loader.close()
      var requests: [PictureRequest] = []
      for policy in PictureRequest.CachePolicy.allCases {
        for style in styles[..<3] {
          requests.append(PictureRequest("a", style: style, cachePolicy: policy))
        }
      }
      // A `cacheOnly` request may find nothing.
      let tasks = requests.map { request in Task { try await pipeline.image(for: request) } }
      try await until { bench.loader.loads.count == 2 }
      bench.loader.open()
      var reloaded: [(style: ImageStyle, bytes: [UInt8])] = []
      for (request, task) in zip(requests, tasks) {
        do {
          let response = try await task.value
          if request.cachePolicy == .reload || request.cachePolicy == .revalidate {
            reloaded.append((request.style, response.bitmap.bytes))
          }
        } catch {
          #expect(error as? LoadError == .notCached && request.cachePolicy == .cacheOnly)
        }
      }
      #expect(try await pipeline.image(for: use).bitmap.bytes != old)
      for style in styles[..<3] {
        let (now, later) = (
          try await pipeline.image(for: PictureRequest("a", style: style)),
          try await bench.pipeline().image(for: PictureRequest("a", style: style))
        )
        #expect(now.bitmap.bytes == later.bitmap.bytes)
        let ofStyle = reloaded.filter { $0.style == style }
        #expect(ofStyle.count == 2 && ofStyle.allSatisfy { $0.bytes == now.bitmap.bytes })
      }
      try bench.end()
    }
  }

  /// The download's second lookup of the storage finds an original that the first one missed. This answers the request
  /// that began the download, but not a request that must ask the network and has joined it meanwhile.
  @Test(arguments: [PictureRequest.CachePolicy.reload, .revalidate])
  func storedOriginalDoesNotAnswerAJoinedRequestForTheNetwork(_ policy: PictureRequest.CachePolicy) async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.other]))
    let stored = StoredOriginal(bytes: .array(PipelineBench.jpeg), metadata: [])
    let storage = ScriptedStorage(original: stored, missCount: 1, held: 2)
    let pipeline = bench.pipeline(storage)
    let first = Task { try await pipeline.image(for: PictureRequest("a", style: styles[0])) }
    try await until { storage.count(of: .original) == 2 }
    let second = Task {
      try await pipeline.image(for: PictureRequest("a", style: styles[0], cachePolicy: policy))
    }
    try await until { pipeline.pictures.originals.joined.waiterCount == 2 }
    storage.admit()
    let (kept, loaded) = try await (first.value, second.value)
    #expect(kept.origin == .original && loaded.origin == .network)
    #expect(bench.loader.loads.count == 1 && kept.bitmap.bytes != loaded.bitmap.bytes)
    try bench.end()
  }

  /// The second original is not kept, and the other style was made from the first.
  @Test func styleOfAnOlderOriginalIsAMissWithoutAKeptOriginal() async throws {
    for keeps in [Keeping.styled, .automatic, .both] {
      let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
      let first = bench.pipeline { $0.keeps = keeps }
      var old: [[UInt8]] = []
      for style in styles[..<2] {
        old.append(try await first.image(for: PictureRequest("a", style: style)).bitmap.bytes)
      }
      bench.loader.set("a", PipelineBench.other)
      let second = bench.pipeline { $0.keeps = .styled }
      _ = try await second.image(for: PictureRequest("a", style: styles[0], cachePolicy: .reload))
      for pipeline in [second, bench.pipeline()] {
        for (style, old) in zip(styles, old) {
          #expect(try await pipeline.image(for: PictureRequest("a", style: style)).bitmap.bytes != old)
        }
      }
      try bench.end()
    }
  }

  @Test func failedReloadLeavesOthersTheKeptOriginal() async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
    bench.loader.set(headers: ["Cache-Control": "max-age=10"])
    let time = Locked<Int64>(1_700_000_000_000)
    let pipeline = bench.pipeline { $0.now = { time.withLock { $0 } } }
    _ = try await pipeline.image(for: PictureRequest("a", style: styles[0]))
    time.withLock { $0 += 60_000 }
    bench.loader.set("a", nil)
    bench.loader.close()
    let reload = Task {
      try await pipeline.image(for: PictureRequest("a", style: styles[0], cachePolicy: .reload))
    }
    try await until { bench.loader.loads.count == 2 }
    // It joins the download. If that fails, only this request falls back to the kept original.
    let patient = Task {
      try await pipeline.image(for: PictureRequest("a", style: styles[1], cachePolicy: .staleIfError))
    }
    try await until { pipeline.pictures.originals.joined.waiterCount == 2 }
    bench.loader.open()
    await #expect(throws: LoadError.status(404)) { try await reload.value }
    #expect(try await patient.value.origin == .original && bench.loader.loads.count == 2)
    try bench.end()
  }

  @Test func cacheOnlyDoesNotWaitForADownloadInProgress() async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg], isOpen: false))
    let pipeline = bench.pipeline()
    let other = Task { try await pipeline.image(for: PictureRequest("a", style: styles[0])) }
    try await until { bench.loader.loads.count == 1 }
    await #expect(throws: LoadError.notCached) {
      try await pipeline.image(for: PictureRequest("a", style: styles[0], cachePolicy: .cacheOnly))
    }
    bench.loader.open()
    #expect(try await other.value.origin == .network && bench.loader.loads.count == 1)
    try bench.end()
  }

  @Test func eachCanceledRequestFailsOnceAndTheLastEndsTheDownload() async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg], isOpen: false))
    let pipeline = bench.pipeline()
    let heard = Locked(0)
    let tasks = (0..<30).map { number in
      Task {
        defer { heard.withLock { $0 += 1 } }
        _ = try await pipeline.image(for: PictureRequest("a", style: styles[number % 5]))
      }
    }
    try await until { pipeline.preheater.requestCount == 30 && bench.loader.loads.count == 1 }
    for task in tasks { task.cancel() }
    for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
    #expect(heard.withLock { $0 } == 30 && pipeline.preheater.requestCount == 0)
    try await until { bench.loader.cancelledCount == 1 }
    bench.loader.open()
    #expect(try await pipeline.image(for: PictureRequest("a", style: styles[0])).origin == .network)
    try bench.end()
  }

  @Test func noStorePictureIsNotKeptInMemory() async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
    bench.loader.set(headers: ["Cache-Control": "no-store"])
    let pipeline = bench.pipeline()
    for _ in 0..<2 { _ = try await pipeline.image(for: PictureRequest("a", style: styles[0])) }
    #expect(bench.loader.loads.count == 2 && bench.store.count == 0)
    try bench.end()
  }

  /// The stale picture is shown while the new one is requested. The answer is checked before it replaces anything.
  @Test(arguments: [true, false]) func onlyADecodableResponseReplacesTheStalePicture(isPicture: Bool) async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
    bench.loader.set(headers: ["Cache-Control": "max-age=10, stale-while-revalidate=1000"])
    let time = Locked<Int64>(1_700_000_000_000)
    let pipeline = bench.pipeline { $0.now = { time.withLock { $0 } } }
    let request = PictureRequest("a", style: styles[0])
    let before = try await pipeline.image(for: request)
    time.withLock { $0 += 60_000 }
    bench.loader.set("a", isPicture ? PipelineBench.other : Array("<html>not now</html>".utf8))
    #expect(try await pipeline.image(for: request).bitmap.bytes == before.bitmap.bytes)
    try await until { bench.loader.loads.count == 2 }
    if isPicture {
      try await until { bench.store.bytes("a") == PipelineBench.other }
      try await until { bench.store.contains("a", style: styles[0].key) }
      #expect(try await pipeline.image(for: request).bitmap.bytes != before.bitmap.bytes)
    } else {
      try await Task.sleep(nanoseconds: 50_000_000)
      #expect(bench.store.bytes("a") == PipelineBench.jpeg)
    }
    try bench.end()
  }
}
