import Foundation
import Testing

@testable import Vitrine

/// A store that maps no segment. `ModelTests` runs one beside the model; these tests check the rest.
@Suite struct CopiedReadTests {
  let folder: TemporaryFolder
  let world = TestWorld()

  init() throws { folder = try TemporaryFolder() }

  private func open(isReadOnly: Bool = false) throws -> CacheStore {
    try world.open(
      folder.store,
      StoreOptions(
        byteBudget: isReadOnly ? nil : 8 << 20, segmentByteCount: isReadOnly ? nil : 65_536, reads: .copied,
        isReadOnly: isReadOnly))
  }

  private func segmentFiles(of store: CacheStore) -> [String] {
    store.statistics().segments.filter { $0.livePartCount > 0 }.map { "\(folder.store)/segments/\($0.file)" }
  }

  @Test func noSegmentIsEverMapped() throws {
    var store = try open()
    func expectNoMapping() {
      let storages = store.probe.segments.compactMap { $0?.storage }
      #expect(storages.count > 3 && storages.allSatisfy { $0.mapping == nil })
    }
    for index in 0..<20 { try store.put(noise(10_000, UInt64(index)), for: "\(index)") }
    expectNoMapping()
    try store.close()
    store = try open()
    expectNoMapping()
    try store.close()
    store = try open(isReadOnly: true)
    expectNoMapping()
    #expect(store["7"] == noise(10_000, 7))
    try store.close()
  }

  @Test func everyKindOfValueIsReadInEveryWay() throws {
    let store = try open()
    let layout = BitmapLayout(width: 32, height: 32, format: .bgra8888)!
    let long = "https://example.com/" + String(repeating: "x", count: 60_000)
    let values: [(String, [UInt8], PutOptions)] = [
      ("plain", noise(3000), PutOptions(metadata: noise(60_000, 9))), ("text", text(9000), PutOptions()),
      ("bitmap", noise(4096, 3), PutOptions(layout: layout, isPageAligned: true)),
      ("large", noise(3 << 20, 4), PutOptions()), ("empty", [], PutOptions()), (long, noise(200, 5), PutOptions()),
      ("shared", noise(3000), PutOptions(metadata: [7])), ("shared text", text(9000), PutOptions()),
    ]
    for (url, value, options) in values { try store.put(value, for: url, options: options) }
    #expect(store.statistics().blobCount == 6)
    for (url, value, options) in values {
      #expect(store[url] == value)
      guard case .found(let info) = store.lookup(url) else {
        Issue.record("no \(url.prefix(20))")
        continue
      }
      #expect(info.metadata == options.metadata && info.layout == options.layout && info.byteCount == value.count)
      #expect(try store.entries(digest: info.digest).count == 1)
      let blob = try #require(store.blob(url))
      #expect(blob.isCopy && blob.withBytes { $0.withUnsafeBytes { Array($0) } } == value)
    }
    var given: [Int: [UInt8]] = [:]
    store.getMany(values.map { CacheKey($0.0) }) { index, bytes in
      if let bytes { given[index] = bytes.withUnsafeBytes { Array($0) } }
    }
    for (index, value) in values.enumerated() { #expect(given[index] == value.1) }
    #expect(try store.keysInOrder().count == values.count && store.contains(long) && !store.contains("no"))
    // Nested borrows have a buffer each.
    store.get("plain") { plain in
      store.get("text") { inner in
        _ = store.get("large") { $0.byteCount }
        _ = store["bitmap"]
        #expect(inner.withUnsafeBytes { Array($0) } == text(9000))
      }
      #expect(plain.withUnsafeBytes { Array($0) } == noise(3000))
    }
    #expect(try store.setMetadata([8], for: CacheKey("text")))
    #expect(try store.removeAll(prefix: "shared") == 2)
    #expect(store["plain"] == noise(3000) && store["text"] == text(9000))
    #expect(try store.verify().isOK)
    try store.close()
  }

  @Test(arguments: [0, 100, 4096, 30_000, 40_001])
  func truncatedFileMakesLostValuesMisses(_ byteCount: Int) throws {
    let store = try open()
    for index in 0..<30 { try store.put(noise(10_000, UInt64(index)), for: "\(index)") }
    for index in 0..<30 { #expect(store["\(index)"] != nil) }
    for file in segmentFiles(of: store) {
      try #require(FileHandle(forUpdatingAtPath: file)).truncate(atOffset: UInt64(byteCount))
    }
    var gone = 0
    for index in 0..<30 {
      let blob = index % 2 == 0 ? store.blob("\(index)") : nil
      if let blob { #expect(!blob.isDamaged) }
      if let got = store["\(index)"] { #expect(got == noise(10_000, UInt64(index))) } else { gone += 1 }
    }
    // Six values a segment; those wholly before the cut still exist.
    #expect(gone == 5 * (6 - max(0, byteCount - 64) / 10_100))
    #expect(store.statistics().damagedCount == gone && store.count == 30 - gone)
    for index in 0..<30 { try store.put(noise(10_000, UInt64(100 + index)), for: "\(index)") }
    for index in 0..<30 { #expect(store["\(index)"] == noise(10_000, UInt64(100 + index))) }
    try store.close()
  }
}
