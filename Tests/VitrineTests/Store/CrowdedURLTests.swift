import Foundation
import Testing

@testable import Vitrine

private func style(_ number: Int) -> Style { Style("w\(number)")! }

/// URLs with more styles than stand in one run of the index.
@Suite struct CrowdedURLTests {
  let disk = MemoryDisk()

  private func open(_ options: StoreOptions = StoreOptions(byteBudget: 16 << 20)) throws -> CacheStore {
    try TestWorld(fileSystem: disk).open("store", options)
  }

  private func styles(_ store: CacheStore, _ url: String = "a") throws -> Set<String> {
    Set(try store.keysInOrder(prefix: url).filter { $0.urlText == url }.map { $0.style.name })
  }

  /// Those that were made from the old one go, however many they are, the others stay, and no crash brings one back.
  @Test func aNewOriginalTakesAllThatWasMadeFromTheOldOne() throws {
    let store = try open()
    let count = 1500
    try store.put([1], for: "a")
    for number in 0..<count {
      let options: PutOptions =
        switch number % 30 {
        case 0: PutOptions(source: .named(Source([7])!))
        case 1: PutOptions(source: .none)
        default: PutOptions()
        }
      try store.put(Array("\(number)".utf8), for: "a", style: style(number), options: options)
    }
    for number in stride(from: 0, to: count, by: 37) {
      #expect(store.bytes("a", style: style(number)) == Array("\(number)".utf8))
    }
    // The same original again takes nothing.
    try store.put([1], for: "a")
    #expect(try styles(store).count == count + 1 && store.statistics().evictedCount == 0)
    try store.put([2], for: "a")
    let expected = Set((0..<count).filter { $0 % 30 < 2 }.map { style($0).name } + ["original"])
    #expect(try styles(store) == expected)
    // All but the last few are counted as evicted: they went in frames of their own.
    let gone = count + 1 - expected.count
    #expect((gone - 64...gone).contains(store.statistics().evictedCount))
    #expect(store.bytes("a") == [2] && store.bytes("a", style: style(1)) == Array("1".utf8))
    #expect(try store.verify().damaged.isEmpty)

    let after = try TestWorld(fileSystem: MemoryDisk(disk.image), seed: 3).open("store")
    #expect(try styles(after) == expected && after.bytes("a") == [2])
    #expect(try after.removeAllStyles("a") == expected.count)
    #expect(after.statistics().entryCount == 0)
    try after.close()
    try store.close()
  }

  /// Styles that are put while their original changes follow the one or the other, and in the end the last.
  @Test func stylesPutBesideANewOriginalFollowTheLastOne() throws {
    let store = try open()
    try store.put([0], for: "a")
    let writers = (0..<2).map { writer in
      Thread {
        for number in 0..<400 { try? store.put([1, UInt8(writer)], for: "a", style: style(writer * 1000 + number)) }
      }
    }
    for writer in writers { writer.start() }
    var version: UInt8 = 0
    while !writers.allSatisfy(\.isFinished) {
      version &+= 1
      try store.put([version, version], for: "a")
      // Only this thread changes the original.
      let source = Source(of: [version, version])
      store.forEachEntry { entry in
        #expect(entry.key.style == .original || entry.source == source)
        return true
      }
    }
    try store.close()
  }

  @Test func everyStyleOfACrowdedURLGoesInOneFrame() throws {
    let store = try open()
    for number in 0..<500 { try store.put([UInt8(number & 255)], for: "a", style: style(number)) }
    try store.put([5], for: "b", style: style(5))
    #expect(try store.removeAllStyles("a") == 500)
    #expect(store.statistics().entryCount == 1 && store.bytes("b", style: style(5)) == [5])
    // Checkpoints and the log hold them too.
    for number in 0..<300 { try store.put([UInt8(number & 255)], for: "a", style: style(number)) }
    try store.checkpoint()
    for number in 200..<400 { try store.put([UInt8(number & 255)], for: "a", style: style(number)) }
    let after = try TestWorld(fileSystem: MemoryDisk(disk.image), seed: 4).open("store")
    for number in 0..<400 { #expect(after.bytes("a", style: style(number)) == [UInt8(number & 255)]) }
    try after.close()
    try store.close()
  }

  @Test(arguments: [1, 3, 50])
  func theLeastRecentlyUsedStyleGivesWay(_ most: Int) throws {
    let store = try open(StoreOptions(byteBudget: 16 << 20, maximumStylesPerURL: most))
    try store.put([1], for: "a")
    for number in 0..<most { try store.put([2], for: "a", style: style(number)) }
    try store.put([3], for: "b", style: style(0))
    #expect(store.statistics().evictedCount == 0)
    // The first is used again, so the second is next; with room for one, there is no other.
    #expect(store.bytes("a", style: style(0)) == [2])
    try store.put([4], for: "a", style: style(0))
    #expect(try styles(store).count == most + 1 && store.statistics().evictedCount == 0)
    try store.put([5], for: "a", style: style(100))
    #expect(store.statistics().evictedCount == 1)
    let gone = most == 1 ? 0 : 1
    #expect(store.bytes("a", style: style(gone)) == nil && store.bytes("a", style: style(100)) == [5])
    for number in 200..<200 + 3 * most { try store.put([6], for: "a", style: style(number)) }
    #expect(try styles(store) == Set((200 + 2 * most..<200 + 3 * most).map { style($0).name } + ["original"]))
    #expect(store.bytes("a") == [1] && store.bytes("b", style: style(0)) == [3])
    try store.close()
    // It is an option of the opening: the next one has none, and one with fewer shrinks at the next new style.
    let free = try open()
    for number in 1300..<1310 { try free.put([7], for: "a", style: style(number)) }
    #expect(try styles(free).count == most + 11)
    try free.close()
    let strict = try open(StoreOptions(maximumStylesPerURL: 1))
    #expect(try styles(strict).count == most + 11)
    try strict.put([8], for: "a", style: style(1400))
    #expect(try styles(strict) == ["original", style(1400).name])
    try strict.close()
  }

  @Test func aBatchKeepsItsOwnStyles() throws {
    let store = try open(StoreOptions(byteBudget: 16 << 20, maximumStylesPerURL: 4))
    for number in 0..<4 { try store.put([1], for: "a", style: style(number)) }
    try store.putMany((10..<16).map { (key: CacheKey("a", style($0)), bytes: [2], options: PutOptions()) })
    #expect(try styles(store) == Set((10..<16).map { style($0).name }))
    try store.put([3], for: "a", style: style(20))
    #expect(try styles(store) == Set([13, 14, 15, 20].map { style($0).name }))
    try store.close()
  }

  @Test(arguments: [0, -1, Int.min]) func aLimitOfStylesBelowOneIsRefused(_ count: Int) throws {
    #expect(throws: StoreError.self) { _ = try open(StoreOptions(maximumStylesPerURL: count)) }
  }
}
