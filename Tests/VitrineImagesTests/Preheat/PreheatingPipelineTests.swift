import Foundation
import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// Preheating through the whole pipeline, next to requests and joined with them.
@Suite struct PreheatingPipelineTests {
  let square = try! ImageStyle.square(20)
  let circle = try! ImageStyle.circle(10)

  private func loader(_ urls: [String], isOpen: Bool = false) -> GatedLoader {
    GatedLoader(Dictionary(uniqueKeysWithValues: urls.map { ($0, PipelineBench.jpeg) }), isOpen: isOpen)
  }

  private func request(_ url: String, _ style: ImageStyle? = nil) -> PictureRequest {
    PictureRequest(url, style: style ?? square)
  }

  private func untilIdle(_ pipeline: PicturePipeline) async throws {
    try await until { pipeline.preheater.runningCount == 0 && pipeline.preheater.waiting.isEmpty }
  }

  // MARK: Where it comes

  @Test func pictureForTheStoreIsNotLoadedIntoMemory() async throws {
    let bench = try PipelineBench(loader(["a", "b"], isOpen: true))
    let pipeline = bench.pipeline { $0.preheatingPauseMilliseconds = 1 }
    pipeline.startPreheating([request("a")], into: .store)
    pipeline.startPreheating([request("b")])
    try await untilIdle(pipeline)
    #expect(bench.store.contains("a", style: square.key) && bench.store.contains("b", style: square.key))
    #expect(pipeline.imageInMemory(for: request("a")) == nil && pipeline.imageInMemory(for: request("b")) != nil)
    // The second preheating brings the picture from the storage into memory.
    pipeline.startPreheating([request("a")])
    try await untilIdle(pipeline)
    #expect(pipeline.imageInMemory(for: request("a")) != nil && bench.loader.loads.count == 2)
    try bench.end()
  }

  @Test func pipelineWithoutAStorageLoadsNothingForTheStore() async throws {
    let loader = loader(["a", "b"], isOpen: true)
    var configuration = PicturePipeline.Configuration(loader: loader)
    configuration.preheatingPauseMilliseconds = 1
    let pipeline = PicturePipeline(configuration)
    pipeline.startPreheating([request("a")], into: .store)
    pipeline.startPreheating([request("b")])
    try await untilIdle(pipeline)
    #expect(loader.loads.map(\.url) == ["b"] && pipeline.imageInMemory(for: request("b")) != nil)
  }

  private struct CountingDecoder: PictureDecoding {
    let count = Locked(0)
    var limits: DecodingLimits { ImageDecoder().limits }

    func decode(
      _ bytes: RawSpan, sizedBy size: (ImageInfo) throws(ImageError) -> PixelSize?
    ) throws(ImageError) -> DecodedImage {
      count.withLock { $0 += 1 }
      return try ImageDecoder().decode(bytes, sizedBy: size)
    }
  }

  @Test(arguments: [Keeping.both, .original])
  func freshStoredPictureIsNotMadeAgain(keeps: Keeping) async throws {
    let bench = try PipelineBench(loader(["a"], isOpen: true))
    bench.loader.set(headers: ["Cache-Control": "max-age=10"])
    let time = Locked<Int64>(1_700_000_000_000)
    let decoder = CountingDecoder()
    let pipeline = bench.pipeline {
      $0.decoder = decoder
      $0.keeps = keeps
      $0.styledForm = .encoded
      $0.preheatingPauseMilliseconds = 1
      $0.now = { time.withLock { $0 } }
    }
    let all = [request("a"), request("a", .original)]
    for _ in 0..<3 {
      pipeline.startPreheating(all, into: .store)
      try await untilIdle(pipeline)
    }
    let count = decoder.count.withLock { $0 }
    #expect(count >= 1 && count <= 2 && bench.loader.loads.count == 1)
    // A stale picture is loaded again.
    time.withLock { $0 += 20_000 }
    pipeline.startPreheating(all, into: .store)
    try await untilIdle(pipeline)
    #expect(bench.loader.loads.count == 2 && decoder.count.withLock { $0 } > count)
    try bench.end()
  }

  // MARK: Beside requests

  /// Preheats "p", which is missing, and requests "n". The download of "p" waits until "n" is loaded.
  private func heldUp() async throws -> (PipelineBench, PicturePipeline, normal: Task<PictureResponse, any Error>) {
    let bench = try PipelineBench(loader(["p", "n"]))
    let storage = GatedStorage(holding: ["p"])
    let pipeline = bench.pipeline(storage) { $0.preheatingPauseMilliseconds = 1 }
    pipeline.startPreheating([request("p")])
    try await until { storage.lookups == ["p"] }
    let normal = Task { try await pipeline.image(for: request("n")) }
    try await until { bench.loader.loads.map(\.url) == ["n"] }
    storage.letAllBeFound()
    try await until { pipeline.pictures.loads.begunWaitingCount == 1 }
    return (bench, pipeline, normal)
  }

  @Test func preheatingStartsNoDownloadDuringARequest() async throws {
    let (bench, pipeline, normal) = try await heldUp()
    #expect(bench.loader.loads.map(\.url) == ["n"])
    bench.loader.open()
    _ = try await normal.value
    try await untilIdle(pipeline)
    #expect(bench.loader.loads.map(\.url) == ["n", "p"] && pipeline.imageInMemory(for: request("p")) != nil)
    try bench.end()
  }

  /// The preheated picture is stale and may be shown. Its revalidation goes on after the preheating.
  @Test func revalidationOfAPreheatedPictureTakesNoPlaceOfARequest() async throws {
    let bench = try PipelineBench(loader(["p", "n"], isOpen: true))
    bench.loader.set(headers: ["Cache-Control": "max-age=10, stale-while-revalidate=1000"])
    let time = Locked<Int64>(1_700_000_000_000)
    let pipeline = bench.pipeline {
      $0.loadLimit = 1
      $0.preheatingPauseMilliseconds = 1
      $0.memory = MemoryLimits(cost: 0)
      $0.now = { time.withLock { $0 } }
    }
    _ = try await pipeline.image(for: request("p"))
    time.withLock { $0 += 60_000 }
    bench.loader.close()
    pipeline.startPreheating([request("p")])
    try await until { bench.loader.loads.count == 2 }
    bench.loader.open("n")
    #expect(try await pipeline.image(for: request("n")).origin == .network)
    bench.loader.open()
    await pipeline.finishRenewals()
    #expect(bench.loader.loads.map(\.url) == ["p", "p", "n"])
    try bench.end()
  }

  @Test func preheatingStartsNoDecodeDuringARequest() async throws {
    let bench = try PipelineBench(loader(["p", "n"]))
    let pipeline = bench.pipeline { $0.preheatingPauseMilliseconds = 1 }
    pipeline.startPreheating([request("p")])
    try await until { bench.loader.loads.map(\.url) == ["p"] }
    let normal = Task { try await pipeline.image(for: request("n")) }
    try await until { bench.loader.loads.count == 2 }
    bench.loader.open("p")
    try await until { pipeline.pictures.work.begunWaitingCount == 1 }
    #expect(pipeline.pictures.work.runningCount == 0)
    bench.loader.open()
    _ = try await normal.value
    try await untilIdle(pipeline)
    #expect(pipeline.imageInMemory(for: request("p"))?.bitmap.size == square.pixelSize)
    try bench.end()
  }

  /// The requests do not wait until preheating is admitted again, because they themselves prevent that.
  @Test func requestForADelayedPreheatingLoadGetsItsPicture() async throws {
    let (bench, pipeline, normal) = try await heldUp()
    let same = Task { try await pipeline.image(for: request("p")) }
    let other = Task { try await pipeline.image(for: request("p", circle)) }
    try await until { bench.loader.loads.map(\.url) == ["n", "p"] }
    bench.loader.open("p")
    #expect(try await same.value.bitmap.size == square.pixelSize)
    #expect(try await other.value.bitmap.size == circle.pixelSize)
    #expect(pipeline.preheater.requestCount == 1)
    bench.loader.open()
    _ = try await normal.value
    #expect(bench.loader.loads.count == 2)
    try bench.end()
  }

  @Test func requestJoinsAPreheatingLoad() async throws {
    let bench = try PipelineBench(loader(["a"]))
    let pipeline = bench.pipeline { $0.preheatingPauseMilliseconds = 1 }
    pipeline.startPreheating([request("a")])
    try await until { bench.loader.loads.count == 1 }
    let asking = Task { try await pipeline.image(for: request("a")) }
    try await until { pipeline.pictures.joined.waiterCount == 2 }
    // The load belongs to the request now, so stopping the preheating does not end it.
    pipeline.stopAllPreheating()
    bench.loader.open()
    #expect(try await asking.value.bitmap.size == square.pixelSize && bench.loader.loads.count == 1)
    #expect(bench.loader.cancelledCount == 0)
    try bench.end()
  }

  @Test func requestOfPreheatingPriorityWaitsOnlyForOtherRequests() async throws {
    let bench = try PipelineBench(loader(["p", "n"]))
    let pipeline = bench.pipeline { $0.preheatingPauseMilliseconds = 1 }
    let normal = Task { try await pipeline.image(for: request("n")) }
    try await until { bench.loader.loads.map(\.url) == ["n"] }
    var patient = request("p")
    patient.priority = .preheating
    let asking = Task { [patient] in try await pipeline.image(for: patient) }
    try await until { pipeline.pictures.loads.begunWaitingCount == 1 }
    #expect(bench.loader.loads.map(\.url) == ["n"])
    bench.loader.open()
    #expect(try await asking.value.bitmap.size == square.pixelSize)
    _ = try await normal.value
    try bench.end()
  }

  /// If there were only as many connections as loads of requests, two preheated loads would take two of them.
  @Test func preheatingTakesNoConnectionFromRequests() async throws {
    let isOpen = Locked(false)
    let server = try TestServer { _ in
      holdUp { isOpen.withLock { $0 } }
      return .init(body: PipelineBench.jpeg)
    }
    var configuration = PicturePipeline.Configuration()
    configuration.preheatingPauseMilliseconds = 1
    // The system decides how a session uses this number, and not every system keeps to it.
    let loader = try #require(configuration.loader as? HTTPLoader)
    #expect(loader.connectionsPerHost == configuration.loadLimit + configuration.preheatingLimit)
    let pipeline = PicturePipeline(configuration)
    let preheated = (0..<configuration.preheatingLimit).map { request(server.url("/preheated/\($0)")) }
    pipeline.startPreheating(preheated)
    try await until { server.requests.count == preheated.count }
    let tasks = (0..<configuration.loadLimit).map { number in
      Task { try await pipeline.image(for: request(server.url("/\(number)"))) }
    }
    try await until { server.requests.count == preheated.count + tasks.count }
    isOpen.withLock { $0 = true }
    for task in tasks { _ = try await task.value }
    try await untilIdle(pipeline)
  }

  @Test func lowRequestJoinedByAHighOneIsWrittenWithHighPriority() async throws {
    let bench = try PipelineBench(loader(["x", "low", "normal"], isOpen: true))
    let storage = GatedStorage(isOpenForWrites: false)
    let pipeline = bench.pipeline(storage) {
      $0.writeLimit = 1
      $0.decodeLimit = 4
    }
    var tasks: [Task<PictureResponse, any Error>] = []
    func ask(_ url: String, _ priority: PictureRequest.Priority) {
      tasks.append(Task { try await pipeline.image(for: PictureRequest(url, style: square, priority: priority)) })
    }
    ask("x", .normal)
    try await until { storage.writes == ["x"] }
    ask("low", .low)
    try await until { pipeline.pictures.writes.waitingCount == 1 }
    ask("normal", .normal)
    try await until { pipeline.pictures.writes.waitingCount == 2 }
    ask("low", .high)
    try await until { pipeline.pictures.joined.waiterCount == 4 }
    storage.openForWrites()
    for task in tasks { _ = try await task.value }
    #expect(storage.writes == ["x", "low", "normal"])
    try bench.end()
  }

  // MARK: Other styles

  /// The photo is much larger than its styled pictures.
  @Test func preheatedStyleSavesTheDownloadOfAnother() async throws {
    let photo = try ImageEncoder.encode(.gradient(900, 700), as: .jpeg(quality: 0.9))
    let styles = try [ImageStyle.square(8), .square(10)]
    let bench = try PipelineBench(GatedLoader(["asked": photo, "preheated": photo]))
    let pipeline = bench.pipeline { $0.preheatingPauseMilliseconds = 1 }
    #expect(pipeline.configuration.keeps == .automatic)
    for style in styles {
      _ = try await pipeline.image(for: request("asked", style))
      // A request made while the download is still held would share it.
      try await until { pipeline.pictures.originals.bodies.runningCount == 0 }
    }
    #expect(bench.loader.loads.count == 2 && !bench.store.contains("asked"))
    pipeline.startPreheating([request("preheated", styles[0])])
    try await untilIdle(pipeline)
    let other = try await pipeline.image(for: request("preheated", styles[1]))
    #expect(other.origin == .original && other.requestCount == 0 && bench.loader.loads.count == 3)
    try bench.end()
  }

  // MARK: All at once

  /// With the narrowest limits, and with all operations that can wait for each other, no request waits forever.
  @Test(.timeLimit(.minutes(60)), arguments: [1, 2, 3] as [UInt64])
  func everyRequestIsAnsweredWithTheNarrowestLimits(seed: UInt64) async throws {
    let urls = (0..<8).map { "\($0)" }
    let bench = try PipelineBench(loader(urls, isOpen: true))
    let pipeline = bench.pipeline {
      $0.preheatingPauseMilliseconds = 1
      ($0.loadLimit, $0.decodeLimit, $0.writeLimit, $0.preheatingLimit) = (1, 1, 1, 3)
      ($0.memory.count, $0.keeps) = (2, .styled)
    }
    let styles = try [6, 8, 10, 12].map { try ImageStyle.square(Points(Double($0))) }
    var random = SeededRandom(seed: seed)
    let heard = Locked(0)
    let count = 400 / Thoroughness.stride
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<count {
        var request = PictureRequest(urls[random.below(urls.count)], style: styles[random.below(styles.count)])
        request.priority = PictureRequest.Priority.allCases[random.below(4)]
        request.cachePolicy = random.chance(30) ? .reload : .use
        let (action, pause) = (random.below(10), UInt64(random.below(100)) * 1_000_000)
        group.addTask { [request] in
          defer { heard.withLock { $0 += 1 } }
          try? await Task.sleep(nanoseconds: pause)
          switch action {
          case 0, 1: pipeline.startPreheating([request], into: .store)
          case 2, 3: pipeline.startPreheating([request])
          case 4: pipeline.stopPreheating([request])
          case 5: try? await pipeline.clear([request.key])
          default:
            let task = Task { try await pipeline.image(for: request) }
            if action < 8 {
              try? await Task.sleep(nanoseconds: pause / 16)
              task.cancel()
            }
            _ = try? await task.value
          }
        }
      }
    }
    #expect(heard.withLock { $0 } == count, "seed \(seed)")
    try await untilIdle(pipeline)
    #expect(pipeline.preheater.requestCount == 0, "seed \(seed)")
    let queues = [pipeline.pictures.loads, pipeline.pictures.work]
    #expect(queues.allSatisfy { $0.runningCount == 0 && $0.waitingCount == 0 }, "seed \(seed)")
    #expect(pipeline.pictures.writes.waitingCount == 0, "seed \(seed)")
    try bench.end()
  }
}
