import Testing

@testable import Vitrine

@Suite struct FlushedKeyTests {
  let disk = MemoryDisk()
  let world: TestWorld
  let synced = Guarded<[String]>([])

  init() {
    world = TestWorld(fileSystem: disk)
    disk.onSync.withLock { hook in hook = { [synced] path in synced.withLock { $0.append(path) } } }
  }

  /// Flushes a key. Returns the answer of the store, and the files that it has synced.
  private func flush(_ key: CacheKey, _ store: CacheStore) throws -> (isThere: Bool, files: [String]) {
    synced.withLock { $0 = [] }
    let isThere = try store.flush(key)
    return (isThere, synced.withLock { $0 }.sorted())
  }

  @Test func flushOfAKeySyncsItsSegmentAndTheLog() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 64 << 20, segmentByteCount: 64 << 10))
    for index in 0..<8 { try store.put(noise(50_000, UInt64(index)), for: CacheKey("\(index)")) }
    let (isThere, files) = try flush("7", store)
    #expect(isThere)
    #expect(files.count == 2 && files[0].hasPrefix("segments/") && files[1].hasPrefix("wal/"), "\(files)")
    try store.close()
  }

  @Test func flushOfASharedPayloadSyncsItsSegmentToo() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 64 << 20, segmentByteCount: 64 << 10))
    try store.put(noise(50_000), for: "a")
    for index in 0..<4 { try store.put(noise(50_000, UInt64(index + 2)), for: CacheKey("\(index)")) }
    try store.put(noise(50_000), for: "b")
    let (isThere, files) = try flush("b", store)
    #expect(isThere)
    #expect(files.filter { $0.hasPrefix("segments/") }.count == 2 && files.last?.hasPrefix("wal/") == true, "\(files)")
    try store.close()
  }

  @Test func flushOfAMissingKeyMakesItsRemovalDurable() throws {
    let store = try world.open("store")
    try store.put([1], for: "a")
    try store.remove("a")
    let (isThere, files) = try flush("a", store)
    #expect(!isThere)
    #expect(files.allSatisfy { $0.hasPrefix("wal/") } && !files.isEmpty)
    try store.close()
  }

  @Test func flushOfADurableEntrySyncsNothing() async throws {
    let store = try world.open("store")
    try store.put(noise(3000), for: "a", options: PutOptions(durability: .synced))
    try store.checkpoint()
    let (isThere, files) = try flush("a", store)
    #expect(isThere)
    #expect(files.isEmpty, "\(files)")
    #expect(try await store.asynchronous.flush(CacheKey("a")))
    try store.close()
    #expect(throws: StoreError.closed) { try store.flush(CacheKey("a")) }
  }

  @Test func failedSyncOfAKeyEndsWriting() throws {
    let store = try world.open("store")
    try store.put(noise(3000), for: "a")
    disk.onSync.withLock { hook in
      hook = { path throws(SystemError) in
        if path.hasPrefix("segments/") { throw SystemError(code: SystemError.ioError, operation: "sync", path: path) }
      }
    }
    #expect(throws: StoreError.self) { try store.flush(CacheKey("a")) }
    #expect(throws: StoreError.self) { try store.put([1], for: "b") }
    #expect(throws: StoreError.self) { try store.close() }
  }
}
