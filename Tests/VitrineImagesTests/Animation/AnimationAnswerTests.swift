import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// Animations whose servers confirm, forbid or replace them.
@Suite struct AnimationAnswerTests {
  @Test func framesThatCannotBeReadCostOneDownload() async throws {
    let bench = try PipelineBench(
      GatedLoader(["a": AnimatedSample.bytes, "b": Array(AnimatedSample.bytes.dropLast(20))]))
    let pipeline = bench.pipeline { $0.decoder = ImageDecoder(limits: DecodingLimits(frameCount: 2)) }
    for _ in 0..<3 {
      await #expect(throws: ImageError.tooLarge(width: 8, height: 6, limit: "2 frames")) {
        try await pipeline.animation(for: AnimatedSample.request())
      }
      await #expect(throws: ImageError.truncated(.png)) {
        try await bench.pipeline().animation(for: AnimatedSample.request(key: "b"))
      }
    }
    #expect(bench.loader.loads.map(\.url).sorted() == ["a", "b"])
    #expect(try await pipeline.image(for: AnimatedSample.request()).origin == .original)
    try bench.end()
  }

  @Test func confirmedAnimationKeepsThePlaceholderOfItsOriginal() async throws {
    let bench = try PipelineBench(GatedLoader(["a": AnimatedSample.bytes]))
    for policy in [PictureRequest.CachePolicy.use, .reload] {
      _ = try await bench.pipeline().animation(for: AnimatedSample.request(policy))
      let metadata = try #require(bench.store.blob("a")).metadata
      #expect(ResponseRecord(metadata: metadata)?.placeholder != nil, "\(policy)")
    }
    #expect(bench.loader.loads.count == 2)
    try bench.end()
  }

  @Test func staleAnimationIsShownAndRevalidatedInTheBackground() async throws {
    let bench = try PipelineBench(GatedLoader(["a": AnimatedSample.bytes]))
    bench.loader.set(headers: ["ETag": "\"1\"", "Cache-Control": "max-age=60, stale-while-revalidate=600"])
    let time = Locked<Int64>(1_700_000_000_000)
    func animation() async throws -> AnimatedPicture? {
      let pipeline = bench.pipeline {
        $0.now = { time.withLock { $0 } }
        $0.keeps = .styled
      }
      let animation = try await pipeline.animation(for: AnimatedSample.request())
      await pipeline.finishRenewals()
      return animation
    }
    _ = try await animation()
    time.withLock { $0 += 61_000 }
    for _ in 0..<2 { #expect(try await AnimatedSample.shown(try await animation()) == AnimatedSample.expected()) }
    #expect(bench.loader.loads.map { $0.headers["If-None-Match"] } == [nil, "\"1\""])
    #expect(bench.store.blob("a", style: AnimatedSample.square.key) == nil && !bench.store.contains("a"))
    try bench.end()
  }

  @Test func storedOriginalIsShownInPlaceOfAnAnswerThatIsNoPicture() async throws {
    let fixture = try StorageFixture(.files)
    let loader = GatedLoader(["a": AnimatedSample.bytes])
    var configuration = PicturePipeline.Configuration(storage: fixture.storage, loader: loader)
    configuration.memoryPressure = nil
    let pipeline = PicturePipeline(configuration)
    loader.set(headers: ["Cache-Control": "no-cache"])
    _ = try await pipeline.animation(for: AnimatedSample.request())
    loader.set("a", Array("<html>".utf8))
    let request = AnimatedSample.request(.staleIfError)
    #expect(try await AnimatedSample.shown(try await pipeline.animation(for: request)) == AnimatedSample.expected())
    #expect(loader.loads.count == 2)
  }

  @Test func answerThatIsNoPictureReplacesNothing() async throws {
    let bench = try PipelineBench(GatedLoader(["a": AnimatedSample.bytes]))
    let pipeline = bench.pipeline()
    _ = try await pipeline.animation(for: AnimatedSample.request())
    // A login page, and a picture whose end is missing.
    for body in [Array("<html>".utf8), Array(PipelineBench.jpeg.prefix(300)), Array(AnimatedSample.bytes.dropLast(20))]
    {
      bench.loader.set("a", body)
      await #expect(throws: ImageError.self) {
        try await pipeline.animation(for: AnimatedSample.request(.reload))
      }
      let original = bench.store.get("a") { bytes in bytes.withUnsafeBytes { Array($0) } }
      #expect(original == AnimatedSample.bytes && bench.frames() != nil)
      let request = AnimatedSample.request(.staleIfError)
      #expect(try await AnimatedSample.shown(try await pipeline.animation(for: request)) == AnimatedSample.expected())
    }
    try bench.end()
  }

  @Test func staleAnimationWithoutItsOriginalIsRevalidatedAndShownOffline() async throws {
    let bench = try PipelineBench(GatedLoader(["a": AnimatedSample.bytes]))
    bench.loader.set(headers: ["ETag": "\"1\"", "Cache-Control": "max-age=60"])
    let time = Locked<Int64>(1_700_000_000_000)
    func animation(_ policy: PictureRequest.CachePolicy) async throws -> AnimatedPicture? {
      let pipeline = bench.pipeline {
        $0.now = { time.withLock { $0 } }
        $0.keeps = .styled
      }
      return try await pipeline.animation(for: AnimatedSample.request(policy))
    }
    #expect(try await animation(.use)?.isStored == true)
    #expect(!bench.store.contains("a"))
    for _ in 0..<2 {
      time.withLock { $0 += 61_000 }
      #expect(try await AnimatedSample.shown(try await animation(.use)) == AnimatedSample.expected())
    }
    // The server confirmed the animation twice.
    #expect(bench.loader.loads.map { $0.headers["If-None-Match"] } == [nil, "\"1\"", "\"1\""])
    time.withLock { $0 += 61_000 }
    bench.loader.set("a", nil)
    bench.loader.set(headers: [:])
    #expect(try await AnimatedSample.shown(try await animation(.staleIfError)) == AnimatedSample.expected())
    #expect(try await AnimatedSample.shown(try await animation(.cacheOnly)) == AnimatedSample.expected())
    try bench.end()
  }

  @Test func animationThatMayNoLongerBeStoredIsRemoved() async throws {
    let bench = try PipelineBench(GatedLoader(["a": AnimatedSample.bytes]))
    let pipeline = bench.pipeline()
    _ = try await pipeline.animation(for: AnimatedSample.request())
    bench.loader.set(headers: ["Cache-Control": "no-store"])
    let again = try await pipeline.animation(for: AnimatedSample.request(.reload))
    #expect(try await AnimatedSample.shown(again) == AnimatedSample.expected() && again?.isStored == false)
    #expect(bench.store.count == 0)
    try bench.end()
  }

  @Test func storageWithoutAnimationsKeepsTheOriginal() async throws {
    let fixture = try StorageFixture(.files)
    let loader = GatedLoader(["a": AnimatedSample.bytes])
    for _ in 0..<2 {
      var configuration = PicturePipeline.Configuration(storage: fixture.storage, loader: loader)
      configuration.memoryPressure = nil
      let animation = try await PicturePipeline(configuration).animation(for: AnimatedSample.request())
      #expect(animation?.isStored == false)
      #expect(try await AnimatedSample.shown(animation) == AnimatedSample.expected())
    }
    #expect(loader.loads.count == 1)
  }

  @Test func pictureInAFormatOfTheProgramIsNoAnimation() async throws {
    struct Format: FormatDecoding {
      let format = ImageFormat("flat", mimeType: "image/x-flat")
      func recognizes(_ bytes: RawSpan) -> Bool { bytes.byteCount == 4 }
      func info(of bytes: RawSpan) -> ImageInfo { ImageInfo(format: format, size: PixelSize(width: 1, height: 1)) }
      func decode(
        _ bytes: RawSpan, _ info: ImageInfo, atLeast size: PixelSize?, limits: DecodingLimits
      ) throws(ImageError) -> DecodedImage {
        try DecodedImage(info) { memory, _ in
          _ = memory.withUnsafeMutableBytes { $0.initializeMemory(as: UInt8.self, repeating: 255) }
        }
      }
    }
    let bench = try PipelineBench(GatedLoader(["a": [1, 2, 3, 4]]))
    let pipeline = bench.pipeline { $0.decoder = ImageDecoder(formats: [Format()]) }
    for _ in 0..<2 { #expect(try await pipeline.animation(for: AnimatedSample.request()) == nil) }
    let still = try await pipeline.image(for: AnimatedSample.request()).bitmap
    #expect(still.pixel(0, 0) == [255, 255, 255, 255])
    #expect(bench.loader.loads.count == 1)
    try bench.end()
  }
}
