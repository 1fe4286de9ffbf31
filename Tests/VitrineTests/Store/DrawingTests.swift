import Testing
import VitrineSimulation

@testable import Vitrine

/// Bitmaps drawn into the store's own memory.
@Suite struct DrawingTests {
  private static let options = StoreOptions(byteBudget: 8 << 20, segmentByteCount: 256 << 10)

  private func open() throws -> CacheStore { try TestWorld(fileSystem: MemoryDisk()).open("store", Self.options) }

  private func fill(_ memory: inout MutableRawSpan, _ bytes: [UInt8]) {
    memory.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
  }

  @Test func rowsBeginAtMultiplesOf64Bytes() throws {
    let store = try open()
    let layout = try store.draw(CacheKey("u"), width: 33, height: 5, format: .rgb565) { memory, layout in
      #expect(memory.byteCount == layout.byteCount)
      fill(&memory, noise(layout.byteCount))
      return layout
    }
    #expect(layout.bytesPerRow == 128 && layout.byteCount == 640)
    guard case .found(let info) = store.lookup("u") else { throw StoreError.closed }
    #expect(info.layout == layout && info.encoding == .bitmap)
    #expect(store["u"] == noise(640))
  }

  @Test func drawingMemoryCanBePageAligned() throws {
    let store = try open()
    for round in 0..<3 {
      try store.draw(
        CacheKey("u\(round)"), width: 40, height: 40, format: .bgra8888, options: PutOptions(isPageAligned: true)
      ) { memory, _ in
        let address = memory.withUnsafeMutableBytes { UInt(bitPattern: $0.baseAddress!) }
        #expect(address % 4096 == 0)
      }
    }
  }

  @Test func drawingsCanBeNestedAndReadersSeeTheOldValueMeanwhile() throws {
    let store = try open()
    let layout = BitmapLayout(width: 50, height: 50, format: .gray8)!
    try store.put(noise(2500, 1), for: CacheKey("u"), options: PutOptions(layout: layout))
    try store.draw(CacheKey("u"), layout: layout) { outer, _ in
      fill(&outer, noise(2500, 2))
      #expect(store["u"] == noise(2500, 1))
      try store.draw(CacheKey("u"), layout: layout) { inner, _ in
        fill(&inner, noise(2500, 3))
        try store.put([1], for: "other")
        try store.checkpoint()
      }
      #expect(store["u"] == noise(2500, 3))
    }
    #expect(store["u"] == noise(2500, 2) && store["other"] == [1])
  }

  @Test func throwingDrawingStoresNothing() throws {
    let store = try open()
    try store.put([1], for: "u")
    struct Broken: Error, Equatable {}
    #expect(throws: Broken()) {
      try store.draw(CacheKey("u"), width: 100, height: 100, format: .gray8) { memory, layout in
        fill(&memory, noise(layout.byteCount))
        throw Broken()
      }
    }
    #expect(store["u"] == [1] && store.count == 1)
    #expect(store.probe.pendingCount == 0)
  }

  @Test func badArgumentsAreErrors() throws {
    let store = try open()
    guard
      case .invalidArgument = storeError({
        try store.draw(CacheKey("u"), width: 0, height: 1, format: .gray8) { _, _ in }
      })
    else { throw StoreError.closed }
    let huge = BitmapLayout(width: 65_535, height: 65_535, format: .gray8)!
    #expect(
      storeError { try store.draw(CacheKey("u"), layout: huge) { _, _ in } }
        == .tooLarge(byteCount: huge.byteCount, limit: 1 << 30))
    let large = BitmapLayout(width: 4096, height: 4096, format: .gray8)!
    #expect(storeError { try store.draw(CacheKey("u"), layout: large) { _, _ in } } != nil)
    try store.close()
    #expect(storeError { try store.draw(CacheKey("u"), width: 1, height: 1, format: .gray8) { _, _ in } } == .closed)
  }

  @Test func nestedDrawingBeyondTheCapFailsAtOnce() throws {
    let store = try open()
    let layout = BitmapLayout(width: 1024, height: 1024, format: .gray8)!
    try store.draw(CacheKey("outer"), layout: layout) { memory, _ in
      fill(&memory, noise(1 << 20, 1))
      #expect(storeError { try store.draw(CacheKey("inner"), layout: layout) { _, _ in } } == .noSpace)
    }
    #expect(store["outer"] == noise(1 << 20, 1))
  }

  @Test func equalBitmapsAreShared() throws {
    let store = try open()
    for name in ["a", "b", "c"] {
      try store.draw(CacheKey(name), width: 64, height: 64, format: .gray8) { memory, _ in fill(&memory, noise(4096)) }
    }
    #expect(store.statistics().blobCount == 1 && store["c"] == noise(4096))
  }

  /// On a real disk, and on one that allows no writable mapping.
  @Test(arguments: [true, false]) func drawingIsStoredAfterReopening(_ isReal: Bool) throws {
    let folder = try TemporaryFolder()
    var options = SimulatedDisk.Options()
    options.promisesAllocation = false
    let simulated = SimulatedWorld(disk: SimulatedDisk(options))
    let path = isReal ? folder.store : "/store"
    let environment = isReal ? TestWorld().environment : simulated.environment
    let store = try CacheStore.open(at: path, options: Self.options, environment: environment)
    for round in 0..<10 {
      try store.put(noise(100 + round, 1), for: "u\(round)")
      try store.draw(
        CacheKey("b\(round)"), width: 7 + 20 * round, height: 50, format: .bgra8888,
        options: PutOptions(durability: round % 2 == 0 ? .synced : .buffered)
      ) { memory, layout in
        try store.put(noise(200 + round, 2), for: "v\(round)")
        fill(&memory, noise(layout.byteCount, UInt64(round)))
      }
    }
    #expect(simulated.disk.misuse == [])
    try store.close()
    let again = try CacheStore.open(at: path, options: StoreOptions(), environment: environment)
    for round in 0..<10 {
      #expect(again["u\(round)"] == noise(100 + round, 1) && again["v\(round)"] == noise(200 + round, 2))
      #expect(again["b\(round)"] == noise(roundUp((7 + 20 * round) * 4, to: 64) * 50, UInt64(round)))
    }
    #expect(try again.verify().isOK)
    try again.close()
  }
}
