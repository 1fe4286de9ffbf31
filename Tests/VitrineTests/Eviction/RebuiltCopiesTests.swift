import Testing

@testable import Vitrine

/// All checkpoints are lost while records are in two segments: the original, and compaction's copy.
@Suite struct RebuiltCopiesTests {
  let disk = MemoryDisk()
  let world: TestWorld
  let store: CacheStore

  init() throws {
    world = TestWorld(fileSystem: disk)
    store = try world.open("store", StoreOptions(byteBudget: 1 << 20))
    for index in 0..<40 { try store.put(noise(4000, UInt64(index)), for: "k\(index)") }
    for index in 0..<40 where index % 3 != 1 { try store.remove("k\(index)") }
    try store.checkpoint()
  }

  private func compact(_ goesOn: () -> Bool) throws {
    try store.probe.compactOnce(leastDead: 0.1, goesOn: goesOn)
  }

  private func rebuilt(_ image: MemoryDisk.Image) throws -> CacheStore {
    var image = image
    for name in ["checkpoints/0.checkpoint", "checkpoints/1.checkpoint"] {
      image[name] = [UInt8](repeating: 0, count: image[name]?.count ?? 0)
    }
    let store = try TestWorld(fileSystem: MemoryDisk(image)).open("store", StoreOptions())
    #expect(store.statistics().lastOpen.kind == .rebuilt)
    return store
  }

  /// The segments that contain the bytes, with the offsets.
  private func places(_ bytes: [UInt8], _ image: MemoryDisk.Image) -> [(file: String, offset: Int)] {
    image.keys.filter { $0.hasPrefix("segments/") }.sorted().compactMap { name in
      let content = image[name]!
      return stride(from: 0, to: content.count - bytes.count, by: 64).first { offset in
        content[offset] == bytes[0] && Array(content[offset..<offset + bytes.count]) == bytes
      }.map { (name, $0) }
    }
  }

  @Test func recordRemovedFromItsCopyDoesNotReturnFromItsOriginal() throws {
    var asked = 0
    try compact {
      asked += 1
      return asked < 9
    }
    var gone: [String] = []
    // The records that exist twice now.
    for index in 0..<40 where index % 3 == 1 && places(noise(4000, UInt64(index)), disk.image).count == 2 {
      try store.remove("k\(index)")
      gone.append("k\(index)")
    }
    #expect(gone.count > 2)
    try store.flush()
    let again = try rebuilt(disk.image)
    for key in gone { #expect(again[key] == nil, "\(key)") }
    for index in 0..<40 where index % 3 == 1 && !gone.contains("k\(index)") {
      #expect(again["k\(index)"] == noise(4000, UInt64(index)))
    }
  }

  @Test func halfWrittenCopyLosesNoEntry() throws {
    var image: MemoryDisk.Image = [:]
    var asked = 0
    try compact {
      asked += 1
      if asked == 5 { image = disk.image }
      return true
    }
    var torn = 0
    for index in 0..<40 where index % 3 == 1 {
      let places = places(noise(4000, UInt64(index)), image)
      guard places.count == 2 else { continue }
      torn += 1
      image[places[1].file]![places[1].offset + 3000] ^= 1
    }
    #expect(torn > 2)
    let again = try rebuilt(image)
    for index in 0..<40 where index % 3 == 1 {
      #expect(again["k\(index)"] == noise(4000, UInt64(index)), "k\(index)")
    }
    #expect(again.statistics().damagedCount == 0)
  }
}
