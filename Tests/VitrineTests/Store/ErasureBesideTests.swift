import Foundation
import Testing

@testable import Vitrine

/// Erasure beside entries that stay.
@Suite struct ErasureBesideTests {
  let disk = MemoryDisk()
  let store: CacheStore

  init() throws {
    let world = TestWorld(fileSystem: disk)
    store = try world.open("store", StoreOptions(byteBudget: 16 << 20, segmentByteCount: 256 << 10))
  }

  private func hasBytes(_ bytes: [UInt8]) -> Bool {
    let needle = Data(bytes.prefix(24))
    return disk.image.contains { Data($0.value).range(of: needle) != nil }
  }

  /// The segment of a large value has a gap before a streamed record, or a dead head before a record with changed
  /// metadata.
  @Test(arguments: [false, true]) func aLargeEntryStopsNoErasure(_ isStreamed: Bool) throws {
    if isStreamed {
      let writer = try store.writer(for: "large")
      for part in 0..<10 { try writer.write(noise(100_000, UInt64(part))) }
      try writer.commit()
    } else {
      try store.put(noise(1_000_000, 1), for: "large")
      #expect(try store.setMetadata([1, 2, 3], for: CacheKey("large", .original)))
    }
    let secret = noise(3000, 77)
    try store.put(secret, for: "secret")
    #expect(try store.remove("secret", erases: true))
    #expect(!hasBytes(secret) && store.contains("large"))
    #expect(try store.compact().isErased)
    try store.close()
  }

  /// The payload of an empty value has no bytes, but its head has the URL.
  @Test func theHeadOfAnEmptyValueIsErasedWithTheLastKey() throws {
    let urls = ["the first of two keys of an empty value", "the second of two keys of an empty value"]
    try store.put([], for: CacheKey(urls[0], .original))
    try store.put(noise(200_000, 1), for: "other")
    try store.put([], for: CacheKey(urls[1], .original))
    try store.remove(urls[0])
    _ = try store.compact()
    try store.remove(urls[1])
    #expect(try store.compact().isErased)
    for url in urls { #expect(!hasBytes(Array(url.utf8)), "\(url)") }
    try store.close()
  }
}
