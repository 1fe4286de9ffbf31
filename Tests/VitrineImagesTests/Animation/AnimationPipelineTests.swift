import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

@Suite struct AnimationPipelineTests {
  @Test func framesAreStoredOnceAndMapped() async throws {
    let bench = try PipelineBench(GatedLoader(["a": AnimatedSample.bytes]))
    let large = try ImageStyle.square(100)
    for style in [AnimatedSample.square, .original, try .circle(6), large] {
      let request = PictureRequest("a", style: style)
      for round in 0..<3 {
        let animation = try #require(try await bench.pipeline().animation(for: request))
        #expect(animation.isStored && animation.playCount == nil && animation.durations.count == 3)
        for _ in 0..<2 {
          #expect(
            try await AnimatedSample.shown(animation) == AnimatedSample.expected(style), "\(style), round \(round)")
        }
        let last = try #require(animation.bitmap(at: 2))
        let bytes = try AnimatedSample.expected(style)[2]
        // The store compresses what has at most 64 KiB, and returns a copy of it.
        #expect(last.bytes == bytes && last.isMapped == (style == large))
      }
      #expect(bench.frames(style) != nil)
    }
    #expect(bench.loader.loads.count == 1)
    try bench.end()
  }

  @Test func mappedFramesOutliveTheirEntry() async throws {
    let bench = try PipelineBench(GatedLoader(["a": AnimatedSample.bytes]))
    let pipeline = bench.pipeline()
    let animation = try #require(try await pipeline.animation(for: AnimatedSample.request()))
    try await pipeline.clear(["a"])
    #expect(bench.frames() == nil)
    #expect(try await AnimatedSample.shown(animation) == AnimatedSample.expected())
    #expect(try await pipeline.animation(for: AnimatedSample.request(.use)) != nil)
    #expect(bench.loader.loads.count == 2)
    try bench.end()
  }

  @Test func pictureOfOneFrameIsNoAnimationAndIsLoadedOnce() async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
    for _ in 0..<3 {
      #expect(try await bench.pipeline().animation(for: AnimatedSample.request()) == nil)
    }
    #expect(try await bench.pipeline().image(for: AnimatedSample.request()).origin == .original)
    #expect(bench.loader.loads.count == 1)
    try bench.end()
  }

  @Test func framesAreDecodedAtEachShowingWithoutAStorage() async throws {
    let loader = GatedLoader(["a": AnimatedSample.bytes])
    var configuration = PicturePipeline.Configuration(loader: loader)
    configuration.memoryPressure = nil
    let animation = try await PicturePipeline(configuration).animation(for: AnimatedSample.request())
    #expect(animation?.isStored == false && animation?.bitmap(at: 0) == nil)
    for _ in 0..<2 { #expect(try await AnimatedSample.shown(animation) == AnimatedSample.expected()) }
    #expect(loader.loads.count == 1)
  }

  @Test func framesWithoutRoomInTheStoreAreDecodedAtEachShowing() async throws {
    var large = AnimatedFile(60, 60, (0..<20).map { index in .init(1, 1) { _, _ in RGBA(UInt8(index), 0, 0) } })
    large.frames[0] = .init(60, 60) { _, _ in RGBA(0, 0, 0) }
    let style = try ImageStyle.square(200)
    let bench = try PipelineBench(GatedLoader(["a": large.png]))
    let animation = try #require(try await bench.pipeline().animation(for: PictureRequest("a", style: style)))
    #expect(!animation.isStored && bench.frames(style) == nil)
    var count = 0
    for try await frame in animation {
      #expect(frame.bitmap.size == PixelSize(width: 200, height: 200))
      count += 1
    }
    #expect(count == 20)
    try bench.end()
  }

  @Test func newOriginalReplacesTheAnimation() async throws {
    let bench = try PipelineBench(GatedLoader(["a": AnimatedSample.bytes]))
    let pipeline = bench.pipeline()
    _ = try await pipeline.animation(for: AnimatedSample.request())
    let other = AnimationReaderTests.file { $0.frames[1].colors = $0.frames[1].colors.map { _ in RGBA(1, 2, 3) } }.png
    bench.loader.set("a", other)
    let kept = try await pipeline.animation(for: AnimatedSample.request())
    #expect(try await AnimatedSample.shown(kept) == AnimatedSample.expected())
    let again = try await pipeline.animation(for: AnimatedSample.request(.reload))
    #expect(try await AnimatedSample.shown(again) == AnimatedSample.expected(AnimatedSample.square, other))
    let stored = try await bench.pipeline().animation(for: AnimatedSample.request())
    #expect(try await AnimatedSample.shown(stored) == AnimatedSample.expected(AnimatedSample.square, other))
    // A picture that an app saves makes the frames misses, too.
    try await pipeline.save(PipelineBench.jpeg, "a")
    #expect(bench.frames() == nil)
    #expect(try await pipeline.animation(for: AnimatedSample.request()) == nil)
    #expect(bench.loader.loads.count == 2)
    try bench.end()
  }

  @Test func staleAnimationIsRevalidatedAndNotDrawnAgain() async throws {
    let bench = try PipelineBench(GatedLoader(["a": AnimatedSample.bytes]))
    bench.loader.set(headers: ["ETag": "\"1\"", "Cache-Control": "max-age=60"])
    let time = Locked<Int64>(1_700_000_000_000)
    let request = AnimatedSample.request()
    func animation() async throws -> AnimatedPicture? {
      try await bench.pipeline { $0.now = { time.withLock { $0 } } }.animation(for: request)
    }
    _ = try await animation()
    let drawn = try #require(bench.frames()?.writtenMilliseconds)
    time.withLock { $0 += 61_000 }
    for _ in 0..<2 { #expect(try await AnimatedSample.shown(try await animation()) == AnimatedSample.expected()) }
    // The first asks the server, and the second finds the animation fresh.
    #expect(bench.loader.loads.count == 2)
    #expect(bench.frames()?.writtenMilliseconds == drawn)
    try bench.end()
  }

  @Test func animationThatMustNotBeStoredIsShown() async throws {
    let bench = try PipelineBench(GatedLoader(["a": AnimatedSample.bytes]))
    bench.loader.set(headers: ["Cache-Control": "no-store"])
    let animation = try await bench.pipeline().animation(for: AnimatedSample.request())
    #expect(animation?.isStored == false)
    #expect(try await AnimatedSample.shown(animation) == AnimatedSample.expected())
    #expect(bench.store.count == 0)
    try bench.end()
  }

  @Test func damagedFrameStoresNoAnimation() async throws {
    var damaged = AnimatedSample.bytes
    let data = try #require(damaged.indices.last { damaged[$0...].starts(with: "fdAT".utf8) })
    damaged[data + 20] ^= 1
    let bench = try PipelineBench(GatedLoader(["a": damaged]))
    await #expect(throws: ImageError.corrupt(.png, reason: "a wrong checksum of a frame")) {
      try await bench.pipeline().animation(for: AnimatedSample.request())
    }
    #expect(bench.frames() == nil)
    // The first frame is whole.
    #expect(try await bench.pipeline().image(for: AnimatedSample.request()).bitmap.size.width == 4)
    try bench.end()
  }

  @Test func requestsTogetherShareOneDownload() async throws {
    let loader = GatedLoader(["a": AnimatedSample.bytes], isOpen: false)
    let bench = try PipelineBench(loader)
    let pipeline = bench.pipeline()
    let tasks = (0..<6).map { _ in
      Task { try await pipeline.animation(for: AnimatedSample.request()) }
    }
    let still = Task { try await pipeline.image(for: AnimatedSample.request()) }
    try await until { loader.loads.count == 1 }
    loader.open()
    for task in tasks { #expect(try await AnimatedSample.shown(try await task.value) == AnimatedSample.expected()) }
    _ = try await still.value
    #expect(loader.loads.count == 1)
    try bench.end()
  }

  @Test func foreignBytesInPlaceOfFramesAreMadeAgain() async throws {
    let bench = try PipelineBench(GatedLoader(["a": AnimatedSample.bytes]))
    let request = AnimatedSample.request()
    _ = try await bench.pipeline().animation(for: request)
    let whole = try #require(bench.frames()).withBytes { $0.withUnsafeBytes { Array($0) } }
    let metadata = try #require(bench.frames()).metadata
    // A height and a row length that multiplied exceed every integer.
    var large = Array(whole.prefix(8))
    for number in [131_075, 0, 1, 65_535, 1 << 30, 1] { large.appendLittle(number, byteCount: 4) }
    large += [UInt8](repeating: 0, count: 4 * 131_075)
    for bytes in [0, 7, 20, 40, 64, whole.count - 1].map({ Array(whole.prefix($0)) }) + [large] {
      try bench.store.put(
        bytes, for: "a", style: Style("frames-\(AnimatedSample.square.name)")!,
        options: PutOptions(metadata: metadata))
      let animation = try await bench.pipeline().animation(for: request)
      #expect(animation?.isStored == true)
      #expect(try await AnimatedSample.shown(animation) == AnimatedSample.expected(), "\(bytes.count) bytes")
    }
    try bench.end()
  }
}
