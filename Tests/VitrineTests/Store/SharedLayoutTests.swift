import Testing

@testable import Vitrine

/// Equal bytes are shared only if their layouts are equal and the stored copy has the requested page alignment.
@Suite struct SharedLayoutTests {
  private let bytes = noise(400)
  private let square = BitmapLayout(width: 20, height: 20, format: .gray8)!
  private let wide = BitmapLayout(width: 40, height: 10, format: .gray8)!
  private let long = BitmapLayout(width: 10, height: 40, format: .gray8)!

  private func options(_ layout: BitmapLayout?, isPageAligned: Bool = false) -> PutOptions {
    PutOptions(layout: layout, isPageAligned: isPageAligned)
  }

  private func layout(_ store: CacheStore, _ key: String) -> BitmapLayout? {
    if case .found(let info) = store.lookup(key) { info.layout } else { nil }
  }

  @Test func equalBytesWithOtherLayoutsAreStoredApart() throws {
    let world = TestWorld(fileSystem: MemoryDisk())
    let store = try world.open("store")
    let layouts: [(String, BitmapLayout?)] = [("plain", nil), ("square", square), ("wide", wide), ("long", long)]
    for (key, layout) in layouts { try store.put(bytes, for: key, options: options(layout)) }
    for (key, layout) in layouts { try store.put(bytes, for: key + " again", options: options(layout)) }
    #expect(store.statistics().blobCount == 4)
    for (key, expected) in layouts {
      for key in [key, key + " again"] {
        #expect(layout(store, key) == expected && store[key] == bytes, "\(key)")
      }
    }
    try store.close()
  }

  @Test func equalBytesWithOtherLayoutsAreStoredApartWithinABatch() throws {
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store")
    var batch = WriteBatch()
    for (key, layout) in [("square", square), ("wide", wide), ("twin", square)] {
      batch.put(bytes, for: CacheKey(key), options: options(layout))
    }
    try store.write(batch)
    #expect(store.statistics().blobCount == 2)
    for (key, expected) in [("square", square), ("wide", wide), ("twin", square)] {
      #expect(layout(store, key) == expected && store[key] == bytes, "\(key)")
    }
    try store.close()
  }

  @Test func requestedPageAlignmentIsGranted() throws {
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store")
    try store.put(bytes, for: "anywhere", options: options(square))
    try store.put(bytes, for: "page", options: options(square, isPageAligned: true))
    #expect(store.statistics().blobCount == 2)
    let offset = store.get("page") { value in value.withUnsafeBytes { Int(bitPattern: $0.baseAddress!) % 4096 } }
    #expect(offset == 0)
    try store.put(bytes, for: "page again", options: options(square, isPageAligned: true))
    #expect(store.statistics().blobCount == 2)
    try store.close()
  }

  @Test func requestedPageAlignmentIsGrantedWithinABatch() throws {
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store")
    var batch = WriteBatch()
    batch.put(bytes, for: CacheKey("anywhere"), options: options(square))
    batch.put(bytes, for: CacheKey("page"), options: options(square, isPageAligned: true))
    batch.put(bytes, for: CacheKey("again"), options: options(square))
    try store.write(batch)
    #expect(store.statistics().blobCount == 2)
    let offset = store.get("page") { value in value.withUnsafeBytes { Int(bitPattern: $0.baseAddress!) % 4096 } }
    #expect(offset == 0)
    try store.close()
  }

  /// Digests find candidates; within a batch too the bytes decide.
  @Test func differentBytesWithOneDigestWithinABatchAreBothKept() throws {
    var world = TestWorld(fileSystem: MemoryDisk())
    world.environment.digest = { _ in Digest(high: 7, low: 7) }
    let store = try world.open("store")
    var batch = WriteBatch()
    for (key, bytes) in [("a", noise(500, 1)), ("b", noise(500, 2)), ("c", noise(500, 1))] {
      batch.put(bytes, for: CacheKey(key))
    }
    try store.write(batch)
    #expect(store["a"] == noise(500, 1) && store["b"] == noise(500, 2) && store["c"] == noise(500, 1))
    #expect(store.statistics().blobCount == 2)
    try store.close()
  }
}
