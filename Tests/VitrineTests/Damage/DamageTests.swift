import Testing

@testable import Vitrine

/// After any damage to a store's files, opening it fails with an error, or it returns right bytes or none.
@Suite struct DamageTests {
  /// An undamaged store returns everything, so the checks of the other tests have something to find.
  @Test(arguments: [true, false])
  func undamagedStoreReturnsEverything(_ clean: Bool) throws {
    let image = try SmallStore.image(clean: clean)
    for isReadOnly in [true, false] {
      let store = try TestWorld(fileSystem: MemoryDisk(image), seed: 7).open(
        "store", StoreOptions(verification: .always, isReadOnly: isReadOnly))
      for (key, value) in SmallStore.values { #expect(store.bytes(key) == value) }
      #expect(store.count == SmallStore.values.count)
      #expect(store.statistics().lastOpen.kind == (clean ? .clean : .recovered))
      try store.close()
    }
  }

  @Test(arguments: [true, false])
  func truncatedEmptiedOrMissingFileIsHandled(_ clean: Bool) throws {
    let image = try SmallStore.image(clean: clean)
    for (name, bytes) in image {
      var damaged = image
      damaged[name] = nil
      DamagedOpening(image: damaged, damage: "\(name) missing").check(.firstRead)
      for count in [0, 1, 63, 128, 200, 511, 512, 700, 4096, 4097, 5000, bytes.count - 1]
      where count < bytes.count {
        damaged[name] = Array(bytes[..<count])
        DamagedOpening(image: damaged, damage: "\(name) cut to \(count)").check(.firstRead)
      }
      damaged[name] = bytes + noise(1000)
      DamagedOpening(image: damaged, damage: "\(name) too long").check(.firstRead)
      damaged[name] = noise(bytes.count, 77)
      DamagedOpening(image: damaged, damage: "\(name) overwritten").check(.firstRead)
    }
  }

  @Test(arguments: [true, false])
  func twoExchangedOrMissingFilesAreHandled(_ clean: Bool) throws {
    let image = try SmallStore.image(clean: clean)
    let names = image.keys.sorted()
    for (index, one) in names.enumerated() {
      for other in names[(index + 1)...] {
        var damaged = image
        damaged[one] = image[other]
        damaged[other] = image[one]
        DamagedOpening(image: damaged, damage: "\(one) and \(other) exchanged").check(.firstRead)
        damaged[one] = nil
        damaged[other] = nil
        DamagedOpening(image: damaged, damage: "\(one) and \(other) missing").check(.firstRead)
      }
    }
  }

  @Test(arguments: [true, false], RandomRuns.seeds([1]))
  func singleChangedByteIsHandled(_ clean: Bool, _ seed: UInt64) throws {
    let image = try SmallStore.image(clean: clean)
    var random = SeededRandom(seed: seed)
    for place in places(image, &random) {
      var damaged = image
      damaged[place.name]![place.offset] ^= place.mask
      DamagedOpening(
        image: damaged,
        damage:
          "\(place.name) byte \(place.offset) ^ \(place.mask); \(RandomRuns.repeating(seed, "DamageTests"))"
      ).check(random.chance(50) ? .firstRead : .always)
    }
  }

  /// Records that the newer checkpoint named may lie behind the end in the older one: no write goes there.
  @Test func cleanCheckpointUnderADamagedNewerOneIsNotACleanClose() throws {
    var image = try SmallStore.image(clean: true)
    func header(_ name: String) -> CheckpointHeader? { image[name]?.withUnsafeBytes { CheckpointHeader($0) } }
    let names = (0..<2).map { CheckpointHeader.fileName($0) }.map { "checkpoints/\($0)" }
      .sorted { header($0)?.generation ?? 0 > header($1)?.generation ?? 0 }
    var newer = try #require(header(names[0]))
    #expect(newer.isClean)
    newer.generation += 1
    // Its body is that of the checkpoint before.
    image[names[1]]?.replaceSubrange(0..<CheckpointHeader.byteCount, with: newer.encoded())
    let disk = MemoryDisk(image)
    let store = try TestWorld(fileSystem: disk, seed: 7).open("store")
    #expect(store.statistics().lastOpen.kind == .recovered)
    for (key, value) in SmallStore.values { #expect(store.bytes(key) == value) }
    try store.put(noise(700, 11), for: "new")
    for (name, bytes) in image where name.hasPrefix("segments/") {
      let hasRecords = bytes.dropFirst(SegmentHeader.byteCount).contains { $0 != 0 }
      if hasRecords { #expect(disk.image[name] == bytes, "\(name) was written to") }
    }
    try store.close()
  }

  /// Entries behind the end of their file are counted and reported at once, not at their first read.
  @Test func openingReportsEntriesBehindTheEndOfAShortSegment() throws {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store")
    for number in 0..<3 { try store.put(noise(3000, UInt64(number)), for: "k\(number)") }
    let place = try #require(store.probe.location(of: CacheKey("k1")))
    let name = "segments/\(try #require(store.probe.segment(inSlot: place.slot)).fileName)"
    try store.close()

    var image = disk.image
    image[name] = Array(try #require(image[name]).prefix(place.offset))
    let again = try TestWorld(fileSystem: MemoryDisk(image), seed: 7).open("store")
    let opening = again.statistics().lastOpen
    #expect(again.count == 1 && opening.droppedCount == 2)
    #expect(opening.notes.contains { $0.hasPrefix(name.dropFirst("segments/".count)) && $0.contains("bytes short") })
    #expect(again["k0"] == noise(3000, 0) && again["k1"] == nil && again["k2"] == nil)
    try again.close()
  }

  private struct Place {
    let name: String
    let offset: Int
    let mask: UInt8
  }

  /// Places of bytes in use, and a few of the zeros between: a sample of them, or all.
  private func places(_ image: MemoryDisk.Image, _ random: inout SeededRandom) -> [Place] {
    var inUse: [Place] = []
    var zeros: [Place] = []
    for (name, bytes) in image.sorted(by: { $0.key < $1.key }) {
      var offset = 0
      while offset < bytes.count {
        let block = bytes[offset..<min(offset + 64, bytes.count)]
        let isUsed = block.contains { $0 != 0 }
        for index in block.indices {
          let place = Place(name: name, offset: index, mask: [0x01, 0x80, 0xFF][random.below(3)])
          if isUsed { inUse.append(place) } else if index % 997 == 0 { zeros.append(place) }
        }
        offset += 64
      }
    }
    if RandomRuns.isExhaustive { return inUse + zeros }
    return Array(
      inUse.shuffled(using: &random).prefix(RandomRuns.share(of: 1200))
        + zeros.shuffled(using: &random).prefix(RandomRuns.share(of: 100)))
  }
}
