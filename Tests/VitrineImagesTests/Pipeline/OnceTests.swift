import Testing
import Vitrine

@testable import VitrineImages

/// A style that several requests want at the same time is drawn once, for every kind of request.
@Suite struct OnceTests {
  /// Styles that count how often they are drawn.
  private struct Counted {
    let counts = Locked<[String: Int]>([:])

    func style(_ name: String) throws -> ImageStyle {
      try .free(name) { [counts] picture, _ in
        counts.withLock { $0[name, default: 0] += 1 }
        return picture
      }
    }
  }

  private func ask(_ requests: [PictureRequest], of pipeline: PicturePipeline, _ loader: GatedLoader) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for request in requests { group.addTask { _ = try await pipeline.image(for: request) } }
      try await until { !loader.loads.isEmpty }
      loader.open()
      try await group.waitForAll()
    }
  }

  @Test(arguments: [StyledForm.pixels, .encoded])
  func familyRequestedAtOnceIsDrawnOnce(_ form: StyledForm) async throws {
    let bench = try PipelineBench(GatedLoader(["u": PipelineBench.jpeg], isOpen: false))
    let counted = Counted()
    let styles = try ["a", "b", "c"].map(counted.style)
    let pipeline = bench.pipeline {
      $0.families = [styles]
      $0.styledForm = form
    }
    try await ask(styles.map { PictureRequest("u", style: $0) }, of: pipeline, bench.loader)
    #expect(counted.counts.withLock { $0 } == ["a": 1, "b": 1, "c": 1])
    for style in styles { #expect(bench.store.contains("u", style: style.key)) }
    try bench.end()
  }

  @Test func requestsOfDifferentPoliciesShareTheDrawing() async throws {
    let bench = try PipelineBench(GatedLoader(["u": PipelineBench.jpeg], isOpen: false))
    let counted = Counted()
    let style = try counted.style("a")
    let requests = [PictureRequest.CachePolicy.use, .staleIfError].map {
      PictureRequest("u", style: style, cachePolicy: $0)
    }
    try await ask(requests, of: bench.pipeline(), bench.loader)
    #expect(counted.counts.withLock { $0 } == ["a": 1] && bench.loader.loads.count == 1)
    try bench.end()
  }

  /// A style that cannot be drawn does not fail the other styles of its family.
  @Test(arguments: [false, true]) func familyMemberThatCannotBeDrawnFailsAlone(isFirst: Bool) async throws {
    let bench = try PipelineBench(GatedLoader(["u": PipelineBench.jpeg], isOpen: false))
    let good = [try ImageStyle.square(20), try .square(30)]
    let bad = try ImageStyle.free("bad") { _, _ in throw ImageError.invalidArgument("no") }
    let pipeline = bench.pipeline { $0.families = [good + [bad]] }
    let answers = try await withThrowingTaskGroup(of: Bool.self) { group in
      for style in isFirst ? [bad] + good : good + [bad] {
        group.addTask { (try? await pipeline.image(for: PictureRequest("u", style: style))) != nil }
        // Waits until the download of the first request has begun.
        try await until { !bench.loader.loads.isEmpty }
      }
      bench.loader.open()
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(answers.filter { $0 }.count == 2)
    try bench.end()
  }

  /// The keys are equal as strings, but not as bytes. A store compares bytes.
  @Test func keysThatDifferOnlyInBytesAreSeparate() async throws {
    let keys = ["caf\u{E9}", "cafe\u{301}"]
    #expect(keys[0] == keys[1])
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg, "b": PipelineBench.other], isOpen: false))
    let pipeline = bench.pipeline()
    let square = try ImageStyle.square(20)
    let requests = zip(["a", "b"], keys).map { PictureRequest($0, key: $1, style: square) }
    try await ask(requests, of: pipeline, bench.loader)
    #expect(Set(bench.loader.loads.map(\.url)) == ["a", "b"])
    let shown = try requests.map { try #require(pipeline.imageInMemory(for: $0)).bitmap.bytes }
    #expect(shown[0] != shown[1])
    try await pipeline.clear([keys[0]])
    #expect(pipeline.imageInMemory(for: requests[0]) == nil && pipeline.imageInMemory(for: requests[1]) != nil)
    try await pipeline.retain(only: [keys[0]], prefix: "cafe")
    #expect(pipeline.imageInMemory(for: requests[1]) == nil && bench.store.count == 0)
    try bench.end()
  }
}
