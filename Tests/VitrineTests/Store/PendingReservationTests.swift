import Testing

@testable import Vitrine

@Suite struct PendingReservationTests {
  /// All other records of the body's segment die, and the segment takes no more.
  @Test func segmentStaysWhileABodyArrivesInIt() throws {
    let world = TestWorld(fileSystem: MemoryDisk())
    let store = try world.open("store", StoreOptions(byteBudget: 16 << 20))
    try store.put(noise(40_000, 1), for: "before")
    let body = noise(100_000, 2)
    let writer = try store.writer(for: "body", length: body.count)
    try writer.write(Array(body[..<60_000]))
    for number in 0..<100 { try store.put(noise(40_000, UInt64(3 + number)), for: CacheKey("k\(number)", .original)) }
    try store.remove("before")
    #expect(try store.removeAll(prefix: "k") == 100)
    try store.probe.retireDeadSegments()
    try store.put(noise(40_000, 200), for: "after")
    try writer.write(Array(body[60_000...]))
    try writer.commit()
    #expect(store.bytes("body") == body && store.bytes("after") == noise(40_000, 200))
    #expect(try store.verify().isOK)
    try store.close()
  }
}
