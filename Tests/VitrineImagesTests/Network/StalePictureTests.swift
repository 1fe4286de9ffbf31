import Foundation
import Testing
import Vitrine

@testable import VitrineImages

/// Stale pictures while their server fails or is silent.
@Suite struct StalePictureTests {
  /// Answers by number, from 1. Waits while it is closed.
  private final class NumberedLoader: ByteLoading {
    private struct State {
      var isOpen = true
      var count = 0
      var canceledCount = 0
    }

    private let state = Locked(State())
    private let answer: @Sendable (Int) -> (status: Int, body: [UInt8])
    private let headers: [String: String]

    init(_ cacheControl: String, _ answer: @escaping @Sendable (Int) -> (status: Int, body: [UInt8])) {
      headers = ["Cache-Control": cacheControl]
      self.answer = answer
    }

    var count: Int { state.withLock { $0.count } }
    var canceledCount: Int { state.withLock { $0.canceledCount } }
    func set(isOpen: Bool) { state.withLock { $0.isOpen = isOpen } }

    func load(_ request: LoadRequest, _ receiver: any LoadReceiving) async throws {
      let number = state.withLock { state in
        state.count += 1
        return state.count
      }
      let (status, body) = answer(number)
      while status == 200, !state.withLock({ $0.isOpen }) {
        if Task.isCancelled {
          state.withLock { $0.canceledCount += 1 }
          throw CancellationError()
        }
        try? await Task.sleep(nanoseconds: 300_000)
      }
      try receiver.begin(LoadResponse(status: status, headers: headers, expectedByteCount: body.count))
      try receiver.receive(Data(body))
    }
  }

  private let bench: PipelineBench
  private let time = Locked<Int64>(1_700_000_000_000)

  init() throws { bench = try PipelineBench() }

  private func pipeline(
    _ loader: NumberedLoader, _ change: (inout PicturePipeline.Configuration) -> Void = { _ in }
  ) -> PicturePipeline {
    bench.pipeline { configuration in
      let time = time
      configuration.loader = loader
      configuration.attemptCount = 3
      configuration.memory = MemoryLimits(cost: 0)
      configuration.now = { time.withLock { $0 } }
      change(&configuration)
    }
  }

  private func pass(_ seconds: Int64) { time.withLock { $0 += seconds * 1000 } }

  private var stored: Int? { bench.store.blob("a")?.byteCount }

  @Test(arguments: [ImageStyle.original, try! .square(20)], [PictureRequest.CachePolicy.use, .staleIfError])
  func failedAttemptShowsTheStalePicture(_ style: ImageStyle, _ policy: PictureRequest.CachePolicy) async throws {
    let loader = NumberedLoader("max-age=60") { number in
      number == 2 ? (500, []) : (200, number == 1 ? PipelineBench.jpeg : PipelineBench.other)
    }
    let pipeline = pipeline(loader)
    let request = PictureRequest("a", style: style, cachePolicy: policy)
    let first = try await pipeline.image(for: request)
    pass(61)
    loader.set(isOpen: false)
    // The second attempt cannot end yet.
    let stale = try await pipeline.image(for: request)
    #expect(stale.bitmap.size == first.bitmap.size && stale.requestCount == 0)
    #expect(stale.origin == (style == .original ? .original : .styled))
    loader.set(isOpen: true)
    await pipeline.finishRenewals()
    // A renewal that begins only after the third attempt has ended asks once more.
    #expect(stored == PipelineBench.other.count && (3...4).contains(loader.count))
    #expect(try await pipeline.image(for: request).requestCount == 0)
    try bench.end()
  }

  @Test func silentServerShowsTheStalePicture() async throws {
    let loader = NumberedLoader("max-age=60") { (200, $0 == 1 ? PipelineBench.jpeg : PipelineBench.other) }
    let pipeline = pipeline(loader) { $0.silenceMilliseconds = 0 }
    let request = PictureRequest("a", style: try .square(20))
    _ = try await pipeline.image(for: request)
    pass(61)
    loader.set(isOpen: false)
    for _ in 0..<3 { #expect(try await pipeline.image(for: request).origin == .styled) }
    try await until { loader.count == 2 }
    loader.set(isOpen: true)
    await pipeline.finishRenewals()
    #expect(stored == PipelineBench.other.count && loader.count == 2)
    try bench.end()
  }

  /// Preheating waits for the silent server. A request that joins it does not.
  @Test func requestThatJoinsPreheatingShowsTheStalePicture() async throws {
    let loader = NumberedLoader("max-age=60") { (200, $0 == 1 ? PipelineBench.jpeg : PipelineBench.other) }
    let pipeline = pipeline(loader) {
      $0.silenceMilliseconds = 0
      $0.preheatingPauseMilliseconds = 1
    }
    let request = PictureRequest("a", style: try .square(20))
    _ = try await pipeline.image(for: request)
    pass(61)
    loader.set(isOpen: false)
    pipeline.startPreheating([request])
    try await until { loader.count == 2 }
    #expect(try await pipeline.image(for: request).origin == .styled && loader.count == 2)
    loader.set(isOpen: true)
    await pipeline.finishRenewals()
    #expect(stored == PipelineBench.other.count)
    try bench.end()
  }

  /// The server would allow to show it.
  @Test func stalePictureIsNoAnswerToARequestThatTakesItOnlyAfterAnError() async throws {
    let loader = NumberedLoader("max-age=60, stale-while-revalidate=600") { number in
      number == 3 ? (500, []) : (200, number == 1 ? PipelineBench.jpeg : PipelineBench.other)
    }
    let pipeline = pipeline(loader) { $0.attemptCount = 1 }
    let request = PictureRequest("a", cachePolicy: .staleIfError)
    _ = try await pipeline.image(for: request)
    pass(61)
    #expect(try await pipeline.image(for: request).origin == .network && loader.count == 2)
    pass(61)
    #expect(try await pipeline.image(for: request).origin == .original && loader.count == 3)
    await pipeline.finishRenewals()
    try bench.end()
  }

  @Test func pictureThatMustBeRevalidatedIsNotShown() async throws {
    let loader = NumberedLoader("max-age=60, must-revalidate") {
      (200, $0 == 1 ? PipelineBench.jpeg : PipelineBench.other)
    }
    let pipeline = pipeline(loader) { $0.silenceMilliseconds = 0 }
    _ = try await pipeline.image(for: PictureRequest("a"))
    pass(61)
    loader.set(isOpen: false)
    let answer = Task { try await pipeline.image(for: PictureRequest("a")) }
    try await until { loader.count == 2 }
    loader.set(isOpen: true)
    #expect(try await answer.value.origin == .network)
    try bench.end()
  }

  @Test func canceledRequestEndsTheDownload() async throws {
    let loader = NumberedLoader("max-age=60") { _ in (200, PipelineBench.jpeg) }
    let pipeline = pipeline(loader)
    _ = try await pipeline.image(for: PictureRequest("a"))
    pass(61)
    loader.set(isOpen: false)
    let answer = Task { try await pipeline.image(for: PictureRequest("a")) }
    try await until { loader.count == 2 }
    answer.cancel()
    await #expect(throws: CancellationError.self) { try await answer.value }
    try await until { loader.canceledCount == 1 }
    try bench.end()
  }

  @Test func canceledWaitEndsRenewals() async throws {
    let loader = NumberedLoader("max-age=60, stale-while-revalidate=60") { _ in (200, PipelineBench.jpeg) }
    let pipeline = pipeline(loader)
    _ = try await pipeline.image(for: PictureRequest("a"))
    await pipeline.finishRenewals()
    pass(61)
    loader.set(isOpen: false)
    _ = try await pipeline.image(for: PictureRequest("a"))
    try await until { loader.count == 2 }
    let wait = Task { await pipeline.finishRenewals() }
    wait.cancel()
    await wait.value
    try await until { loader.canceledCount == 1 }
    try bench.end()
  }

  // MARK: Age limit

  @Test(arguments: [ImageStyle.original, try! .square(20)])
  func ageLimitMakesPicturesStale(_ style: ImageStyle) async throws {
    for (header, limit, lifetime) in [("public", 60, 60), ("max-age=600", 60, 60), ("max-age=10", 60, 10)]
      as [(_, Int64, Int64)]
    {
      let loader = NumberedLoader(header) { _ in (200, PipelineBench.jpeg) }
      let pipeline = pipeline(loader) { $0.maximumAgeMilliseconds = limit * 1000 }
      let request = PictureRequest("a", style: style)
      try await pipeline.clear(["a"])
      for round in 1...3 {
        _ = try await pipeline.image(for: request)
        #expect(loader.count == round, "\(header)")
        pass(lifetime - 1)
        _ = try await pipeline.image(for: request)
        #expect(loader.count == round, "\(header)")
        pass(1)
      }
    }
    try bench.end()
  }

  /// The limit belongs to the pipeline, and not to the stored picture.
  @Test(arguments: [ImageStyle.original, try! .square(20)], [Keeping.both, .styled])
  func ageLimitAppliesToPicturesStoredBefore(_ style: ImageStyle, _ keeping: Keeping) async throws {
    let loader = NumberedLoader("public") { _ in (200, PipelineBench.jpeg) }
    let request = PictureRequest("a", style: style)
    _ = try await pipeline(loader) { $0.keeps = keeping }.image(for: request)
    pass(100)
    let limited = pipeline(loader) {
      $0.keeps = keeping
      $0.maximumAgeMilliseconds = 60_000
    }
    _ = try await limited.image(for: request)
    #expect(loader.count == 2)
    pass(59)
    _ = try await limited.image(for: request)
    #expect(loader.count == 2)
    pass(100)
    let unlimited = pipeline(loader) { $0.keeps = keeping }
    _ = try await unlimited.image(for: request)
    #expect(loader.count == 2)
    #expect(try await limited.pictures.isKept(request) == false)
    try bench.end()
  }

  @Test func ageLimitLeavesPicturesOfTheApp() async throws {
    let loader = NumberedLoader("public") { _ in (404, []) }
    let pipeline = pipeline(loader) { $0.maximumAgeMilliseconds = 0 }
    try await pipeline.save(PipelineBench.jpeg, "a")
    pass(100)
    for style in [ImageStyle.original, try .square(20)] {
      for _ in 0..<2 { _ = try await pipeline.image(for: PictureRequest("a", style: style)) }
    }
    #expect(loader.count == 0)
    try bench.end()
  }

  /// The time in which a stale picture may be shown begins at the age limit, so it also ends earlier.
  @Test(arguments: [ImageStyle.original, try! .square(20)])
  func ageLimitBeginsTheTimeOfStaleWhileRevalidate(_ style: ImageStyle) async throws {
    let loader = NumberedLoader("max-age=600, stale-while-revalidate=30") { _ in (200, PipelineBench.jpeg) }
    let pipeline = pipeline(loader) { $0.maximumAgeMilliseconds = 60_000 }
    let request = PictureRequest("a", style: style)
    _ = try await pipeline.image(for: request)
    pass(89)
    #expect(try await pipeline.image(for: request).requestCount == 0)
    await pipeline.finishRenewals()
    #expect(loader.count == 2)
    pass(91)
    #expect(try await pipeline.image(for: request).requestCount == 1)
    #expect(loader.count == 3)
    try bench.end()
  }

  @Test func ageLimitBeginsAgainWithEachConfirmation() async throws {
    bench.loader.set("a", PipelineBench.jpeg)
    bench.loader.set(headers: ["ETag": "\"1\""])
    let time = time
    let pipeline = bench.pipeline {
      $0.now = { time.withLock { $0 } }
      $0.maximumAgeMilliseconds = 60_000
    }
    for round in 1...3 {
      _ = try await pipeline.image(for: PictureRequest("a"))
      pass(59)
      _ = try await pipeline.image(for: PictureRequest("a"))
      #expect(bench.loader.loads.count == round)
      pass(1)
    }
    #expect(bench.loader.loads.last?.headers["If-None-Match"] == "\"1\"")
    try bench.end()
  }
}
