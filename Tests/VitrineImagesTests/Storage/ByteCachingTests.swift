import FolderRemoval
import Foundation
import Testing
import Vitrine

@testable import VitrineImages

/// A store used through ``ByteCaching``, the interface for image loaders.
@Suite final class ByteCachingTests {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("vitrine-data-\(UUID().uuidString)")
  let store: CacheStore
  var cache: any ByteCaching { store }

  init() throws { store = try CacheStore.open(at: folder.path, options: StoreOptions(byteBudget: 4 << 20)) }

  deinit {
    try? store.close()
    try? FileManager.default.removeItem(at: folder)
  }

  @Test func storedDataIsReturnedAtOnce() {
    #expect(cache.cachedData(for: "a") == nil && !cache.containsData(for: "a"))
    for round in 0..<500 {
      let data = Data((0..<round * 10).map { UInt8(truncatingIfNeeded: $0 &* round) })
      cache.storeData(data, for: "a")
      #expect(cache.cachedData(for: "a") == data && cache.containsData(for: "a"))
    }
    cache.removeData(for: "a")
    #expect(cache.cachedData(for: "a") == nil && !cache.containsData(for: "a"))
    cache.removeData(for: "a")
  }

  @Test func slicesAndEmptyDataAreStored() {
    let data = Data((0..<100).map { UInt8($0) })
    cache.storeData(data[20..<30], for: "slice")
    #expect(cache.cachedData(for: "slice") == Data(20..<30))
    cache.storeData(Data(), for: "empty")
    #expect(cache.cachedData(for: "empty") == Data() && cache.containsData(for: "empty"))
  }

  @Test func returnedDataStaysUnchanged() throws {
    cache.storeData(Data([1, 2, 3]), for: "a")
    let before = try #require(cache.cachedData(for: "a"))
    cache.storeData(Data([4]), for: "a")
    try cache.removeAll()
    #expect(before == Data([1, 2, 3]))
  }

  @Test func keysAreComparedByTheirBytes() {
    let keys = StorageTests.oddKeys
    for (index, key) in keys.enumerated() { cache.storeData(Data([UInt8(index)]), for: key) }
    for (index, key) in keys.enumerated() { #expect(cache.cachedData(for: key) == Data([UInt8(index)])) }
  }

  @Test func dataIsTheOriginalOfItsURL() throws {
    try store.put([7, 8], for: "https://example.org/a.jpg")
    #expect(cache.cachedData(for: "https://example.org/a.jpg") == Data([7, 8]))
    cache.storeData(Data([9]), for: "https://example.org/a.jpg")
    #expect(store.bytes("https://example.org/a.jpg") == [9])
    // A styled picture without its original does not count.
    try store.put([1], for: "b", style: ImageStyle.square(10).key)
    #expect(!cache.containsData(for: "b"))
  }

  @Test func removeAllLeavesNoData() throws {
    for number in 0..<50 { cache.storeData(Data([1]), for: "\(number)") }
    try cache.removeAll()
    #expect(store.count == 0 && (0..<50).allSatisfy { !cache.containsData(for: "\($0)") })
    cache.storeData(Data([2]), for: "1")
    #expect(cache.cachedData(for: "1") == Data([2]))
  }

  @Test func dataThatCannotBeStoredIsAMiss() throws {
    cache.storeData(Data([1]), for: "a")
    // The value exceeds the budget. The older value is removed as well.
    var random = SeededRandom(seed: 2)
    let noise = (0..<1 << 20).map { _ in random.next() }
    cache.storeData(noise.withUnsafeBytes { Data($0) }, for: "a")
    #expect(cache.cachedData(for: "a") == nil && !cache.containsData(for: "a"))
    cache.storeData(Data([1]), for: String(repeating: "k", count: 70_000))
    #expect(!cache.containsData(for: String(repeating: "k", count: 70_000)))
    #expect(cache.cachedData(for: String(repeating: "k", count: 70_000)) == nil)
    // The cache still works.
    cache.storeData(Data([2]), for: "a")
    #expect(cache.cachedData(for: "a") == Data([2]))
  }

  @Test func closedOrReadOnlyStoreStoresNothingWithoutATrap() throws {
    cache.storeData(Data([1]), for: "a")
    try store.flush()
    let reader: any ByteCaching = try CacheStore.open(at: folder.path, options: StoreOptions(isReadOnly: true))
    #expect(reader.cachedData(for: "a") == Data([1]))
    reader.storeData(Data([2]), for: "b")
    reader.removeData(for: "a")
    #expect(reader.cachedData(for: "b") == nil)
    #expect(throws: StoreError.self) { try reader.removeAll() }
    #expect(cache.cachedData(for: "a") == Data([1]))
    try store.close()
    cache.storeData(Data([3]), for: "a")
    #expect(cache.cachedData(for: "a") == nil && !cache.containsData(for: "a"))
    cache.removeData(for: "a")
  }

  /// The first call after the deletion may not wait for the disk. The store then notices the deletion later.
  @Test(arguments: [false, true]) func deletedFolderServesNoOlderValue(_ recreates: Bool) throws {
    for isReplaced in [false, true] {
      let path = folder.path + "-deleted"
      defer { try? FileManager.default.removeItem(atPath: path) }
      let options = StoreOptions(byteBudget: 4 << 20, recreatesIfRemoved: recreates)
      let store = try CacheStore.open(at: path, options: options)
      let cache: any ByteCaching = store
      for key in ["a", "b", "c", "d"] { cache.storeData(Data([1]), for: key) }
      try FileManager.default.removeFolderInUse(atPath: path)
      if isReplaced { try CacheStore.open(at: path, options: StoreOptions(byteBudget: 4 << 20)).close() }
      cache.storeData(Data([2]), for: "a")
      #expect(cache.cachedData(for: "a") != Data([1]))
      cache.removeData(for: "b")
      #expect(cache.cachedData(for: "b") == nil && !cache.containsData(for: "b"))
      // The removal has noticed the deletion.
      cache.storeData(Data([2]), for: "c")
      #expect(cache.cachedData(for: "c") == (recreates ? Data([2]) : nil))
      #expect(cache.cachedData(for: "d") == (recreates ? nil : Data([1])))
      try cache.removeAll()
      #expect(store.count == 0 && cache.cachedData(for: "d") == nil)
      cache.storeData(Data([3]), for: "a")
      #expect(cache.cachedData(for: "a") == (recreates ? Data([3]) : nil))
      try? store.close()
    }
  }

  @Test func removingAllFromADeletedFolderSucceedsAtOnce() throws {
    cache.storeData(Data([1]), for: "a")
    try FileManager.default.removeFolderInUse(atPath: folder.path)
    try cache.removeAll()
    #expect(cache.cachedData(for: "a") == nil && !cache.containsData(for: "a"))
  }

  @Test func concurrentThreadsReadTheirOwnData() async {
    let cache = cache
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<8 {
        group.addTask {
          for round in 0..<100 {
            let data = Data(repeating: UInt8(thread), count: round + 1)
            cache.storeData(data, for: "\(thread)")
            #expect(cache.cachedData(for: "\(thread)") == data)
            // Another thread's value may be missing or of any round, but all its bytes are that thread's number.
            let other = cache.cachedData(for: "\((thread + 1) % 8)") ?? Data()
            #expect(other.allSatisfy { $0 == UInt8((thread + 1) % 8) })
          }
        }
      }
    }
  }
}
