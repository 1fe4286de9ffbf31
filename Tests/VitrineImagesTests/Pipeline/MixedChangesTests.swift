import Foundation
import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// A few keys are saved, reloaded, cleared and shown at once, in random combinations.
@Suite struct MixedChangesTests {
  private static let styles = try! [8, 12, 16].map { try ImageStyle.square(Points(Double($0))) }
  private static let keys = ["a", "b", "c"]

  /// A picture whose single color encodes its number.
  private static func picture(_ number: Int) throws -> [UInt8] {
    let color = RGBA(UInt8(number % 16 * 16), UInt8(number / 16 % 16 * 16), 80)
    return try ImageEncoder.encode(.drawn(24, 24) { _, _ in color }, as: .png)
  }

  private static func color(_ bitmap: Bitmap) -> [UInt8] { bitmap.pixel(2, 2) }

  @Test(arguments: [Keeping.both, .styled, .automatic], [false, true])
  func mixedChangesLeaveOnePictureOfEachKey(keeps: Keeping, isFamily: Bool) async throws {
    let pictures = try (0..<200).map { try Self.picture($0) }
    for seed in 1...(Thoroughness.stride == 1 ? 4 : 1) as ClosedRange<UInt64> {
      let bench = try PipelineBench(
        GatedLoader(Dictionary(uniqueKeysWithValues: Self.keys.map { ($0, pictures[0]) })))
      let pipeline = bench.pipeline(StoreStorage(bench.store, styleLimits: [Self.styles[1]: 2])) {
        $0.keeps = keeps
        if isFamily { $0.families = [Self.styles] }
      }
      var random = SeededRandom(seed: seed)
      await withTaskGroup(of: Void.self) { group in
        for number in 1..<80 {
          let (action, key) = (random.below(8), Self.keys[random.below(3)])
          let style = Self.styles[random.below(3)]
          let pause = UInt64(random.below(3)) * 500_000
          group.addTask {
            try? await Task.sleep(nanoseconds: pause)
            switch action {
            case 0: try? await pipeline.save(pictures[number], key)
            case 1:
              bench.loader.set(key, pictures[number])
              _ = try? await pipeline.image(for: PictureRequest(key, style: style, cachePolicy: .reload))
            case 2: try? await pipeline.clear([key])
            case 3:
              _ = try? await pipeline.images(for: PictureRequest(key, style: style)).reduce(0) { sum, _ in sum + 1 }
            default: _ = try? await pipeline.image(for: PictureRequest(key, style: style))
            }
          }
        }
      }
      // All styles of a key have one color: in memory, in the store, and in the original if that is kept.
      for key in Self.keys {
        var colors: Set<[UInt8]> = []
        for style in Self.styles {
          let request = PictureRequest(key, style: style, cachePolicy: .cacheOnly)
          if let shown = pipeline.imageInMemory(for: request) { colors.insert(Self.color(shown.bitmap)) }
          if let blob = bench.store.blob(key, style: style.key) {
            colors.insert(Self.color(try #require(Bitmap(blob))))
          }
        }
        if let original = bench.store.bytes(key) {
          let drawn = try ImageDecoder().decode(original).rendered([Self.styles[0]])
          colors.insert(Self.color(drawn[0]))
        }
        #expect(colors.count <= 1, "seed \(seed), \(key): \(colors)")
      }
      #expect(Self.keys.count { bench.store.contains($0, style: Self.styles[1].key) } <= 2, "seed \(seed)")
      try bench.end()
    }
  }
}
