import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// The work of drawing animations: shared, bounded, and undone if the key changes meanwhile.
@Suite struct AnimationWorkTests {
  /// Decodes without a time limit of its own. Counts the decodings, and holds those after the first `freeCount`, except
  /// number `passing`, until it is opened.
  private final class CountingDecoder: PictureDecoding {
    let limits: DecodingLimits
    private let passing: Int
    private let state: Locked<(count: Int, freeCount: Int)>

    init(
      _ limits: DecodingLimits = DecodingLimits(milliseconds: 1 << 40), freeCount: Int = .max, passing: Int = 0
    ) {
      self.limits = limits
      self.passing = passing
      state = Locked((0, freeCount))
    }

    var count: Int { state.withLock { $0.count } }
    func open() { state.withLock { $0.freeCount = .max } }

    func decode(
      _ bytes: RawSpan, sizedBy size: (ImageInfo) throws(ImageError) -> PixelSize?
    ) throws(ImageError) -> DecodedImage {
      let number = state.withLock { state in
        state.count += 1
        return state.count
      }
      holdUp { number == passing || state.withLock { number <= $0.freeCount } }
      return try ImageDecoder(limits: DecodingLimits(milliseconds: 1 << 40)).decode(bytes, sizedBy: size)
    }
  }

  @Test func requestsTogetherDrawTheFramesOnce() async throws {
    let bench = try PipelineBench(GatedLoader(["a": AnimatedSample.bytes]))
    let decoder = CountingDecoder(freeCount: 0)
    let pipeline = bench.pipeline {
      $0.decoder = decoder
      $0.decodeLimit = 8
    }
    let tasks = (0..<6).map { _ in Task { try await pipeline.animation(for: AnimatedSample.request()) } }
    try await until { decoder.count == 1 && pipeline.pictures.decodes.waiterCount == 6 }
    decoder.open()
    for task in tasks { #expect(try await AnimatedSample.shown(try await task.value) == AnimatedSample.expected()) }
    // The first frame is decoded before the original is stored, and again with the others.
    #expect(decoder.count == 1 + 3)
    try bench.end()
  }

  @Test func requestDuringTheDrawingJoinsIt() async throws {
    let bench = try PipelineBench(GatedLoader(["a": AnimatedSample.bytes]))
    let decoder = CountingDecoder(freeCount: 1, passing: 3)
    let pipeline = bench.pipeline {
      $0.decoder = decoder
      $0.decodeLimit = 8
    }
    let first = Task { try await pipeline.animation(for: AnimatedSample.request()) }
    try await until { decoder.count == 2 }
    let second = Task { try await pipeline.animation(for: AnimatedSample.request()) }
    // It also decodes the first frame. The drawing waits for its own first frame meanwhile.
    try await until { decoder.count == 3 && pipeline.pictures.drawings.animations.waiterCount == 2 }
    decoder.open()
    for task in [first, second] {
      #expect(try await AnimatedSample.shown(try await task.value) == AnimatedSample.expected())
    }
    #expect(decoder.count == 2 + 3)
    try bench.end()
  }

  @Test func shownAnimationsThatAreNotStoredHoldNoPlaces() async throws {
    let loader = GatedLoader([
      "a": AnimatedSample.bytes, "b": AnimatedSample.bytes, "c": AnimatedSample.bytes, "d": PipelineBench.jpeg,
    ])
    var configuration = PicturePipeline.Configuration(loader: loader)
    (configuration.memoryPressure, configuration.loadLimit, configuration.decodeLimit) = (nil, 1, 1)
    let pipeline = PicturePipeline(configuration)
    var held: [AnimatedPicture?] = []
    for key in ["a", "b", "c"] { held.append(try await pipeline.animation(for: AnimatedSample.request(key: key))) }
    #expect(try await pipeline.image(for: AnimatedSample.request(key: "d")).origin == .network)
    for animation in held { #expect(try await AnimatedSample.shown(animation) == AnimatedSample.expected()) }
  }

  @Test func drawingThatTakesTooLongIsNotStored() async throws {
    let bench = try PipelineBench(GatedLoader(["a": AnimatedSample.bytes]))
    let pipeline = bench.pipeline { $0.decoder = CountingDecoder(DecodingLimits(milliseconds: -1)) }
    let animation = try await pipeline.animation(for: AnimatedSample.request())
    #expect(animation?.isStored == false && bench.frames() == nil)
    #expect(try await AnimatedSample.shown(animation) == AnimatedSample.expected())
    #expect(pipeline.pictures.drawings.slow["a"] == AnimatedSample.bytes.withUnsafeBytes { Digest(of: $0) })
    // The original is stored.
    #expect(try await bench.pipeline().animation(for: AnimatedSample.request())?.isStored == true)
    #expect(bench.loader.loads.count == 1)
    try bench.end()
  }

  @Test(arguments: [false, true], [0, 1])
  func keyThatIsClearedDuringTheDrawingGetsNoAnimation(_ isCanceled: Bool, _ decodedCount: Int) async throws {
    let bench = try PipelineBench(GatedLoader(["a": AnimatedSample.bytes]))
    try bench.store.put(AnimatedSample.bytes, for: "a")
    let decoder = CountingDecoder(freeCount: decodedCount)
    let pipeline = bench.pipeline { $0.decoder = decoder }
    let task = Task { try await pipeline.animation(for: AnimatedSample.request()) }
    try await until { decoder.count == decodedCount + 1 }
    if isCanceled { task.cancel() }
    // Other changes do not wait for the drawing.
    try await pipeline.clear(["a"])
    decoder.open()
    let result = await task.result
    if isCanceled {
      #expect(throws: CancellationError.self) { try result.get() }
    } else {
      #expect(try await AnimatedSample.shown(try result.get()) == AnimatedSample.expected())
    }
    await pipeline.finishWork()
    #expect(bench.frames() == nil && !bench.store.contains("a"))
    try bench.end()
  }

  /// A storage whose `saved` runs when an animation has just been stored.
  private struct HookedStorage: AnimationStorage {
    let storage: StoreStorage
    let saved: @Sendable () async throws -> Void

    func original(for key: String) async throws -> StoredOriginal? { try await storage.original(for: key) }
    func saveOriginal(_ bytes: [UInt8], metadata: [UInt8], for key: String) async throws {
      try await storage.saveOriginal(bytes, metadata: metadata, for: key)
    }
    func setMetadata(_ metadata: [UInt8], ofOriginalFor key: String) async throws {
      try await storage.setMetadata(metadata, ofOriginalFor: key)
    }
    func styled(_ style: ImageStyle, for key: String) async throws -> StoredStyled? {
      try await storage.styled(style, for: key)
    }
    func saveStyled(
      _ pictures: [StyledPicture], madeFrom original: Digest, for key: String
    ) async throws -> [StoredStyled] {
      try await storage.saveStyled(pictures, madeFrom: original, for: key)
    }
    func noteOriginal(_ digest: Digest, for key: String) async throws {
      try await storage.noteOriginal(digest, for: key)
    }
    func remove(_ keys: [String]) async throws { try await storage.remove(keys) }
    func retain(only keys: [String], prefix: String?) async throws {
      try await storage.retain(only: keys, prefix: prefix)
    }
    func animation(_ style: ImageStyle, for key: String) async throws -> StoredAnimation? {
      try await storage.animation(style, for: key)
    }
    func saveAnimation(
      _ style: ImageStyle, _ times: AnimationTimes, metadata: [UInt8], madeFrom original: Digest, for key: String,
      _ draw: @escaping @Sendable () throws -> Bitmap
    ) async throws -> StoredAnimation? {
      // The key has no entry any more, so the store takes the animation.
      try await saved()
      return try await storage.saveAnimation(style, times, metadata: metadata, madeFrom: original, for: key, draw)
    }
    func removeAnimation(_ style: ImageStyle, for key: String) async throws {
      try await storage.removeAnimation(style, for: key)
    }
    func setMetadata(
      _ metadata: [UInt8], ofAnimation style: ImageStyle, madeFrom original: Digest, for key: String
    ) async throws {
      try await storage.setMetadata(metadata, ofAnimation: style, madeFrom: original, for: key)
    }
  }

  @Test func animationOfAClearedKeyIsRemovedAgain() async throws {
    let bench = try PipelineBench(GatedLoader(["a": AnimatedSample.bytes]))
    let pipeline = Locked<PicturePipeline?>(nil)
    let storage = HookedStorage(storage: StoreStorage(bench.store)) {
      try await pipeline.withLock { $0 }?.clear(["a"])
    }
    let made = bench.pipeline(storage)
    pipeline.withLock { $0 = made }
    let animation = try await made.animation(for: AnimatedSample.request())
    #expect(animation?.isStored == false && bench.frames() == nil)
    #expect(try await AnimatedSample.shown(animation) == AnimatedSample.expected())
    pipeline.withLock { $0 = nil }
    try bench.end()
  }
}
