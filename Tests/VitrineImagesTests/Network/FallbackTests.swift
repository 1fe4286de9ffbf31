import Foundation
import Testing
import Vitrine

@testable import VitrineImages

/// The picture shown after no answer, an answer that is no picture, and an answer that must not be kept.
@Suite struct FallbackTests {
  let square = try! ImageStyle.square(40)

  private func pipeline(
    _ bench: PipelineBench, _ time: Locked<Int64>, _ keeps: Keeping, _ loader: any ByteLoading
  ) -> PicturePipeline {
    bench.pipeline {
      $0.keeps = keeps
      $0.loader = loader
      $0.now = { time.withLock { $0 } }
    }
  }

  // MARK: No answer

  @Test(arguments: [Keeping.both, .styled]) func offlineServesTheStalePictureEachTime(_ keeps: Keeping) async throws {
    let bench = try PipelineBench()
    let time = Locked<Int64>(0)
    let loader = ScriptedLoader { _ in
      .init(headers: ["Cache-Control": "max-age=60", "ETag": "\"a\""], body: PipelineBench.jpeg)
    }
    let request = PictureRequest("a", style: square)
    let pipeline = pipeline(bench, time, keeps, loader)
    _ = try await pipeline.image(for: request)
    loader.answer { _ in throw LoadError.unreachable("no network") }
    time.withLock { $0 = 60_000 }
    for round in 0..<5 { #expect(try await pipeline.image(for: request).origin == .styled, "\(round)") }
    // If nothing is kept, each request fails.
    let missing = PictureRequest("b", style: square)
    for _ in 0..<2 { await #expect(throws: LoadError.self) { try await pipeline.image(for: missing) } }
    try bench.end()
  }

  @Test func deniedPictureIsNotServedStale() async throws {
    let bench = try PipelineBench()
    let time = Locked<Int64>(0)
    let loader = ScriptedLoader { _ in
      .init(headers: ["Cache-Control": "max-age=60"], body: PipelineBench.jpeg)
    }
    let request = PictureRequest("a", style: square)
    let pipeline = pipeline(bench, time, .both, loader)
    _ = try await pipeline.image(for: request)
    loader.answer { _ in throw LoadError.status(410) }
    time.withLock { $0 = 60_000 }
    for _ in 0..<3 { await #expect(throws: LoadError.self) { try await pipeline.image(for: request) } }
    try bench.end()
  }

  // MARK: No picture

  @Test(arguments: [Keeping.both, .styled])
  func undecodableResponseDoesNotReplaceAPicture(_ keeps: Keeping) async throws {
    let bench = try PipelineBench()
    let time = Locked<Int64>(0)
    let page = Array("<html>Pay for the network</html>".utf8)
    let loader = ScriptedLoader { _ in
      .init(headers: ["Cache-Control": "max-age=60", "ETag": "\"a\""], body: PipelineBench.jpeg)
    }
    _ = try await pipeline(bench, time, keeps, loader).image(for: PictureRequest("a", style: square))
    let before = bench.store.count
    loader.answer { _ in .init(headers: ["Cache-Control": "max-age=60"], body: page) }
    time.withLock { $0 = 60_000 }
    for policy in [PictureRequest.CachePolicy.staleIfError, .use, .reload, .revalidate] {
      let pipeline = pipeline(bench, time, keeps, loader)
      let request = PictureRequest("a", style: square, cachePolicy: policy)
      for _ in 0..<3 {
        if policy == .staleIfError {
          #expect(try await pipeline.image(for: request).origin == .styled)
        } else {
          await #expect(throws: (any Error).self) { try await pipeline.image(for: request) }
        }
      }
      #expect(bench.store.count == before && bench.store.contains("a", style: square.key))
      #expect(keeps == .styled || bench.store.bytes("a") == PipelineBench.jpeg)
    }
    // Another style is made from the original if that is kept.
    let other = PictureRequest("a", style: try .square(30), cachePolicy: .staleIfError)
    if keeps == .both {
      #expect(try await pipeline(bench, time, keeps, loader).image(for: other).origin == .original)
    } else {
      await #expect(throws: ImageError.self) { try await pipeline(bench, time, keeps, loader).image(for: other) }
    }
    try bench.end()
  }

  /// The storage returns the same damaged bytes again.
  @Test func damagedOriginalThatCannotBeRemovedIsDownloadedAgain() async throws {
    let cut = Array(PipelineBench.jpeg.prefix(PipelineBench.jpeg.count / 2))
    let storage = ScriptedStorage(
      failing: [.remove, .saveOriginal, .saveStyled], original: StoredOriginal(bytes: .array(cut), metadata: []))
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg, "b": cut]))
    // A new pipeline each time, because a request may share a download that ended just before it.
    func newPipeline() -> PicturePipeline { bench.pipeline(storage) { $0.memory.count = 0 } }
    for policy in [PictureRequest.CachePolicy.use, .staleIfError, .revalidate] {
      let pipeline = newPipeline()
      let request = PictureRequest("a", style: square, cachePolicy: policy)
      #expect(try await pipeline.image(for: request).origin == .network)
    }
    #expect(bench.loader.loads.count == 3)
    let pipeline = newPipeline()
    // On the server, "b" is damaged as well, and "c" is missing.
    await #expect(throws: ImageError.truncated(.jpeg)) {
      try await pipeline.image(for: PictureRequest("b", style: square))
    }
    await #expect(throws: LoadError.status(404)) {
      try await pipeline.image(for: PictureRequest("c", style: square))
    }
    await #expect(throws: ImageError.truncated(.jpeg)) {
      try await pipeline.image(for: PictureRequest("a", style: square, cachePolicy: .cacheOnly))
    }
    try bench.end()
  }

  // MARK: Not to be kept

  @Test(arguments: [Keeping.both, .styled])
  func noStoreResponseRemovesTheKeptPicture(_ keeps: Keeping) async throws {
    let bench = try PipelineBench()
    let time = Locked<Int64>(0)
    let loader = ScriptedLoader { _ in .init(body: PipelineBench.jpeg) }
    let pipeline = pipeline(bench, time, keeps, loader)
    var request = PictureRequest("a", style: square)
    let circle = PictureRequest("a", style: try .circle(20))
    let old = try await pipeline.image(for: request)
    _ = try await pipeline.image(for: circle)
    loader.answer { _ in .init(headers: ["Cache-Control": "no-store"], body: PipelineBench.other) }
    request.cachePolicy = .reload
    #expect(try await pipeline.image(for: request).bitmap.bytes != old.bitmap.bytes)
    request.cachePolicy = .use
    #expect(bench.store.count == 0)
    #expect(pipeline.imageInMemory(for: request) == nil && pipeline.imageInMemory(for: circle) == nil)
    #expect(try await pipeline.image(for: request).origin == .network && bench.store.count == 0)
    try bench.end()
  }

  @Test func savedPictureOutlivesAnEarlierNoStoreRequest() async throws {
    let bench = try PipelineBench(GatedLoader(["u": PipelineBench.jpeg], isOpen: false))
    bench.loader.set(headers: ["Cache-Control": "no-store"])
    let pipeline = bench.pipeline()
    let old = Task { try await pipeline.image(for: PictureRequest("u", style: square)) }
    try await until { bench.loader.loads.count == 1 }
    try await pipeline.save(PipelineBench.other, "u")
    bench.loader.open()
    _ = try await old.value
    #expect(bench.store.bytes("u") == PipelineBench.other)
    try bench.end()
  }
}
