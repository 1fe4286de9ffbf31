import Foundation
import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

@Suite struct SequenceTests {
  let square = try! ImageStyle.square(40)
  let large = try! ImageStyle.square(80)
  let wide = try! ImageStyle.rectangle(60, 20)

  /// A downloaded picture is saved shortly before it is returned, so the store may return it first, as a placeholder.
  private func origins(_ pipeline: PicturePipeline, _ request: PictureRequest) async throws -> [PictureResponse.Origin]
  {
    try await pipeline.images(for: request).reduce(into: []) { $0.append($1.origin) }
  }

  @Test func storedPictureIsTheOnlyElement() async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
    let pipeline = bench.pipeline()
    let request = PictureRequest("a", style: square)
    #expect(try await origins(pipeline, request).last == .network)
    _ = try await pipeline.image(for: PictureRequest("a", style: large))
    #expect(try await origins(pipeline, request) == [.memory])
    #expect(try await origins(bench.pipeline(), request) == [.styled])
    try bench.end()
  }

  /// The placeholder comes from the store in a process that has shown no style yet, or from memory if the store is
  /// empty.
  @Test(arguments: [false, true]) func nearestAvailableSizeComesFirst(inMemory: Bool) async throws {
    let cases: [(wanted: ImageStyle, near: ImageStyle)] = [
      (try .square(50), large), (try .square(100), large), (try .square(20), square), (try .rectangle(90, 30), wide),
    ]
    for (wanted, near) in cases {
      let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
      let first = bench.pipeline { $0.keeps = .styled }
      for style in [square, large, wide] { _ = try await first.image(for: PictureRequest("a", style: style)) }
      if inMemory { try bench.store.removeAll() }
      let pipeline = inMemory ? first : bench.pipeline()
      bench.loader.close()
      var responses = pipeline.images(for: PictureRequest("a", style: wanted)).makeAsyncIterator()
      let placeholder = try await #require(responses.next())
      #expect(placeholder.origin == .placeholder && placeholder.bitmap.size == near.pixelSize, "\(wanted) by \(near)")
      bench.loader.open()
      let picture = try await #require(responses.next())
      #expect(picture.origin == .network && picture.bitmap.size == wanted.pixelSize)
      #expect(try await responses.next() == nil)
      try bench.end()
    }
  }

  /// A stale picture comes before other sizes, both from memory and from the store.
  @Test(arguments: [false, true]) func stalePictureComesBeforeOtherSizes(inMemory: Bool) async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
    bench.loader.set(headers: ["Cache-Control": "max-age=0"])
    let first = bench.pipeline()
    for style in [square, large] { _ = try await first.image(for: PictureRequest("a", style: style)) }
    let pipeline = inMemory ? first : bench.pipeline()
    bench.loader.close()
    var responses = pipeline.images(for: PictureRequest("a", style: square)).makeAsyncIterator()
    let placeholder = try await #require(responses.next())
    #expect(placeholder.origin == .placeholder && placeholder.bitmap.size == square.pixelSize)
    bench.loader.open()
    #expect(try await responses.next()?.origin == .network)
    try bench.end()
  }

  @Test(arguments: [false, true]) func pictureOfOtherVaryHeadersIsNoPlaceholder(inMemory: Bool) async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
    bench.loader.set(headers: ["Vary": "Authorization"])
    let first = bench.pipeline()
    _ = try await first.image(for: PictureRequest("a", style: large, headers: ["Authorization": "one"]))
    let pipeline = inMemory ? first : bench.pipeline()
    let request = PictureRequest("a", style: square, headers: ["Authorization": "two"])
    #expect(await pipeline.placeholder(for: request) == nil)
    #expect(try await origins(pipeline, request).last == .network)
    try bench.end()
  }

  @Test func keyWithoutAPictureHasNoPlaceholder() async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg, "b": PipelineBench.jpeg]))
    let pipeline = bench.pipeline()
    for request in [PictureRequest("a", style: square), PictureRequest("b", style: large)] {
      #expect(await pipeline.placeholder(for: request) == nil)
      #expect(try await origins(pipeline, request).last == .network)
    }
    try bench.end()
  }

  @Test func errorComesAfterThePlaceholder() async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
    _ = try await bench.pipeline { $0.keeps = .styled }.image(for: PictureRequest("a", style: square))
    // The first pipeline may hold the original for a moment.
    let pipeline = bench.pipeline { $0.keeps = .styled }
    bench.loader.set("a", nil)
    bench.loader.close()
    var responses = pipeline.images(for: PictureRequest("a", style: large)).makeAsyncIterator()
    #expect(try await responses.next()?.origin == .placeholder)
    bench.loader.open()
    do {
      _ = try await responses.next()
      Issue.record("no error came")
    } catch {
      #expect(error as? LoadError == .status(404))
    }
    try bench.end()
  }

  @Test func canceledOrDroppedSequenceCancelsTheWork() async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg], isOpen: false))
    let pipeline = bench.pipeline()
    let listener = Task {
      for try await _ in pipeline.images(for: PictureRequest("a", style: square)) {}
    }
    try await until { bench.loader.loads.count == 1 }
    listener.cancel()
    _ = try? await listener.value
    try await until { bench.loader.cancelledCount == 1 }
    // A sequence that is dropped without being read is canceled as well.
    do { _ = pipeline.images(for: PictureRequest("b", style: square)) }
    try await until { bench.loader.cancelledCount == bench.loader.loads.count }
    try bench.end()
  }

  @Test func placeholderOfTheStorageIsShown() async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg], isOpen: false))
    let badge = Bitmap.gradient(7, 9)
    let pipeline = bench.pipeline(ScriptedStorage(placeholder: badge))
    var responses = pipeline.images(for: PictureRequest("a", style: square)).makeAsyncIterator()
    let first = try await #require(responses.next())
    #expect(first.origin == .placeholder && first.bitmap.bytes == badge.bytes)
    bench.loader.open()
    #expect(try await responses.next()?.origin == .network)
    try bench.end()
  }
}

@Suite struct NearestStyleTests {
  private func order(_ names: [String], near wanted: String) throws -> [String] {
    NearestStyle.order(try names.map { try ImageStyle(name: $0) }, near: try ImageStyle(name: wanted)).map(\.name)
  }

  @Test func sameShapeComesBeforeTheNearestLargerAndTheLargestSmaller() throws {
    let names = [
      "square-20", "square-90", "square-50", "square-30", "rectangle-41x40", "rounded-45x45-r10", "square-40-fit",
    ]
    #expect(
      try order(names, near: "square-40")
        == [
          "square-50", "square-90", "square-30", "square-20", "rounded-45x45-r10", "square-40-fit", "rectangle-41x40",
        ])
    #expect(
      try order(["square-20@2x", "square-40", "square-20"], near: "square-40")
        == ["square-40", "square-20@2x", "square-20"])
  }

  @Test func largestStyleIsNearestToOneWithoutASize() throws {
    #expect(
      try order(["square-20", "free-badge.v1", "square-90", "rectangle-50x60", "original"], near: "original")
        == ["square-90", "rectangle-50x60", "square-20"])
  }
}
