import Testing

@testable import Vitrine

/// Bodies of a thread that must not wait, such as an event loop.
@Suite(.timeLimit(.minutes(60))) struct AtOnceBodyTests {
  /// With this clock, a wait for room would never end.
  @Test func bodyWithoutRoomEndsAtOnce() async throws {
    var world = TestWorld(fileSystem: MemoryDisk())
    world.environment.clock = PatientClock()
    let store = try world.open("store", StoreOptions(byteBudget: 16 << 20, segmentByteCount: 64 << 10))
    // Bodies hold 2 MiB at most.
    let holder = try store.asynchronous.writer(for: CacheKey("holder"), length: 2 << 20)
    try await holder.write([1])
    let value = noise(100_000, 1)
    let refused = try store.writer(for: "a", length: value.count)
    #expect(storeError { try refused.writeAtOnce(value.span.bytes) } == .noSpace)
    #expect(store.probe.waiterCount == 0 && storeError { try refused.commit() } != nil)
    await holder.abandon()
    let body = try store.writer(for: "a", length: value.count)
    let (first, rest) = (Array(value.prefix(1000)), Array(value.dropFirst(1000)))
    try body.writeAtOnce(first.span.bytes)
    try body.writeAtOnce(rest.span.bytes)
    try body.commit()
    #expect(store.bytes("a") == value)
    try store.close()
  }
}
