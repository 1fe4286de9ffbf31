import Foundation
import Testing
import Vitrine
import VitrineFoundation

/// `Data` and `URL` with the calls of a store.
@Suite struct StoreDataTests {
  private let folder = Folder()
  private let url = URL(string: "https://example.org/a%20b.jpg?x=1#top")!

  @Test func dataAreReturnedAsTheyWerePut() throws {
    let store = try folder.open()
    let square = try #require(Style("square-60"))
    let data = Data((0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    try store.put(data, for: url)
    try store.put(data[100..<200], for: url, style: square)
    try store.put(Data(), for: "empty")
    try store.put(Data([1]), for: CacheKey("key"))
    #expect(store.data(url) == data && store.bytes(url.absoluteString) == Array(data))
    #expect(store.data(url, style: square) == data[100..<200])
    #expect(store.data("empty") == Data() && store.data(CacheKey("key")) == Data([1]))
    #expect(store.data("none") == nil && store.data(URL(filePath: "/none")) == nil)
  }

  @Test func urlIsAKeyByItsAbsoluteString() throws {
    let store = try folder.open()
    try store.put(Data([1, 2]), for: url)
    #expect(store.contains(url) && store.contains("https://example.org/a%20b.jpg?x=1#top"))
    #expect(CacheKey(url).foundationURL == url)
    #expect(store.get(url) { $0.byteCount } == 2)
    #expect(store.blob(url)?.byteCount == 2)
    guard case .found(let entry) = store.lookup(url) else { throw StoreError.aborted }
    #expect(entry.key == CacheKey(url))
    #expect(try store.remove(url) && !store.contains(url))
    try store.put(Data([3]), for: url)
    #expect(try store.removeAllStyles(url) == 1)
  }

  @Test func folderIsOpenedByItsURL() throws {
    let store = try CacheStore.open(at: folder.url, options: StoreOptions(byteBudget: 4 << 20))
    #expect(store.path == folder.path)
    #expect(throws: StoreError.self) { try CacheStore.open(at: URL(string: "https://example.org/")!) }
  }

  @Test func unsafeDataWithoutCopyingReadsTheMemoryOfTheBlob() throws {
    let store = try folder.open(StoreOptions(byteBudget: 4 << 20, compressionLevel: 0))
    try store.put(Data(repeating: 5, count: 5000), for: "a")
    let blob = try #require(store.blob("a"))
    let data = blob.unsafeDataWithoutCopying()
    let start = blob.withBytes { span in span.withUnsafeBytes { $0.baseAddress } }
    #expect(data.withUnsafeBytes { $0.baseAddress } == start)
    #expect(blob.data.withUnsafeBytes { $0.baseAddress } != start)
    #expect(data == blob.data)
  }

  @Test func unsafeDataWithoutCopyingOutlivesTheBlobAndTheStore() throws {
    let expected = Data((0..<5000).map { UInt8(truncatingIfNeeded: $0) })
    let data: Data
    weak var released: Blob?
    do {
      let store = try folder.open()
      try store.put(expected, for: "a")
      let blob = try #require(store.blob("a"))
      released = blob
      data = blob.unsafeDataWithoutCopying()
      try store.removeAll()
      try store.close()
    }
    #expect(released != nil)
    #expect(data == expected && data[10..<20] == expected[10..<20])
  }

  @Test func blobIsReleasedWithItsLastData() throws {
    let store = try folder.open()
    try store.put(Data(repeating: 5, count: 5000), for: "a")
    weak var released: Blob?
    do {
      let blob = try #require(store.blob("a"))
      released = blob
      let copies = (0..<3).map { _ in blob.unsafeDataWithoutCopying() }
      #expect(copies.allSatisfy { $0.count == 5000 })
    }
    #expect(released == nil)
  }

  @Test func emptyBlobIsEmptyData() throws {
    let store = try folder.open()
    try store.put(Data(), for: "a")
    let blob = try #require(store.blob("a"))
    #expect(blob.data.isEmpty && blob.unsafeDataWithoutCopying().isEmpty)
  }

  @Test func asyncCallsTakeAndReturnData() async throws {
    let store = try await AsyncCacheStore.open(at: folder.url, options: StoreOptions(byteBudget: 4 << 20))
    try await store.asynchronous.put(Data([1, 2]), for: CacheKey(url))
    #expect(await store.asynchronous.data(for: CacheKey(url)) == Data([1, 2]))
    #expect(await store.asynchronous.data(for: CacheKey("none")) == nil)
  }

  @Test func batchTakesData() throws {
    let store = try folder.open()
    var batch = WriteBatch()
    batch.put(Data([1]), for: CacheKey("a"))
    batch.put(Data([2]), for: CacheKey("b"))
    try store.write(batch)
    #expect(store.data("a") == Data([1]) && store.data("b") == Data([2]))
  }

  @Test func subscriptsReadPutAndRemove() throws {
    let store = try folder.open()
    let square = try #require(Style("square-60"))
    store[url] = Data([1])
    store[url, square] = Data([2])
    store["text"] = Data([3])
    store[CacheKey("key", square)] = Data([4])
    #expect(store[url] == Data([1]) && store[url, square] == Data([2]) && store["text"] == Data([3]))
    #expect(store["key", square] == Data([4]) && store["key"] == nil)
    store[url] = nil
    store["text"] = nil
    #expect(store[url] == nil && store["text"] == nil && store[url, square] == Data([2]))
  }

  @Test func valueThatCannotBeSetLeavesNoOlderOne() throws {
    let store = try folder.open(StoreOptions(byteBudget: 1 << 20))
    store["a"] = Data([1])
    let noise = (0..<1 << 18).map { _ in UInt64.random(in: .min ... .max) }
    store["a"] = noise.withUnsafeBytes { Data($0) }
    #expect(store["a"] == nil)
    store["b"] = Data([1])
    try store.close()
    store["b"] = Data([2])
    #expect(store["b"] == nil)
  }

  @Test func entriesAreASnapshotOfTheMatchingOnes() throws {
    let store = try folder.open()
    let square = try #require(Style("square-60"))
    for number in 0..<20 { try store.put(Data([UInt8(number)]), for: "a/\(number)") }
    try store.put(Data([1]), for: "a/1", style: square)
    try store.put(Data([1]), for: "b/1")
    #expect(Set(store.entries().map(\.key)).count == 22)
    #expect(store.entries(prefix: "a/").map(\.byteCount).reduce(0, +) == 21)
    #expect(store.entries(style: square).map(\.key) == [CacheKey("a/1", square)])
    var iterator = store.entries().makeIterator()
    try store.removeAll()
    var count = 0
    while iterator.next() != nil { count += 1 }
    #expect(count == 22 && store.entries().first { _ in true } == nil)
  }
}
