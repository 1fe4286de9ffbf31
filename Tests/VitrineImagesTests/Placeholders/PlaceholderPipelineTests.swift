import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

@Suite struct PlaceholderPipelineTests {
  private let bench: PipelineBench
  private let square = try! ImageStyle.square(40)

  init() throws { bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg])) }

  private func record(_ key: String = "a") -> ResponseRecord? {
    bench.store.blob(CacheKey(key)).flatMap { ResponseRecord(metadata: $0.metadata) }
  }

  @Test(arguments: PlaceholderHash.Kind.allCases)
  func hashOfADownloadIsStoredWithTheOriginal(_ kind: PlaceholderHash.Kind) async throws {
    let pipeline = bench.pipeline {
      $0.placeholders = kind
      $0.keeps = .original
      $0.memory = MemoryLimits(cost: 0)
    }
    #expect(await pipeline.placeholder(for: PictureRequest("a", style: square)) == nil)
    _ = try await pipeline.image(for: PictureRequest("a", style: square))
    let expected = PlaceholderHash(kind, of: try ImageDecoder().decode(PipelineBench.jpeg))
    // The style may have been drawn from a smaller decoding.
    #expect(record()?.placeholder?.kind == kind && expected.stored.utf8.count < 50)
    for style in [square, try .roundedRectangle(30, 20, cornerRadius: 4), .original] {
      let preview = try #require(await pipeline.placeholder(for: PictureRequest("a", style: style)))
      #expect(preview.origin == .placeholder && preview.requestCount == 0)
      if let size = style.pixelSize { #expect(preview.bitmap.size == size) }
    }
    try bench.end()
  }

  @Test func hashOfTheRequestIsShownUntilThePictureIsLoaded() async throws {
    let pipeline = bench.pipeline { $0.placeholders = nil }
    let hash = try PlaceholderHash(.thumbHash, "1QcSHQRnh493V4dIh4eXh1h4kJUI")
    bench.loader.close()
    var responses = pipeline.images(for: PictureRequest("a", style: square, placeholder: hash)).makeAsyncIterator()
    let first = try await #require(responses.next())
    #expect(first.origin == .placeholder && first.bitmap.size == PixelSize(width: 40, height: 40))
    #expect(try first.bitmap.bytes == hash.bitmap(square).bytes)
    bench.loader.open()
    #expect(try await responses.next()?.origin == .network)
    #expect(try await responses.next() == nil)
    #expect(record()?.placeholder == nil)
    try bench.end()
  }

  /// The hash remains when the server confirms the original.
  @Test func hashStaysWhenTheOriginalIsConfirmed() async throws {
    bench.loader.set(headers: ["ETag": "\"1\""])
    let pipeline = bench.pipeline()
    for policy in [PictureRequest.CachePolicy.use, .revalidate] {
      _ = try await pipeline.image(for: PictureRequest("a", cachePolicy: policy))
      _ = try await pipeline.image(for: PictureRequest("a", style: square, cachePolicy: policy))
    }
    let styled = try #require(bench.store.blob(CacheKey("a", square.key)))
    let response = StyledRecord(metadata: styled.metadata).response
    #expect(response?.entityTag == "\"1\"" && response?.placeholder == nil)
    #expect(bench.loader.loads.last?.headers["If-None-Match"] == "\"1\"")
    #expect(record()?.placeholder != nil && record()?.entityTag == "\"1\"")
    try bench.end()
  }

  @Test func pictureOfTheAppHasAHash() async throws {
    let pipeline = bench.pipeline()
    let bitmap = Bitmap.gradient(60, 30)
    try await pipeline.save(bitmap, "bitmap")
    try await pipeline.save(PipelineBench.jpeg, "bytes")
    #expect(record("bitmap")?.placeholder == (try PlaceholderHash(.thumbHash, of: bitmap)))
    let decoded = try ImageDecoder().decode(PipelineBench.jpeg)
    #expect(record("bytes")?.placeholder == PlaceholderHash(.thumbHash, of: decoded))
    for key in ["bitmap", "bytes"] {
      #expect(try await pipeline.image(for: PictureRequest(key)).requestCount == 0)
      #expect(await pipeline.placeholder(for: PictureRequest(key, style: square)) != nil)
    }
    try bench.end()
  }

  @Test func pipelineWithoutPlaceholdersStoresNone() async throws {
    let pipeline = bench.pipeline { $0.placeholders = nil }
    _ = try await pipeline.image(for: PictureRequest("a"))
    try await pipeline.save(PipelineBench.jpeg, "b")
    #expect(record("a")?.placeholder == nil && bench.store.blob(CacheKey("b"))?.metadata.isEmpty == true)
    #expect(await pipeline.placeholder(for: PictureRequest("a", style: square)) == nil)
    try bench.end()
  }

  @Test func damagedHashIsNoPlaceholder() async throws {
    let pipeline = bench.pipeline { $0.memory = MemoryLimits(cost: 0) }
    _ = try await pipeline.image(for: PictureRequest("a"))
    let text = try #require(record()?.placeholder?.stored)
    let metadata = String(decoding: try #require(record()?.metadata), as: UTF8.self)
    for other in ["", "t", "tAAAA", "b", "zzz", String(repeating: "t", count: 5000)] {
      // JSON writes a slash with a backslash before it.
      let damaged = metadata.replacing(text.replacing("/", with: "\\/"), with: other)
      #expect(damaged != metadata)
      _ = try bench.store.setMetadata(Array(damaged.utf8), for: CacheKey("a"))
      #expect(record() != nil && record()?.placeholder == nil)
      #expect(await pipeline.placeholder(for: PictureRequest("a", style: square)) == nil)
      #expect(try await pipeline.image(for: PictureRequest("a")).origin == .original)
    }
    try bench.end()
  }

  @Test func originalOfOtherVaryHeadersIsNoPlaceholder() async throws {
    bench.loader.set(headers: ["Vary": "Authorization"])
    let pipeline = bench.pipeline { $0.memory = MemoryLimits(cost: 0) }
    _ = try await pipeline.image(for: PictureRequest("a", headers: ["Authorization": "one"]))
    for (user, isShown) in [("one", true), ("two", false)] {
      let request = PictureRequest("a", style: square, headers: ["Authorization": user])
      #expect(await (pipeline.placeholder(for: request) != nil) == isShown, "\(user)")
    }
    try bench.end()
  }
}
