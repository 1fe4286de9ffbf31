import Testing

@testable import Vitrine

@Suite struct RangeReadTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  private static let ranges = [
    0..<0, 0..<1, 5..<100, 262_143..<262_145, 1_000_000..<1_700_000, 0..<Int.max, Int.min..<20, 2_999_990..<3_000_000,
    2_999_990..<9_000_000, 4_000_000..<5_000_000,
  ]

  /// The options of a store for large values.
  private func options(_ reads: ReadMode = .mapped) -> StoreOptions {
    StoreOptions(byteBudget: 64 << 20, reads: reads)
  }

  /// Bytes that zstd shrinks to more than 1 MiB.
  private func half(_ count: Int) -> [UInt8] {
    let random = noise(count)
    return (0..<count).map { random[$0] & 15 }
  }

  private func expected(_ bytes: [UInt8], _ range: Range<Int>) -> [UInt8] {
    Array(bytes[range.clamped(to: 0..<bytes.count)])
  }

  @Test(arguments: [ReadMode.mapped, .copied])
  func aPartHasTheBytesOfTheWhole(_ reads: ReadMode) throws {
    let values = [
      "plain": noise(3_000_000), "text": text(3_000_000), "half": half(3_000_000), "small": noise(70_000),
      "short": text(70_000), "empty": [],
    ]
    var store = try world.open("store", options())
    for (name, bytes) in values.sorted(by: { $0.key < $1.key }) {
      try store.put(bytes, for: CacheKey(name))
      try store.put(bytes, for: CacheKey("\(name) shared"))
    }
    try store.close()
    for (name, bytes) in values {
      for range in Self.ranges {
        // Each time, nothing is checked yet.
        store = try world.open("store", options(reads))
        let before = store.statistics().hitCount
        for key in [CacheKey(name), CacheKey("\(name) shared")] {
          #expect(store.bytes(key, range: range) == expected(bytes, range), "\(key) \(range)")
        }
        #expect(store.statistics().hitCount == before + 2)
        try store.close()
      }
    }
  }

  @Test func aPartOfACheckedValueHasItsBytes() throws {
    let store = try world.open("store", options())
    for (index, bytes) in [noise(3_000_000), text(3_000_000), half(3_000_000)].enumerated() {
      let key = CacheKey("\(index)")
      try store.put(bytes, for: key)
      #expect(store.bytes(key) == bytes)
      for range in Self.ranges { #expect(store.bytes(key, range: range) == expected(bytes, range)) }
    }
    #expect(store.bytes("missing", range: 0..<10) == nil)
    try store.close()
    #expect(store.bytes("0", range: 0..<10) == nil)
  }

  @Test(arguments: [false, true])
  func aPartDoesNotReadTheWhole(_ isCompressed: Bool) throws {
    var store = try world.open("store", options())
    try store.put(isCompressed ? half(8_000_000) : noise(8_000_000), for: "a")
    try store.close()
    store = try world.open("store", options())
    disk.readByteCount.withLock { $0 = 0 }
    #expect(store.bytes("a", range: 300_000..<300_100)?.count == 100)
    #expect(disk.readByteCount.withLock { $0 } < 1_200_000)
    try store.close()
  }

  /// The place of a byte of the payload in the disk's image.
  private func flip(_ image: inout MemoryDisk.Image, _ bytes: ArraySlice<UInt8>, at offset: Int) {
    for (name, content) in image where name.hasPrefix("segments/") {
      if let start = content.firstRange(of: bytes)?.lowerBound { image[name]![start + offset] ^= 1 }
    }
  }

  @Test func damageOutsideThePartIsNoObstacle() throws {
    let bytes = noise(3_000_000)
    let store = try world.open("store", options())
    try store.put(bytes, for: "a")
    try store.close()
    var image = disk.image
    flip(&image, bytes.prefix(64), at: 2_000_000)
    let damaged = try TestWorld(fileSystem: MemoryDisk(image)).open("store", options())
    #expect(damaged.bytes("a", range: 0..<1000) == Array(bytes[0..<1000]))
    #expect(damaged.bytes("a", range: 1_999_000..<2_000_100) == nil, "the piece with the damage")
    #expect(!damaged.contains("a"), "the damaged entry is dropped")
    try damaged.close()
  }

  @Test func damageOfACompressedValueIsFound() throws {
    for bytes in [half(3_000_000), text(3_000_000)] {
      let disk = MemoryDisk()
      let store = try TestWorld(fileSystem: disk).open("store", options())
      try store.put(bytes, for: "a")
      let location = try #require(store.probe.location(of: "a"))
      let header = try #require(store.probe.record(at: location)?.header)
      let name = "segments/\(try #require(store.probe.segments[location.slot]).fileName)"
      try store.close()
      var image = disk.image
      image[name]![location.offset + header.payloadOffset + header.storedByteCount / 2] ^= 16
      let damaged = try TestWorld(fileSystem: MemoryDisk(image)).open("store", options())
      #expect(damaged.bytes("a", range: 2_900_000..<2_900_100) == nil)
      #expect(!damaged.contains("a"))
      try damaged.close()
    }
  }

  /// The compressed form has the random bytes as they are, so the damaged frame is valid.
  @Test func damageThatDecompressesIsFound() throws {
    let random = noise(2000)
    let store = try world.open("store", options())
    try store.put(random + [UInt8](repeating: 0, count: 3_000_000), for: "a")
    try store.close()
    var image = disk.image
    let before = image
    flip(&image, random[500..<564], at: 10)
    #expect(image != before)
    let damaged = try TestWorld(fileSystem: MemoryDisk(image)).open("store", options())
    #expect(damaged.bytes("a", range: 0..<1000) == nil)
    #expect(!damaged.contains("a"))
    try damaged.close()
  }

  @Test func expiredAndOutdatedEntriesAreMisses() throws {
    let store = try world.open("store", options())
    let soon = world.clock.wallMilliseconds() + 1000
    try store.put(half(3_000_000), for: "a", options: PutOptions(expirationMilliseconds: soon))
    #expect(store.bytes("a", range: 0..<10)?.count == 10)
    #expect(store.bytes("a", range: 0..<10, source: Source([1])!) == nil)
    world.clock.advance(1000)
    #expect(store.bytes("a", range: 0..<10) == nil)
    try store.close()
  }

  @Test func streamOfAnyBytesNeverTraps() throws {
    var random = SeededRandom(seed: 5)
    let store = try world.open("store", options())
    let bytes = half(20_000)
    let frame = try #require(bytes.withUnsafeBytes { ThreadContext.current.compress($0, level: 1).map { Array($0) } })
    for turn in 0..<2000 {
      var bytes = turn % 2 == 0 ? frame : random.bytes(300)
      for _ in 0..<1 + random.below(4) { bytes[random.below(bytes.count)] ^= UInt8(1 + random.below(255)) }
      guard let stream = StreamDecompressor() else {
        Issue.record("no memory")
        break
      }
      var count = 0
      bytes.withUnsafeBytes {
        _ = stream.append($0) { piece in
          count += piece.count
          return count < 1 << 22
        }
      }
    }
    try store.close()
  }
}
