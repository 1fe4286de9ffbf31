import Foundation
import Testing

@testable import Vitrine

@Suite struct FileRangeTests {
  let folder: TemporaryFolder
  let world = TestWorld()

  init() throws { folder = try TemporaryFolder() }

  private func open(_ options: StoreOptions = StoreOptions(byteBudget: 64 << 20)) throws -> CacheStore {
    try world.open(folder.store, options)
  }

  private func read(_ range: FileRange) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: range.byteCount) { buffer, count in
      count = max(0, pread(range.descriptor, buffer.baseAddress, range.byteCount, off_t(range.offset)))
    }
  }

  @Test(arguments: [1, 100, 40_000, 3 << 20])
  func theRangeHoldsTheBytes(_ count: Int) throws {
    let store = try open()
    try store.put(noise(7), for: "before")
    try store.put(noise(count, 2), for: "a")
    try store.put(noise(count, 2), for: "shared")
    for key: CacheKey in ["a", "shared"] {
      #expect(store.withFileRange(key) { read($0) } == noise(count, 2))
    }
    try store.close()
    let again = try open()
    #expect(again.withFileRange("a") { read($0) } == noise(count, 2))
    try again.close()
  }

  @Test func theFileCannotBeWrittenTo() throws {
    let store = try open()
    try store.put(noise(3000), for: "a")
    let result = store.withFileRange("a") { range in
      (pwrite(range.descriptor, [7], 1, off_t(range.offset)), errno)
    }
    #expect(result?.0 == -1 && result?.1 == EBADF)
    #expect(store["a"] == noise(3000))
    try store.close()
  }

  @Test func emptyValueHasAnEmptyRange() throws {
    let store = try open()
    try store.put([], for: "a")
    #expect(store.withFileRange("a") { $0.byteCount } == 0)
    try store.close()
  }

  @Test func valuesWithoutAFileGiveNil() throws {
    let store = try open()
    try store.put(text(5000), for: "compressed")
    #expect(store.withFileRange("compressed") { $0 } == nil)
    #expect(store.withFileRange("missing") { $0 } == nil)
    try store.close()
    let copying = try open(StoreOptions(byteBudget: 64 << 20, reads: .copied))
    try copying.put(noise(3000), for: "a")
    #expect(copying.withFileRange("a") { $0 } == nil)
    try copying.close()
    #expect(copying.withFileRange("a") { $0 } == nil)
  }

  @Test func errorsOfTheBodyArePassedOn() throws {
    let store = try open()
    try store.put(noise(3000), for: "a")
    #expect(throws: CancellationError.self) { try store.withFileRange("a") { _ in throw CancellationError() } }
    // The segment is not pinned any more.
    try store.removeAll()
    world.background.run()
    _ = try store.compact()
    #expect(store.statistics().entryCount == 0)
    try store.close()
  }

  /// The reader's folders stay, and all files in them are those of another store.
  @Test func aStoreMadeInPlaceOfTheReadersGivesNoFile() throws {
    let first = try open()
    try first.put(noise(3000), for: "a")
    try first.close()
    let reader = try world.openReadOnly(folder.store)
    #expect(reader["a"] == noise(3000))
    for name in try Files.below(folder.store) { try FileManager.default.removeItem(atPath: "\(folder.store)/\(name)") }
    let second = try open()
    try second.put(noise(3000, 2), for: "a")
    #expect(reader["a"] == noise(3000))
    #expect(reader.withFileRange("a") { read($0) } == nil)
    #expect(try reader.copy("a", to: "\(folder.path)/copy"))
    #expect(try Files.read("\(folder.path)/copy") == noise(3000))
    try reader.close()
    try second.close()
  }

  @Test func noDescriptorIsLeftOpen() throws {
    let store = try open()
    try store.put(noise(3000), for: "a")
    let before = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    for _ in 0..<500 { _ = store.withFileRange("a") { $0.byteCount } }
    // Other tests open files meanwhile.
    #expect(try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count < before + 400)
    try store.close()
  }

  @Test(arguments: [0, 1, 5000, 3 << 20], [false, true])
  func copiedFileHasTheBytes(_ count: Int, _ isCompressible: Bool) throws {
    let store = try open()
    let bytes = isCompressible ? text(count) : noise(count)
    try store.put(bytes, for: "a")
    let path = "\(folder.path)/copy"
    #expect(try store.copy("a", to: path))
    #expect(try Files.read(path) == bytes)
    try store.put([1, 2, 3], for: "a")
    #expect(try store.copy("a", to: path), "in place of the file that is there")
    #expect(try Files.read(path) == [1, 2, 3])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["copy", "store"])
    try store.close()
  }

  @Test func copyOfAMissingEntryMakesNoFile() throws {
    let store = try open()
    #expect(try !store.copy("a", to: "\(folder.path)/copy"))
    #expect(!Files.exists("\(folder.path)/copy"))
    try store.close()
  }

  @Test func copyThatFailsLeavesNoFile() throws {
    let store = try open()
    try store.put(noise(3000), for: "a")
    for path in ["\(folder.path)/missing/copy", "", "a\0b", folder.path] {
      #expect(throws: StoreError.self) { try store.copy("a", to: path) }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["store"])
    let statistics = store.statistics()
    #expect(statistics.hitCount == 0, "a copy is no use")
    try store.close()
  }
}
