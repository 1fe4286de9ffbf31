import Foundation
import Testing
import Vitrine

@testable import VitrineImages

/// Overlapping work on one key: the storage and the memory keep the original of the last download.
@Suite struct DownloadOrderTests {
  private let jpeg = PipelineBench.jpeg
  private let other = PipelineBench.other
  private let style = try! ImageStyle.square(20)
  private let otherStyle = try! ImageStyle.circle(10)

  private func request(_ policy: PictureRequest.CachePolicy = .use, _ style: ImageStyle? = nil) -> PictureRequest {
    PictureRequest("a", style: style ?? self.style, cachePolicy: policy)
  }

  private func pipeline(_ bench: PipelineBench, _ decoder: GatedDecoder) -> PicturePipeline {
    bench.pipeline { configuration in
      configuration.decoder = decoder
      configuration.decodeLimit = 2
      configuration.keeps = .both
    }
  }

  @Test func earlierDownloadDoesNotReplaceALaterOne() async throws {
    let decoder = GatedDecoder(holding: jpeg)
    let bench = try PipelineBench(GatedLoader(["a": jpeg]))
    let pipeline = pipeline(bench, decoder)
    let first = Task { try await pipeline.image(for: request()) }
    try await until { decoder.waitingCount == 1 }
    bench.loader.set("a", other)
    let reloaded = try await pipeline.image(for: request(.reload))
    decoder.open()
    _ = try await first.value
    #expect(bench.store.bytes("a") == other)
    #expect(try await pipeline.image(for: request()).bitmap.bytes == reloaded.bitmap.bytes)
    try bench.end()
  }

  /// The first request finds an original that an earlier pipeline has stored.
  @Test func storedOriginalIsNotShownAfterAReload() async throws {
    let decoder = GatedDecoder(holding: jpeg)
    let bench = try PipelineBench(GatedLoader(["a": jpeg]))
    _ = try await bench.pipeline { $0.keeps = .both }.image(for: request(.use, otherStyle))
    let pipeline = pipeline(bench, decoder)
    let first = Task { try await pipeline.image(for: request()) }
    try await until { decoder.waitingCount == 1 }
    bench.loader.set("a", other)
    let reloaded = try await pipeline.image(for: request(.reload))
    decoder.open()
    _ = try await first.value
    #expect(try await pipeline.image(for: request()).bitmap.bytes == reloaded.bitmap.bytes)
    #expect(bench.store.bytes("a") == other)
    try bench.end()
  }

  /// The answer of the first reload has arrived when the second one begins.
  @Test(arguments: [true, false]) func reloadDoesNotShareAnEarlierAnswer(_ isSameStyle: Bool) async throws {
    let decoder = GatedDecoder(holding: jpeg)
    let bench = try PipelineBench(GatedLoader(["a": jpeg, "b": other]))
    let pipeline = pipeline(bench, decoder)
    let first = Task { try await pipeline.image(for: request(.reload)) }
    try await until { decoder.waitingCount == 1 }
    bench.loader.set("a", other)
    let second = Task { try await pipeline.image(for: request(.reload, isSameStyle ? style : otherStyle)) }
    if isSameStyle { try await until { pipeline.pictures.joined.waiterCount == 2 } }
    decoder.open()
    _ = try await first.value
    let expected = try await bench.pipeline().image(for: PictureRequest("b", style: isSameStyle ? style : otherStyle))
    #expect(try await second.value.bitmap.bytes == expected.bitmap.bytes)
    #expect(bench.store.bytes("a") == other)
    try bench.end()
  }

  /// The first request finds the stored original damaged, and may not download it.
  @Test func requestThatJoinsACacheOnlyDrawingDownloads() async throws {
    let damaged = Array(jpeg.prefix(jpeg.count / 2))
    let decoder = GatedDecoder(holding: damaged)
    let bench = try PipelineBench(GatedLoader(["a": jpeg]))
    let storage = ScriptedStorage(original: StoredOriginal(bytes: .array(damaged), metadata: []))
    let pipeline = bench.pipeline(storage) { configuration in
      configuration.decoder = decoder
      configuration.decodeLimit = 2
    }
    let first = Task { try await pipeline.image(for: request(.cacheOnly)) }
    try await until { decoder.waitingCount == 1 }
    let second = Task { try await pipeline.image(for: request()) }
    try await until { pipeline.pictures.drawings.stills.waiterCount == 2 }
    decoder.open()
    await #expect(throws: ImageError.self) { try await first.value }
    #expect(try await second.value.origin == .network)
    try bench.end()
  }

  /// The later download begins while an original that must not be stored is being decoded.
  @Test func laterDownloadIsStoredAfterOneThatMustNotBe() async throws {
    let decoder = GatedDecoder(holding: other)
    let bench = try PipelineBench(GatedLoader(["a": jpeg]))
    let pipeline = pipeline(bench, decoder)
    _ = try await pipeline.image(for: request())
    bench.loader.set("a", other)
    bench.loader.set(headers: ["Cache-Control": "no-store"])
    let first = Task { try await pipeline.image(for: request(.reload)) }
    try await until { decoder.waitingCount == 1 }
    bench.loader.set("a", jpeg)
    bench.loader.set(headers: [:])
    bench.loader.close()
    let second = Task { try await pipeline.image(for: request(.reload, otherStyle)) }
    try await until { bench.loader.loads.count == 3 }
    decoder.open()
    _ = try await first.value
    #expect(bench.store.bytes("a") == nil)
    bench.loader.open()
    _ = try await second.value
    #expect(bench.store.bytes("a") == jpeg)
    try bench.end()
  }

  /// The server confirms the first variant after the second one has been stored in its place.
  @Test func confirmationOfOneVariantLeavesTheOtherItsRecord() async throws {
    let bench = try PipelineBench(GatedLoader(["a": jpeg, "b": other]))
    func answer(_ tag: String) {
      bench.loader.set(headers: ["ETag": tag, "Vary": "Accept", "Cache-Control": "max-age=0"])
    }
    let one = PictureRequest("a", style: style, headers: ["Accept": "image/jpeg"])
    let two = PictureRequest("b", key: "a", style: otherStyle, headers: ["Accept": "image/webp"])
    answer("\"1\"")
    _ = try await bench.pipeline { $0.keeps = .both }.image(for: one)
    answer("\"2\"")
    bench.loader.close()
    let pipeline = bench.pipeline { $0.keeps = .both }
    let second = Task { try await pipeline.image(for: two) }
    try await until { bench.loader.loads.count == 2 }
    let first = Task { try await pipeline.image(for: one) }
    try await until { pipeline.pictures.originals.joined.waiterCount == 2 }
    bench.loader.open("b")
    _ = try await second.value
    try await until { bench.loader.loads.count == 3 }
    answer("\"1\"")
    bench.loader.open()
    _ = try await first.value
    #expect(bench.loader.loads.last?.headers["If-None-Match"] == "\"1\"" && bench.store.bytes("a") == other)
    let record = bench.store.blob("a").flatMap { ResponseRecord(metadata: $0.metadata) }
    #expect(record?.vary == ["accept": "image/webp"])
    try bench.end()
  }

  /// The later download begins while the earlier one is being decoded, and arrives once that is stored.
  @Test func laterDownloadOfAKnownKeyIsStored() async throws {
    let decoder = GatedDecoder(holding: other)
    let bench = try PipelineBench(GatedLoader(["a": jpeg]))
    let pipeline = pipeline(bench, decoder)
    _ = try await pipeline.image(for: request())
    bench.loader.set("a", other)
    let first = Task { try await pipeline.image(for: request(.reload)) }
    try await until { decoder.waitingCount == 1 }
    bench.loader.set("a", jpeg)
    bench.loader.close()
    let second = Task { try await pipeline.image(for: request(.reload, otherStyle)) }
    try await until { bench.loader.loads.count == 3 }
    decoder.open()
    _ = try await first.value
    #expect(bench.store.bytes("a") == other)
    bench.loader.open()
    _ = try await second.value
    #expect(bench.store.bytes("a") == jpeg)
    try bench.end()
  }
}
