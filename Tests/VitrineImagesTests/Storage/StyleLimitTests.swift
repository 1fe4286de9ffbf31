import Foundation
import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

@Suite struct StyleLimitTests {
  let square = try! ImageStyle.square(20)
  let circle = try! ImageStyle.circle(20)

  private func kept(_ store: CacheStore, _ style: ImageStyle) -> [String] {
    var keys: [String] = []
    store.forEachEntry(style: style.key) { entry in
      keys.append(entry.key.urlText)
      return true
    }
    return keys.sorted()
  }

  private func bench(_ count: Int = 12) throws -> PipelineBench {
    try PipelineBench(
      GatedLoader(Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", PipelineBench.jpeg) })))
  }

  private func show(_ pipeline: PicturePipeline, _ keys: [Int], _ style: ImageStyle) async throws {
    for key in keys { _ = try await pipeline.image(for: PictureRequest("\(key)", style: style)) }
  }

  @Test func limitRemovesTheLeastRecentlyUsedPictures() async throws {
    let bench = try bench()
    let storage = StoreStorage(bench.store, styleLimits: [square: 3])
    let pipeline = bench.pipeline(storage) { $0.memory.count = 0 }
    try await show(pipeline, [0, 1, 2], square)
    try await show(pipeline, [0], square)
    try await show(pipeline, Array(0..<6), circle)
    #expect(kept(bench.store, square) == ["0", "1", "2"])
    try await show(pipeline, [3], square)
    #expect(kept(bench.store, square) == ["0", "2", "3"])
    try await show(pipeline, [4, 5], square)
    #expect(kept(bench.store, square) == ["3", "4", "5"] && kept(bench.store, circle).count == 6)
    // The limit does not count originals.
    #expect(bench.store.contains("0"))
    try bench.end()
  }

  @Test func theLimitHoldsAcrossOpenings() async throws {
    let bench = try bench()
    func pipeline(_ limit: Int) -> PicturePipeline {
      bench.pipeline(StoreStorage(bench.store, styleLimits: [square: limit])) { $0.memory.count = 0 }
    }
    try await show(pipeline(5), [0, 1, 2, 3, 4], square)
    try await show(pipeline(5), [1, 0], square)
    // The next storage does not know the counts of the previous one.
    let next = pipeline(5)
    try await show(next, [5], square)
    #expect(kept(bench.store, square) == ["0", "1", "3", "4", "5"])
    // A smaller limit removes all pictures above it.
    try await show(pipeline(2), [6], square)
    #expect(kept(bench.store, square) == ["5", "6"])
    try bench.end()
  }

  @Test func theLimitHoldsDuringConcurrentSaves() async throws {
    let bench = try bench(60)
    let styles = [square, circle]
    let storage = StoreStorage(bench.store, styleLimits: [square: 4, circle: 7])
    let isOver = Locked(false)
    let most = Locked(0)
    let store = bench.store
    let watcher = Task.detached {
      while !isOver.withLock({ $0 }) {
        let count = (0..<60).reduce(0) { $0 + (store.contains("\($1)", style: styles[0].key) ? 1 : 0) }
        most.withLock { $0 = max($0, count) }
        await Task.yield()
      }
    }
    for families in [[], [styles]] {
      let pipeline = bench.pipeline(storage) {
        $0.families = families
        $0.memory.count = 0
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<120 {
          group.addTask {
            _ = try await pipeline.image(for: PictureRequest("\(number % 60)", style: styles[number % 2]))
          }
        }
        try await group.waitForAll()
      }
      #expect(kept(store, square).count == 4 && kept(store, circle).count == 7)
    }
    isOver.withLock { $0 = true }
    await watcher.value
    // The watcher checks one key after the other. Pictures change meanwhile, so its count may exceed the limit. The
    // factor 2 is an allowance.
    #expect(most.withLock { $0 } <= 8)
    #expect(storage.index.count(of: square) == 4 && storage.index.count(of: circle) == 7)
    try bench.end()
  }

  @Test func styleWithALimitOfZeroIsShownAndNotKept() async throws {
    let bench = try bench()
    let pipeline = bench.pipeline(StoreStorage(bench.store, styleLimits: [square: 0]))
    try await show(pipeline, [0, 1], square)
    #expect(kept(bench.store, square).isEmpty && bench.store.contains("0"))
    try bench.end()
  }

  @Test func clearedOrReplacedPictureIsNotCounted() async throws {
    let bench = try bench()
    let storage = StoreStorage(bench.store, styleLimits: [square: 4])
    let pipeline = bench.pipeline(storage) { $0.memory.count = 0 }
    try await show(pipeline, [0, 1, 2, 3], square)
    try await pipeline.clear(["1"])
    try await pipeline.retain(only: ["0", "3"])
    try await pipeline.save(PipelineBench.other, "0")
    #expect(storage.index.count(of: square) == 1 && kept(bench.store, square) == ["3"])
    try await show(pipeline, [4, 5, 6], square)
    #expect(kept(bench.store, square) == ["3", "4", "5", "6"])
    try bench.end()
  }

  @Test func outdatedPictureIsNotCounted() async throws {
    let bench = try bench()
    let storage = StoreStorage(bench.store, styleLimits: [square: 2])
    let digest = PipelineBench.jpeg.withUnsafeBytes { Digest(of: $0) }
    try await storage.saveOriginal(PipelineBench.other, metadata: [], for: "a")
    let picture = StyledPicture(square, .pixels(.gradient(20, 20)))
    // This picture was made from another original.
    _ = try await storage.saveStyled([picture], madeFrom: digest, for: "a")
    let drawn = try await storage.drawStyled(
      square, layout: #require(BitmapLayout(width: 4, height: 4, format: .bgra8888)), metadata: [], madeFrom: digest,
      for: "a"
    ) { _ in }
    #expect(drawn == nil && storage.index.count(of: square) == 0 && kept(bench.store, square).isEmpty)
    try bench.end()
  }
}
