import Testing

@testable import Vitrine

/// The order of changes and uses when the file of uses and the log are newer than the checkpoint.
@Suite struct SavedUseOrderTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  private func open() throws -> CacheStore {
    try world.open("store", StoreOptions(byteBudget: 64 << 20, policy: .lru))
  }

  private func filled(_ count: Int) throws -> CacheStore {
    let store = try open()
    for first in stride(from: 0, to: count, by: 10_000) {
      var batch = WriteBatch()
      for number in first..<min(first + 10_000, count) { batch.put([1], for: CacheKey("u\(number)")) }
      try store.write(batch)
    }
    try store.close()
    return try open()
  }

  private func pass(_ minutes: Int) {
    for _ in 0..<minutes {
      world.background.run()
      world.clock.advance(60_000)
    }
    world.background.run()
  }

  @Test func putsAfterManySavedUsesAreTheYoungest() throws {
    var store = try filled(20_000)
    for number in 0..<2000 { #expect(store["u\(number)"] != nil) }
    pass(2)
    for number in 0..<5 { try store.put([2], for: CacheKey("new\(number)")) }
    try store.flush()
    store.abandon()
    store = try open()
    let newest = (0..<5).reversed().map { "new\($0)" } + (1900..<2000).reversed().map { "u\($0)" }
    #expect(try store.keysByRecency().prefix(newest.count).map(\.urlText) == newest)
    try store.close()
  }

  /// The allowance of a new opening is 1 MiB, of which a pass may take a half.
  @Test func usesBeyondTheAllowanceWait() throws {
    let store = try filled(70_000)
    pass(2)
    let written = Guarded(0)
    disk.onWrite.withLock { $0 = { path, _ in if path == "checkpoints/uses" { written.withLock { $0 += 1 } } } }
    for number in 0..<70_000 { #expect(store["u\(number)"] != nil) }
    pass(5)
    #expect(written.withLock { $0 } == 0)
    pass(8)
    let bytes = written.withLock { $0 } * UseBlock.byteCount
    #expect(bytes > 0 && bytes <= 1 << 20, "\(bytes)")
    // The close writes those that were left out.
    try store.close()
    let all = written.withLock { $0 } * UseBlock.byteCount
    #expect(all - bytes > 40_000, "\(all - bytes)")
  }
}
