import Foundation
import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// Pictures that an app made itself, or got without the pipeline.
@Suite struct SavingTests {
  let square = try! ImageStyle.square(40)
  let circle = try! ImageStyle.circle(30)

  @Test func savedPictureIsJPEGOrIfTransparentPNG() async throws {
    let bench = try PipelineBench()
    let pipeline = bench.pipeline()
    try await pipeline.save(.gradient(60, 50), "solid")
    try await pipeline.save(.glass(60, 50), "glass")
    try await pipeline.save(.glass(60, 50), "webp", format: .webp, quality: 0.9)
    try await pipeline.save(.gradient(60, 50), "png", format: .png)
    let formats = try ["solid", "glass", "webp", "png"].map { key in
      try ImageDecoder().info(of: #require(bench.store.bytes(key))).format
    }
    #expect(formats == [.jpeg, .png, .webp, .png])
    let loaded = try await #require(pipeline.load("glass"))
    #expect(loaded.origin == .original && loaded.bitmap.size == PixelSize(width: 60, height: 50))
    #expect(try loaded.bitmap.difference(to: Bitmap.glass(60, 50).converted(to: .bgra8888)) <= 2)
    await #expect(throws: ImageError.self) { try await pipeline.save(.glass(6, 5), "x", format: .jpeg) }
    await #expect(throws: ImageError.self) { try await pipeline.save(.gradient(6, 5), "x", quality: 1.5) }
    // The limit has room for the pixels, but not for the memory that WebP needs beside them.
    let strict = bench.pipeline { $0.decoder = ImageDecoder(limits: DecodingLimits(byteCount: 20_000)) }
    await #expect(throws: ImageError.self) { try await strict.save(.glass(64, 64), "x", format: .webp) }
    try await strict.save(.glass(64, 64), "y", format: .png)
    #expect(!bench.store.contains("x"))
    try bench.end()
  }

  @Test func higherQualityMakesALargerFile() async throws {
    let bench = try PipelineBench()
    let pipeline = bench.pipeline()
    try await pipeline.save(.gradient(200, 200), "default")
    try await pipeline.save(.gradient(200, 200), "same", quality: 0.8)
    try await pipeline.save(.gradient(200, 200), "better", quality: 1)
    let sizes = try ["default", "same", "better"].map { try #require(bench.store.bytes($0)).count }
    #expect(sizes[0] == sizes[1] && sizes[1] < sizes[2])
    try bench.end()
  }

  @Test func savedPictureIsLoadedInAnyStyleByItsKey() async throws {
    let bench = try PipelineBench()
    let pipeline = bench.pipeline()
    #expect(try await pipeline.load("offer 17", style: square) == nil)
    try await pipeline.save(PipelineBench.jpeg, "offer 17")
    let styled = try await #require(pipeline.load("offer 17", style: square))
    #expect(styled.bitmap.size == PixelSize(width: 40, height: 40) && styled.bitmap.isMapped)
    // The key is no URL. While its original is kept, no URL is needed.
    let asked = try await pipeline.image(for: PictureRequest("offer 17", style: circle))
    #expect(asked.origin == .original && asked.requestCount == 0)
    #expect(bench.loader.loads.isEmpty)
    try bench.end()
  }

  @Test func undecodableBytesAreNotSaved() async throws {
    let bench = try PipelineBench()
    let pipeline = bench.pipeline()
    try await pipeline.save(PipelineBench.jpeg, "a")
    let cut = Array(PipelineBench.jpeg.prefix(PipelineBench.jpeg.count / 2))
    await #expect(throws: ImageError.truncated(.jpeg)) { try await pipeline.save(cut, "a") }
    await #expect(throws: ImageError.self) { try await pipeline.save(Array("<html>".utf8), "b") }
    #expect(bench.store.bytes("a") == PipelineBench.jpeg && !bench.store.contains("b"))
    // A picture above the decoder's limits is not saved, because it could not be shown.
    let small = bench.pipeline { $0.decoder = ImageDecoder(limits: DecodingLimits(side: 50)) }
    await #expect(throws: ImageError.self) { try await small.save(.gradient(60, 20), "b") }
    #expect(!bench.store.contains("b"))
    try bench.end()
  }

  @Test func savedPictureInvalidatesStylesOfTheOlderOne() async throws {
    let bench = try PipelineBench()
    let pipeline = bench.pipeline()
    try await pipeline.save(PipelineBench.jpeg, "a")
    let before = try await #require(pipeline.load("a", style: square))
    #expect(try await pipeline.load("a", style: square)?.origin == .memory)
    try await pipeline.save(PipelineBench.other, "a")
    #expect(pipeline.imageInMemory(for: PictureRequest("a", style: square)) == nil)
    #expect(!bench.store.contains("a", style: square.key))
    let after = try await #require(pipeline.load("a", style: square))
    #expect(after.origin == .original && after.bitmap.bytes != before.bitmap.bytes)
    try bench.end()
  }

  /// A download that began earlier must not replace the saved picture.
  @Test func savedPictureOutlivesAnEarlierDownload() async throws {
    let bench = try PipelineBench(GatedLoader(["u": PipelineBench.jpeg], isOpen: false))
    for isLarge in [false, true] {
      let pipeline = bench.pipeline { $0.keeps = isLarge ? .styled : .both }
      bench.loader.close()
      let (key, loads) = ("key \(isLarge)", bench.loader.loads.count)
      let request = PictureRequest("u", key: key, style: square)
      let old = Task { try await pipeline.image(for: request) }
      try await until { bench.loader.loads.count > loads }
      try await pipeline.save(PipelineBench.other, key)
      // A request made now does not join the older download.
      let new = try await pipeline.image(for: request)
      #expect(new.origin == .original)
      bench.loader.open()
      let late = try await old.value
      #expect(late.bitmap.bytes != new.bitmap.bytes)
      #expect(bench.store.bytes(key) == PipelineBench.other)
      #expect(pipeline.imageInMemory(for: request)?.bitmap.bytes == new.bitmap.bytes)
      #expect(try await bench.pipeline().load(key, style: square)?.bitmap.bytes == new.bitmap.bytes)
    }
    try bench.end()
  }

  @Test func revalidationOfAnOlderPictureDoesNotChangeTheSavedOne() async throws {
    let bench = try PipelineBench(GatedLoader(["u": PipelineBench.jpeg]))
    bench.loader.set(headers: ["ETag": "\"1\"", "Cache-Control": "max-age=60"])
    let pipeline = bench.pipeline()
    let request = PictureRequest("u", style: square, cachePolicy: .revalidate)
    _ = try await pipeline.image(for: request)
    bench.loader.close()
    let asking = Task { try await pipeline.image(for: request) }
    try await until { bench.loader.loads.count == 2 }
    try await pipeline.save(PipelineBench.other, "u")
    bench.loader.open()
    #expect(try await asking.value.requestCount == 1)
    #expect(bench.loader.loads.last?.headers["If-None-Match"] == "\"1\"")
    let record = bench.store.blob("u").flatMap { ResponseRecord(metadata: $0.metadata) }
    #expect(record?.placeholder != nil && record?.entityTag == nil && record?.statedFreshUntil == nil)
    #expect(bench.store.bytes("u") == PipelineBench.other)
    try bench.end()
  }

  @Test func clearedKeyStaysClearedAfterADownloadInProgress() async throws {
    let bench = try PipelineBench(GatedLoader(["u": PipelineBench.jpeg], isOpen: false))
    let pipeline = bench.pipeline()
    let request = PictureRequest("u", style: square)
    let task = Task { try await pipeline.image(for: request) }
    let other = Task { try await pipeline.image(for: PictureRequest("u", key: "v", style: square)) }
    try await until { bench.loader.loads.count == 2 }
    try await pipeline.clear(["u"])
    try await pipeline.retain(only: ["u"])
    bench.loader.open()
    _ = try await (task.value, other.value)
    #expect(bench.store.count == 0 && pipeline.imageInMemory(for: request) == nil)
    try bench.end()
  }

  @Test func pipelineWithoutAStorageSavesNothing() async throws {
    let pipeline = PicturePipeline(.init(loader: GatedLoader([:])))
    await #expect(throws: ImageError.self) { try await pipeline.save(.gradient(4, 4), "a") }
    #expect(try await pipeline.load("a") == nil)
  }
}
