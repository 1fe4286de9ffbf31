import Testing

@testable import Vitrine

@Suite struct SourceTests {
  let disk = MemoryDisk()
  let world: TestWorld
  let store: CacheStore
  let square = Style("square-60@2x")!
  let wide = Style("w320")!

  init() throws {
    world = TestWorld(fileSystem: disk)
    store = try world.open("store", StoreOptions(byteBudget: 8 << 20))
  }

  private func named(_ bytes: [UInt8]) -> PutOptions { PutOptions(source: .named(Source(bytes)!)) }
  private func digest(_ bytes: [UInt8]) -> Source { Source(of: bytes) }
  private func source(_ store: CacheStore, _ style: Style) -> Source? {
    if case .found(let entry) = store.lookup("a", style: style) { entry.source } else { nil }
  }

  /// The store after the death of the process: only the log has the last changes.
  private func afterDeath() throws -> CacheStore {
    let other = TestWorld(fileSystem: MemoryDisk(disk.image), seed: 77)
    let store = try other.open("store", StoreOptions())
    #expect(store.statistics().lastOpen.notes == [])
    return store
  }

  @Test func aSourceHasOneToSixteenBytes() throws {
    #expect(Source([]) == nil && Source([UInt8](repeating: 1, count: 17)) == nil)
    for count in 1...16 { #expect(try #require(Source(noise(count))).bytes == noise(count)) }
    #expect(Source([1]) != Source([1, 0]))
    #expect(Source(Digest(high: 0x0F0E_0D0C_0B0A_0908, low: 0x0706_0504_0302_0100)) == Source(Array(0..<16)))
  }

  @Test func sourcesAreComparedWhole() throws {
    let key = CacheKey("a", square)
    let bytes = noise(16)
    var (first, last) = (bytes, bytes)
    first[0] ^= 1
    last[15] ^= 1
    for (own, other) in [
      ([1], [1, 0]), ([1, 0], [1]), (bytes, first), (bytes, last), (bytes, Array(bytes.dropLast())),
    ] {
      try store.put([7], for: key, options: named(own))
      #expect(store.bytes(key, source: Source(own)) == [7])
      #expect(store.bytes(key, source: Source(other)) == nil, "\(own) is not \(other)")
    }
  }

  /// The frame of such a put has a removal for each style. The log files end at any place within it.
  @Test func frameOfANewOriginalHasRoomForTheRemovalOfManyStyles() throws {
    try store.put(noise(300, 300), for: "a")
    for version in 0..<300 {
      for style in 0..<24 { try store.put([UInt8(style)], for: "a", style: Style("w\(style)")!) }
      for filler in 0..<version % 5 { try store.put([1], for: "filler\(filler)") }
      try store.put(noise(300, UInt64(version)), for: "a")
      #expect(store.bytes("a", style: Style("w0")!) == nil)
    }
    #expect(store.count == 1 + 4 && store.bytes("a") == noise(300, 299))
  }

  @Test func newOriginalRemovesStylesOfTheOldOne() throws {
    try store.put(noise(900, 1), for: "a")
    try store.put([1], for: "a", style: square)
    try store.put([2], for: "a", style: wide, options: named([9]))
    try store.put([3], for: "a", style: Style("free")!, options: PutOptions(source: .none))
    try store.put([4], for: "b", style: square)
    #expect(source(store, square) == digest(noise(900, 1)) && source(store, wide) == Source([9]))
    try store.put(noise(900, 1), for: "a")
    #expect(store.bytes("a", style: square) == [1], "the same original changes nothing")
    let before = store.statistics().entryCount
    try store.put(noise(900, 2), for: "a")
    #expect(store.statistics().entryCount == before - 1, "the entry went in the same commit")
    for store in [store, try afterDeath()] {
      #expect(store.lookup("a", style: square) == .missing)
      #expect(store.bytes("a", style: wide) == [2] && store.bytes("a", style: Style("free")!) == [3])
      #expect(store.bytes("b", style: square) == [4] && store["a"] == noise(900, 2))
      #expect(try store.verify().isOK)
    }
  }

  @Test func originalMayBeRemovedAndReturn() throws {
    try store.put(noise(50, 1), for: "a")
    try store.put([1], for: "a", style: square)
    try store.remove("a")
    #expect(store.bytes("a", style: square) == [1])
    try store.put(noise(50, 1), for: "a")
    #expect(store.bytes("a", style: square) == [1], "it is the one that it was made from")
    try store.remove("a")
    try store.put(noise(50, 2), for: "a")
    #expect(store.lookup("a", style: square) == .missing, "another one came in its place")
  }

  @Test func styleWithoutAnOriginalHasNoSource() throws {
    try store.put([1], for: "a", style: square)
    #expect(source(store, square) == nil)
    try store.put(noise(50, 2), for: "a")
    #expect(store.bytes("a", style: square) == [1])
    #expect(source(store, .original) == nil)
  }

  @Test func aGetThatNamesAnotherSourceMisses() throws {
    try store.put(noise(50, 1), for: "a")
    try store.put([1], for: "a", style: square)
    let (right, wrong) = (digest(noise(50, 1)), Source([1])!)
    #expect(store.bytes("a", style: square, source: right) == [1])
    #expect(store.bytes("a", style: square, source: wrong) == nil)
    #expect(store.lookup("a", style: square, source: wrong) == .outdated)
    #expect(store.contains("a", style: square, source: right) && !store.contains("a", style: square, source: wrong))
    let key = CacheKey("a", square)
    var got: [Bool] = []
    store.getMany([key, key, key], sources: [right, wrong]) { _, bytes in got.append(bytes != nil) }
    #expect(got == [true, false, true])
    #expect(store.bytes("a", style: square) == [1], "a source by default outlives such a question")
    #expect(store.lookup("a", source: right) == .outdated, "the original has none")
    let lookups = store.statistics()
    #expect(lookups.hitCount == 4 && lookups.missCount == 2)
  }

  @Test(arguments: [false, true])
  func entryWithANamedSourceStaysUntilAGetNamesAnother(_ isCompressed: Bool) throws {
    let value = isCompressed ? text(5000) : noise(500)
    let key = CacheKey("a", square)
    try store.put(value, for: key, options: named([1]))
    try store.put(noise(50, 1), for: "a")
    try store.put(noise(50, 2), for: "a")
    #expect(store.bytes(key, source: Source([1])) == value)
    #expect(store.lookup(key, source: Source([2])) == .outdated && !store.contains(key, source: Source([2])))
    #expect(store.bytes(key) == value, "only a get makes it go")
    #expect(store.bytes(key, source: Source([2])) == nil)
    #expect(store.lookup(key) == .missing)
    #expect(try afterDeath().lookup(key) == .missing)
  }

  @Test func aReadOnlyStoreOnlyMisses() throws {
    let key = CacheKey("a", square)
    try store.put([1], for: key, options: named([1]))
    try store.close()
    let reader = try world.openReadOnly("store")
    #expect(reader.bytes(key, source: Source([2])) == nil && reader.bytes(key) == [1])
  }

  @Test func metadataAndCheckpointsKeepTheSource() throws {
    try store.put(noise(50, 1), for: "a")
    try store.put([1], for: "a", style: square)
    try store.put([2], for: "a", style: wide, options: named([9]))
    for style in [square, wide] {
      #expect(try store.setMetadata([5], for: CacheKey("a", style)))
      #expect(try store.setExpiration(nil, for: CacheKey("a", style)))
    }
    try store.checkpoint()
    let again = try afterDeath()
    #expect(source(again, square) == digest(noise(50, 1)) && source(again, wide) == Source([9]))
    try again.put(noise(50, 2), for: "a")
    #expect(again.lookup("a", style: square) == .missing && again.bytes("a", style: wide) == [2])
  }

  @Test func aBatchFollowsItsOwnOriginal() throws {
    let (old, new) = (noise(50, 1), noise(50, 2))
    try store.put(old, for: "a")
    try store.put([1], for: "a", style: square)
    try store.put([2], for: "a", style: wide)
    var batch = WriteBatch()
    batch.put([3], for: CacheKey("a", square))
    batch.put(new, for: CacheKey("a"))
    try store.write(batch)
    for store in [store, try afterDeath()] {
      #expect(store.bytes("a", style: square, source: digest(new)) == [3], "whatever their order")
      #expect(store.lookup("a", style: wide) == .missing)
      #expect(store.count == 2)
      #expect(try store.verify().isOK)
    }
    batch = WriteBatch()
    batch.remove(CacheKey("a"))
    batch.put([4], for: CacheKey("a", wide))
    try store.write(batch)
    #expect(source(store, wide) == nil && source(store, square) == digest(new))
    try store.putMany([(CacheKey("a"), old, PutOptions()), (CacheKey("b"), old, PutOptions())])
    #expect(store.lookup("a", style: square) == .missing && store.bytes("a", style: wide) == [4])
  }

  @Test func batchThatRemovesAnOutdatedStyleRemovesItOnce() throws {
    try store.put(noise(50, 1), for: "a")
    try store.put([1], for: "a", style: square)
    try store.put([2], for: "a", style: wide)
    var batch = WriteBatch()
    batch.remove(CacheKey("a", square))
    batch.put(noise(50, 2), for: CacheKey("a"))
    try store.write(batch)
    for store in [store, try afterDeath()] {
      #expect(store.count == 1 && store["a"] == noise(50, 2))
      #expect(try store.verify().isOK)
    }
  }

  /// The reservation is made before it is known whether there will be a source: a head of any length fits into it.
  @Test func drawnOrWrittenStyleFollowsTheOriginalOfItsCommit() throws {
    let (old, new) = (noise(50, 1), noise(50, 2))
    let layout = BitmapLayout(width: 16, height: 2, format: .rgba8888)!
    for length in 0..<70 {
      let options = PutOptions(metadata: noise(length), isPageAligned: length % 8 == 3)
      let drawn = noise(layout.byteCount, UInt64(1000 + length))
      let written = noise(length % 2 == 0 ? 70_000 : 90_000, UInt64(2000 + length))
      if length % 3 == 0 { try store.remove("a") } else { try store.put(old, for: "a") }
      let writer = try store.writer(
        for: CacheKey("a", wide), length: length % 4 < 2 ? written.count : nil, options: options)
      try writer.write(Array(written.prefix(66_000)))
      try store.draw(CacheKey("a", square), layout: layout, options: options) { memory, _ in
        memory.withUnsafeMutableBytes { $0.copyBytes(from: drawn) }
        if length % 5 != 0 { try store.put(new, for: "a") }
      }
      try writer.write(Array(written.dropFirst(66_000)))
      try writer.commit()
      let expected = length % 5 != 0 ? Source(of: new) : length % 3 == 0 ? nil : Source(of: old)
      for (style, value) in [(square, drawn), (wide, written)] {
        #expect(store.bytes("a", style: style) == value && source(store, style) == expected, "\(length)")
      }
      if length % 16 == 0 {
        #expect(try store.verify().isOK)
        let again = try afterDeath()
        #expect(again.bytes("a", style: square) == drawn && again.bytes("a", style: wide) == written)
      }
      try store.removeAll()
      world.background.run()
    }
    try store.put(old, for: "a")
    try store.put([1], for: "a", style: square)
    let writer = try store.writer(for: "a")
    try writer.write(noise(100_000))
    try writer.commit()
    #expect(store.count == 1 && store["a"] == noise(100_000))
  }

  /// More removals than a log file holds: the put commits by a checkpoint.
  @Test(arguments: [3000])
  func anOriginalWithManyStylesIsReplacedWhole(_ count: Int) throws {
    try store.put(noise(50, 1), for: "a")
    var batch = WriteBatch()
    for number in 0..<count { batch.put([1], for: CacheKey("a", Style("s\(number)")!)) }
    for number in 0..<20 { batch.put([2], for: CacheKey("a", Style("k\(number)")!), options: named([7])) }
    try store.write(batch)
    #expect(store.count == count + 21)
    #expect(store.probe.wal.capacity < count * 56)
    try store.put(noise(50, 2), for: "a", options: PutOptions(durability: .synced))
    for store in [store, try afterDeath()] {
      #expect(store.count == 21 && store["a"] == noise(50, 2))
      #expect(store.bytes("a", style: Style("k7")!, source: Source([7])) == [2])
      #expect(try store.verify().isOK)
      #expect(try store.removeAllStyles("a") == 21 && store.count == 0)
    }
  }

  @Test func rebuiltIndexHasNoStylesOfAnOlderOriginal() throws {
    try store.put(noise(900, 1), for: "a")
    try store.put([1], for: "a", style: square)
    try store.put([2], for: "a", style: wide, options: named([9]))
    try store.put(noise(900, 2), for: "a")
    try store.put([3], for: "a", style: Style("new")!)
    // The log with the removal is gone.
    try store.close()
    var image = disk.image
    for name in image.keys where name.hasPrefix("wal/") || name.hasPrefix("checkpoints/") { image[name] = nil }
    let bare = MemoryDisk(image)
    let report = try CacheStore.repair(at: "store", environment: TestWorld(fileSystem: bare, seed: 2).environment)
    #expect(report.damaged == [])
    let rebuilt = try TestWorld(fileSystem: bare, seed: 3).open("store")
    #expect(rebuilt["a"] == noise(900, 2))
    #expect(rebuilt.lookup("a", style: square) == .missing)
    #expect(rebuilt.bytes("a", style: wide) == [2])
    #expect(rebuilt.bytes("a", style: Style("new")!) == [3])
  }
}
