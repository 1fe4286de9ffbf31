import Testing

@testable import Vitrine

@Suite struct SuspensionTests {
  let folder: TemporaryFolder
  let world = TestWorld()

  init() throws { folder = try TemporaryFolder() }

  private func open(_ options: StoreOptions = StoreOptions(byteBudget: 8 << 20)) throws -> CacheStore {
    try world.open(folder.store, options)
  }

  @Test func aSuspendedStoreReleasesItsLock() throws {
    let store = try open()
    try store.put(noise(3000), for: "a")
    try store.suspend()
    #expect(store.isSuspended)
    let other = try open()
    #expect(other["a"] == noise(3000))
    try other.put([2], for: "b")
    #expect(throws: StoreError.self) { try store.resume() }
    #expect(store.isSuspended)
    try other.close()
    try store.resume()
    #expect(!store.isSuspended && store["a"] == noise(3000) && store["b"] == [2])
    try store.put([3], for: "c")
    #expect(store["c"] == [3])
    try store.close()
    let last = try open()
    #expect(last.count == 3)
    try last.close()
  }

  @Test func aSuspendedStoreRefusesCalls() async throws {
    let store = try open()
    try store.put([1], for: "a")
    let writer = try store.writer(for: CacheKey("b"))
    try writer.write([1])
    let blob = try #require(store.blob("a"))
    try await store.asynchronous.suspend()
    #expect(store["a"] == nil && store.lookup("a") == .closed && store.peek("a") { $0.byteCount } == nil)
    #expect(throws: StoreError.closed) { try store.put([2], for: "a") }
    #expect(throws: StoreError.closed) { try store.remove("a") }
    #expect(throws: StoreError.closed) { try store.flush() }
    #expect(throws: StoreError.closed) { try writer.commit() }
    #expect(blob.withBytes { $0.byteCount } == 1)
    try await store.asynchronous.resume()
    #expect(store["a"] == [1] && store["b"] == nil)
    #expect(blob.withBytes { span in span.withUnsafeBytes { Array($0) } } == [1])
    try store.close()
  }

  @Test func suspendingAndResumingTwiceIsHarmless() throws {
    let store = try open()
    for turn in 0..<4 {
      try store.put([UInt8(turn)], for: "a")
      try store.suspend()
      try store.suspend()
      try store.resume()
      try store.resume()
      #expect(store["a"] == [UInt8(turn)])
    }
    try store.close()
  }

  @Test func aClosedStoreIsNotResumed() throws {
    let store = try open()
    try store.suspend()
    try store.close()
    #expect(throws: StoreError.closed) { try store.resume() }
    #expect(throws: StoreError.closed) { try store.suspend() }
    let other = try open()
    try other.close()
  }

  @Test func budgetsChangedAtRunTimePersist() throws {
    let store = try open()
    try store.setBudgets(byteBudget: 16 << 20, entryBudget: 7)
    try store.suspend()
    try store.resume()
    #expect(store.byteBudget == 16 << 20 && store.entryBudget == 7)
    try store.close()
  }

  @Test func aSuspensionThatFailsIsToldAgainByClose() throws {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store")
    try store.put(noise(3000), for: "a")
    disk.onSync.withLock { hook in
      hook = { path throws(SystemError) in
        throw SystemError(code: SystemError.ioError, operation: "sync", path: path)
      }
    }
    #expect(throws: StoreError.self) { try store.suspend() }
    #expect(store.isSuspended)
    disk.onSync.withLock { $0 = nil }
    #expect(throws: StoreError.self) { try store.close() }
  }

  @Test func aBodyOfASuspendedStoreRemovesNoFile() throws {
    let store = try open(StoreOptions(byteBudget: 64 << 20, segmentByteCount: 64 << 10))
    let writer = try store.writer(for: CacheKey("a"))
    for _ in 0..<4 { try writer.write(noise(60_000)) }
    try store.suspend()
    try store.resume()
    for index in 0..<8 { try store.put(noise(60_000, UInt64(index)), for: CacheKey("\(index)")) }
    #expect(throws: StoreError.self) { try writer.write(noise(60_000)) }
    writer.abandon()
    for index in 0..<8 { #expect(store["\(index)"] == noise(60_000, UInt64(index))) }
    #expect(try store.verify().isOK)
    try store.close()
    let next = try open()
    #expect(next.count == 8)
    #expect(try next.verify().isOK)
    try next.close()
  }

  @Test func aFolderDeletedMeanwhileIsCreatedAgain() throws {
    let store = try open(StoreOptions(byteBudget: 8 << 20, entryBudget: 5))
    try store.put([1], for: "a")
    try store.suspend()
    try Files.remove(folder.store)
    try store.resume()
    #expect(store["a"] == nil && store.entryBudget == 5)
    try store.put([2], for: "a")
    #expect(store["a"] == [2])
    try store.close()
  }

  @Test func aFolderIsNotCreatedAgainAgainstTheOptions() throws {
    try open().close()
    let store = try open(StoreOptions(byteBudget: 8 << 20, createsIfMissing: false))
    try store.suspend()
    try Files.remove(folder.store)
    #expect(throws: StoreError.noSuchStore(path: folder.store)) { try store.resume() }
    #expect(store.isSuspended)
    try store.close()
  }

  @Test func aReadOnlyOpeningIgnoresSuspension() throws {
    let store = try open()
    try store.put([1], for: "a")
    let reader = try world.openReadOnly(folder.store)
    try reader.suspend()
    #expect(!reader.isSuspended && reader["a"] == [1])
    try reader.resume()
    try reader.close()
    try store.close()
  }

  @Test func readersGoOnBesideSuspensions() async throws {
    let store = try open()
    for index in 0..<50 { try store.put(noise(2000, UInt64(index)), for: CacheKey("\(index)")) }
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<3 {
        group.addTask {
          for turn in 0..<3000 {
            let index = (turn + thread) % 50
            if let bytes = store["\(index)"] { #expect(bytes == noise(2000, UInt64(index))) }
          }
        }
      }
      group.addTask {
        for _ in 0..<15 {
          #expect(throws: Never.self) {
            try store.suspend()
            try store.resume()
          }
        }
      }
    }
    #expect(store.count == 50)
    try store.close()
  }
}
