import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// Pictures are shown even if the storage fails.
@Suite struct FailingStorageTests {
  let square = try! ImageStyle.square(40)

  @Test(arguments: ScriptedStorage.Call.allCases) func failingStorageFailsNoPicture(call: ScriptedStorage.Call)
    async throws
  {
    // Small, because it is drawn some hundred times.
    let picture = try ImageEncoder.encode(.gradient(24, 16), as: .jpeg(quality: 0.9))
    let square = try ImageStyle.square(8)
    let bench = try PipelineBench(GatedLoader(["a": picture]))
    let kept = StoredOriginal(
      bytes: .array(picture),
      metadata: ResponseRecord(headers: ["ETag": "\"a\""], requestHeaders: [:], now: 0).metadata)
    bench.loader.set(headers: ["ETag": "\"a\""])
    for original in [nil, kept] {
      let storage = ScriptedStorage(failing: [call], original: original)
      for keeps in [Keeping.both, .styled] {
        for families in [[], [[square, try .square(6)]]] {
          let pipeline = bench.pipeline(storage) {
            $0.keeps = keeps
            $0.families = families
            $0.memory.count = 0
          }
          for policy in [PictureRequest.CachePolicy.use, .reload, .revalidate, .staleIfError] {
            let request = PictureRequest("a", style: square, cachePolicy: policy)
            #expect(try await pipeline.image(for: request).bitmap.size == square.pixelSize)
            let last = try await pipeline.images(for: request).reduce(nil) { $1 }
            #expect(last?.bitmap.size == square.pixelSize)
          }
        }
      }
      let asked: Set<ScriptedStorage.Call> = [.original, .saveOriginal, .styled, .saveStyled, .placeholder]
      #expect(storage.count(of: call) > 0 || !asked.contains(call) || original != nil)
    }
    try bench.end()
  }

  /// A closed store answers every change with an error.
  @Test func aClosedStoreFailsNoPicture() async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
    let pipeline = bench.pipeline()
    try bench.store.close()
    #expect(try await pipeline.image(for: PictureRequest("a", style: square)).origin == .network)
    try bench.end()
  }

  @Test func originalAboveTheBudgetIsShownAndItsStylesAreKept() async throws {
    // An original above the budget: random pixels, which no format compresses.
    var random = SeededRandom(seed: 3)
    let noise = Bitmap.drawn(700, 700) { _, _ in
      let word = random.next()
      return RGBA(
        UInt8(truncatingIfNeeded: word), UInt8(truncatingIfNeeded: word >> 8), UInt8(truncatingIfNeeded: word >> 16))
    }
    let bench = try PipelineBench(
      GatedLoader(["a": try ImageEncoder.encode(noise, as: .png)]), byteBudget: 1 << 20)
    let pipeline = bench.pipeline { $0.keeps = .both }
    let shown = try await pipeline.image(for: PictureRequest("a", style: square))
    #expect(shown.origin == .network && !bench.store.contains("a") && bench.store.contains("a", style: square.key))
    #expect(try await bench.pipeline().image(for: PictureRequest("a", style: square)).origin == .styled)
    try bench.end()
  }

  @Test func undecodableOriginalIsDownloadedAgain() async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
    try bench.store.put(Array("<html>".utf8), for: "a")
    let request = PictureRequest("a", style: square)
    let cached = PictureRequest("a", style: square, cachePolicy: .cacheOnly)
    #expect(try await bench.pipeline().image(for: request).origin == .network)
    #expect(bench.store.bytes("a") == PipelineBench.jpeg)
    try bench.store.put(Array("<html>".utf8), for: "a")
    await #expect(throws: ImageError.self) { try await bench.pipeline().image(for: cached) }
    await #expect(throws: LoadError.notCached) { try await bench.pipeline().image(for: cached) }
    try bench.end()
  }
}
