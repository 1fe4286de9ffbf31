import Testing

@testable import Vitrine

/// The `async` forms: each has the effect of the synchronous call of the same name.
@Suite struct AsyncFormTests {
  let world = TestWorld(fileSystem: MemoryDisk())

  private func filled(_ count: Int) throws -> CacheStore {
    let store = try world.open("store", StoreOptions(byteBudget: 4 << 20))
    for index in 0..<count { try store.put(noise(4000 + index, UInt64(index)), for: "u\(index)") }
    return store
  }

  @Test func asyncChangesAndLookupsMatchTheSynchronousOnes() async throws {
    let store = try filled(10)
    let asynchronous = store.asynchronous
    let key = CacheKey("u3")
    try await asynchronous.putMany([(key: CacheKey("more"), bytes: [1], options: PutOptions())])
    #expect(try await asynchronous.setMetadata([7], for: key))
    #expect(try await asynchronous.setExpiration(1, for: CacheKey("u4")))
    #expect(try await !asynchronous.setMetadata([7], for: CacheKey("none")))
    #expect(await asynchronous.lookup(CacheKey("u4")) == .expired)
    guard case .found(let entry) = await asynchronous.lookup(key) else {
      Issue.record("not there")
      return
    }
    #expect(entry.metadata == [7])
    let found = Guarded<[Int]>([])
    await asynchronous.getMany([CacheKey("more"), CacheKey("none"), key]) { index, bytes in
      found.withLock { $0.append(index * 10_000 + (bytes?.byteCount ?? -1)) }
    }
    #expect(found.withLock { $0 } == [1, 9999, 24_003])
    #expect(try await asynchronous.removeAllStyles("more") == 1)
    #expect(try await asynchronous.removeAll(prefix: "u5") == 1)
    #expect(try await asynchronous.removeAll { $0.byteCount < 4002 } == 2)
    #expect(try await asynchronous.removeAll(style: .original) == 7)
    #expect(store.count == 0)
    try await asynchronous.close()
  }

  @Test func asyncRefreshAbandonAndRepairWork() async throws {
    let folder = try TemporaryFolder()
    let store = try CacheStore.open(at: folder.store, options: StoreOptions(byteBudget: 4 << 20))
    try store.put([1], for: "a")
    let reader = try CacheStore.open(at: folder.store, options: StoreOptions(isReadOnly: true))
    try store.put([2], for: "b")
    #expect(reader["b"] == nil)
    #expect(try await reader.asynchronous.refresh())
    #expect(reader["b"] == [2])
    try await reader.asynchronous.close()
    let writer = try store.asynchronous.writer(for: CacheKey("c"), length: 3)
    await writer.abandon()
    await #expect(throws: StoreError.self) { try await writer.commit() }
    #expect(store.count == 2)
    try await store.asynchronous.close()
    #expect(try await AsyncCacheStore.repair(at: folder.store).entryCount == 2)
  }

  @Test func aDigestReadsAsItIsWritten() {
    let digest = Digest(high: 0x0123_4567_89AB_CDEF, low: 1)
    #expect(digest.description == "0123456789abcdef0000000000000001" && Digest(digest.description) == digest)
    for text in [
      "", "0123456789abcdef000000000000001", "+123456789abcdef0000000000000001", "g123456789abcdef0000000000000001",
    ] {
      #expect(Digest(text) == nil)
    }
  }

  @Test func asyncWalksVisitEveryEntry() async throws {
    let store = try filled(20)
    let asynchronous = store.asynchronous
    _ = store["u3"]
    #expect(try await asynchronous.keysByRecency() == store.keysByRecency())
    #expect(try await asynchronous.keysInOrder(prefix: "u1") == store.keysInOrder(prefix: "u1"))
    let digest = noise(4003, 3).withUnsafeBytes { Digest(of: $0) }
    #expect(try await asynchronous.entries(digest: digest).map(\.key) == [CacheKey("u3")])
    #expect(await asynchronous.segmentContents() == store.segmentContents())
    let seen = Guarded(0)
    await asynchronous.forEachEntry(prefix: "u") { _ in
      seen.withLock {
        $0 += 1
        return $0 < 5
      }
    }
    #expect(seen.withLock { $0 } == 5)
    try await asynchronous.close()
    await #expect(throws: StoreError.closed) { try await asynchronous.keysByRecency() }
    await #expect(throws: StoreError.closed) { try await asynchronous.keysInOrder() }
    await #expect(throws: StoreError.closed) { try await asynchronous.entries(digest: Digest(high: 0, low: 0)) }
  }

  @Test func asyncUpkeepWorks() async throws {
    let store = try filled(600)
    let asynchronous = store.asynchronous
    for index in stride(from: 0, to: 600, by: 2) { try store.remove("u\(index)") }
    let told = Guarded(0)
    let report = try await asynchronous.compact { done, all in
      told.withLock { $0 += 1 }
      return done <= all
    }
    #expect(report.bytesAfter < report.bytesBefore && !report.isInterrupted && told.withLock { $0 } > 2)
    #expect(try await asynchronous.idle())
    #expect(try await !asynchronous.idle { false })
    try await asynchronous.setBudgets(byteBudget: 2 << 20, entryBudget: 100)
    #expect(store.byteBudget == 2 << 20 && store.count <= 100)
    let bytes = Guarded(0)
    #expect(try await asynchronous.verify { done, _ in bytes.withLock { $0 = done } }.isOK)
    #expect(bytes.withLock { $0 } > 100_000)
    await #expect(throws: StoreError.self) { try await asynchronous.setBudgets(byteBudget: 1) }
    try await asynchronous.close()
    await #expect(throws: StoreError.closed) { try await asynchronous.compact() }
    await #expect(throws: StoreError.closed) { try await asynchronous.idle() }
  }

  @Test func longCallsEndEarlyWhenTheirTaskIsCancelled() async throws {
    let store = try filled(600)
    for index in stride(from: 0, to: 600, by: 2) { try store.remove("u\(index)") }
    let compaction = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await store.asynchronous.compact()
    }
    compaction.cancel()
    let report = try await compaction.value
    #expect(report.isInterrupted && report.recordsMoved == 0)
    let idling = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await store.asynchronous.idle()
    }
    idling.cancel()
    #expect(try await !idling.value)
    #expect(store.count == 300)
    #expect(try store.verify().isOK)
    try store.close()
  }
}
