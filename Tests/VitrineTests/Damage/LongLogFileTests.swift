import Testing

@testable import Vitrine

/// Log files that another program has lengthened with real blocks.
@Suite struct LongLogFileTests {
  @Test func lengthenedLogFileIsUsedUpToItsOwnLimit() throws {
    let disk = MemoryDisk()
    let budget = 4 << 20
    let limit = Sizing.walFileByteCount(budget: budget)
    let first = try TestWorld(fileSystem: disk).open("store", StoreOptions(byteBudget: budget))
    try first.put([1], for: "a")
    try first.close()
    var image = disk.image
    for name in image.keys where name.hasPrefix("wal/") { image[name]! += [UInt8](repeating: 0, count: 4 * limit) }
    let longer = MemoryDisk(image)
    let store = try TestWorld(fileSystem: longer).open("store", StoreOptions())
    for number in 0..<2000 { try store.put([UInt8(number % 251)], for: "u\(number % 100)") }
    try store.flush()
    let logs = longer.image.filter { $0.key.hasPrefix("wal/") }.values
    let used = logs.reduce(0) { max($0, $1.lastIndex(where: { $0 != 0 }) ?? 0) }
    #expect(used > limit / 2 && used < limit, "\(used) of \(limit)")
    store.abandon()
    let again = try TestWorld(fileSystem: longer).open("store", StoreOptions())
    #expect((1900..<2000).allSatisfy { again["u\($0 % 100)"] == [UInt8($0 % 251)] } && again["a"] == [1])
    try again.close()
  }
}
