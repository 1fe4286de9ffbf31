import Foundation
import Testing

@testable import Vitrine

private func style(_ number: Int) -> Style { Style("w\(number)")! }

/// URLs with more styles than one run of the index holds.
@Suite struct CrowdedURLTests {
  let disk = MemoryDisk()

  private func open(_ options: StoreOptions = StoreOptions(byteBudget: 16 << 20)) throws -> CacheStore {
    try TestWorld(fileSystem: disk).open("store", options)
  }

  private func styles(_ store: CacheStore, _ url: String = "a") throws -> Set<String> {
    Set(try store.keysInOrder(prefix: url).filter { $0.urlText == url }.map { $0.style.name })
  }

  /// All styles made from the old original are removed, and the others stay. No crash restores a removed style.
  @Test func newOriginalRemovesAllStylesOfTheOldOne() throws {
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
    // Another put of the same original removes nothing.
    try store.put([1], for: "a")
    #expect(try styles(store).count == count + 1 && store.statistics().evictedCount == 0)
    try store.put([2], for: "a")
    let expected = Set((0..<count).filter { $0 % 30 < 2 }.map { style($0).name } + ["original"])
    #expect(try styles(store) == expected)
    // All but the last few are counted as evicted: they were removed in separate frames.
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

  /// While the original is away, no style of it is outdated.
  @Test func stylesOutliveTheAbsenceOfTheirOriginal() throws {
    let store = try open()
    let count = 300
    try store.put([1], for: "a")
    for number in 0..<count { try store.put([7], for: "a", style: style(number)) }
    try store.remove("a")
    try store.put([1], for: "a")
    #expect((0..<count).allSatisfy { store.bytes("a", style: style($0)) == [7] })
    try store.put([2], for: "a")
    #expect((0..<count).allSatisfy { store.bytes("a", style: style($0)) == nil })
    try store.close()
  }

  /// Among 2,000 styles, some have equal tags. Each get finds its own entry, before and after an opening, and a get
  /// whose entry is gone finds none.
  @Test func stylesWithEqualTagsAreToldApart() throws {
    let count = 2000
    let numbers = Dictionary(grouping: 0..<count) { style($0).tag }.values.filter { $0.count > 1 }.flatMap { $0 }
    #expect(numbers.count > 20)
    func value(_ number: Int) -> [UInt8] { Array("\(number)".utf8) }
    var store = try open()
    for number in 0..<count { try store.put(value(number), for: "a", style: style(number)) }
    for round in 0..<3 {
      for number in numbers.reversed() { #expect(store.bytes("a", style: style(number)) == value(number)) }
      if round > 0 { continue }
      try store.close()
      store = try open()
      for number in numbers { #expect(store.bytes("a", style: style(number)) == value(number)) }
    }
    let hits = store.statistics().hitCount
    for number in numbers where number % 2 == 0 {
      #expect(try store.remove("a", style: style(number)))
      try store.put(value(-number), for: "a", style: style(number + 10 * count))
    }
    for number in numbers {
      #expect(store.bytes("a", style: style(number)) == (number % 2 == 0 ? nil : value(number)))
    }
    #expect(store.statistics().hitCount == hits + numbers.count { $0 % 2 != 0 })
    try store.close()
  }

  /// Entries of other sources are looked at once after an opening.
  @Test(arguments: [ReadMode.mapped, .copied]) func newOriginalsLookOnceAtStylesThatTheyDoNotOutdate(_ reads: ReadMode)
    throws
  {
    let options = StoreOptions(byteBudget: 16 << 20, reads: reads)
    var store = try open(options)
    let own: [SourceOption] = [.none, .named(Source([7])!)]
    for number in 0..<500 {
      try store.put([UInt8(number & 255)], for: "a", style: style(number), options: PutOptions(source: own[number % 2]))
    }
    try store.close()
    store = try open(options)
    let hash = store.probe.hash(of: CacheKey("a"))
    #expect(store.probe.dependentStyleCount(of: hash) == 500)
    for version in 1..<5 {
      try store.put([UInt8(version)], for: "a")
      #expect(store.probe.dependentStyleCount(of: hash) == 0 && store.probe.lastChange(of: hash) == nil)
    }
    #expect(try styles(store).count == 501)
    // A style that depends on the original is removed with it, also after it moved or got other metadata or a deadline.
    for number in 0..<4 {
      try store.put([9], for: "a", style: style(1000))
      if number == 1 { _ = try store.compact() }
      if number == 2 { try store.setMetadata([1], for: CacheKey("a", style(1000))) }
      if number == 3 { try store.setExpiration(1 << 50, for: CacheKey("a", style(1000))) }
      #expect(store.probe.dependentStyleCount(of: hash) == 1)
      try store.put([UInt8(100 + number)], for: "a")
      #expect(store.bytes("a", style: style(1000)) == nil)
      #expect(try styles(store).count == 501)
    }
    #expect(store.statistics().evictedCount == 0)
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

  @Test func allStylesOfACrowdedURLAreRemovedInOneFrame() throws {
    let store = try open()
    for number in 0..<500 { try store.put([UInt8(number & 255)], for: "a", style: style(number)) }
    try store.put([5], for: "b", style: style(5))
    #expect(try store.removeAllStyles("a") == 500)
    #expect(store.statistics().entryCount == 1 && store.bytes("b", style: style(5)) == [5])
    // Checkpoints and the log have them too.
    for number in 0..<300 { try store.put([UInt8(number & 255)], for: "a", style: style(number)) }
    try store.checkpoint()
    for number in 200..<400 { try store.put([UInt8(number & 255)], for: "a", style: style(number)) }
    let after = try TestWorld(fileSystem: MemoryDisk(disk.image), seed: 4).open("store")
    for number in 0..<400 { #expect(after.bytes("a", style: style(number)) == [UInt8(number & 255)]) }
    try after.close()
    try store.close()
  }

  /// No frame holds the commit lock for all of them.
  @Test(arguments: [16 << 20, 1 << 20]) func removalOfVeryManyStylesTakesSeveralFrames(_ budget: Int) throws {
    let store = try open(StoreOptions(byteBudget: budget))
    let count = 2600
    for number in 0..<count { try store.put([UInt8(number & 255)], for: "a", style: style(number)) }
    try store.put([5], for: "b", style: style(5))
    let stored = Int(store.statistics().entryCount) - 1
    let before = store.probe.wal.appendedSequence
    #expect(try store.removeAllStyles("a", durability: .synced) == stored)
    #expect(store.probe.wal.appendedSequence - before >= 3 || budget < 2 << 20)
    #expect(store.statistics().entryCount == 1 && store.bytes("b", style: style(5)) == [5])
    let after = try TestWorld(fileSystem: MemoryDisk(disk.image), seed: 4).open("store")
    #expect(after.statistics().entryCount == 1)
    try after.close()
    try store.close()
  }

  @Test(arguments: [1, 3, 50])
  func leastRecentlyUsedStyleIsEvicted(_ most: Int) throws {
    let store = try open(StoreOptions(byteBudget: 16 << 20, maximumStylesPerURL: most))
    try store.put([1], for: "a")
    for number in 0..<most { try store.put([2], for: "a", style: style(number)) }
    try store.put([3], for: "b", style: style(0))
    #expect(store.statistics().evictedCount == 0)
    // The first is used again, so the second is next; with room for one style there is no other.
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
    // The limit is an option of the opening: the next one has none, and one with a lower limit shrinks at the next
    // new style.
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
