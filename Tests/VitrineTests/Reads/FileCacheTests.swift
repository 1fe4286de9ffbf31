import Testing

@testable import Vitrine

@Suite struct FileCacheTests {
  private let disk = MemoryDisk(["segments/x": [1]])
  private let softLimit = Guarded(4 * (FileCache.reservedPerStore + 10))
  private let cache: FileCache
  private let folder: any Directory

  init() throws {
    let softLimit = softLimit
    cache = FileCache { softLimit.withLock { $0 } }
    folder = try disk.openDirectory("", create: false).openDirectory("segments", create: false)
  }

  private func make(_ name: String, isKept: Bool = false) throws -> CachedFile {
    CachedFile(
      try folder.openFile(name, .create), name: name, in: folder, access: .readWrite, cache: cache, isKept: isKept)
  }

  @Test func filesBeyondTheLimitCloseAndOpenAgain() throws {
    let files = try (0..<100).map { try make("\($0)") }
    #expect(cache.openCount <= 10)
    for (number, file) in files.enumerated() { try file.open().write([UInt8(number)], at: 0) }
    #expect(cache.openCount <= 10)
    for (number, file) in files.enumerated() { #expect(try file.open().read(0..<1) == [UInt8(number)]) }
    #expect(cache.openCount <= 10)
  }

  @Test func mostRecentlyUsedFilesStayOpen() throws {
    let used = try make("used")
    let before = try used.open()
    for number in 0..<100 {
      _ = try make("\(number)")
      #expect(try used.open() === before)
    }
    let unused = try make("unused")
    let closed = try unused.open()
    let others = try (100..<130).map { try make("\($0)") }
    #expect(try unused.open() !== closed)
    withExtendedLifetime(others) {}
  }

  @Test func keptFileStaysOpenUntilItIsReleased() throws {
    let kept = try make("kept", isKept: true)
    let file = try kept.open()
    let others = try (0..<50).map { try make("\($0)") }
    #expect(try kept.open() === file)
    kept.setKept(false)
    for other in others { _ = try other.open() }
    #expect(try kept.open() !== file)
  }

  @Test func endedFileLeavesTheCache() throws {
    var files = try (0..<5).map { try make("\($0)") }
    // Optimized code would release them before.
    withExtendedLifetime(files) { #expect(cache.openCount == 5) }
    files.removeAll()
    #expect(cache.openCount == 0)
  }

  @Test func limitFollowsTheProcessAndItsStores() throws {
    softLimit.withLock { $0 = 1 << 20 }
    var files = try (0..<40).map { try make("\($0)") }
    #expect(cache.openCount == 40)
    for _ in 0..<7 { cache.storeOpened() }
    files.append(try make("with seven stores"))
    #expect((20...32).contains(cache.openCount))
    for _ in 0..<7 { cache.storeClosed() }
    softLimit.withLock { $0 = 0 }
    files.append(try make("with no descriptors"))
    #expect(cache.openCount <= 8)
  }

  /// A failed write would be forgotten if no open file and no mapping were left to report it.
  @Test func unsyncedFileIsSyncedBeforeItCloses() throws {
    let synced = Guarded<[String]>([])
    disk.onSync.withLock { $0 = { path in synced.withLock { $0.append(path) } } }
    let unsynced = try make("unsynced")
    unsynced.syncBeforeClosing(true)
    let others = try (0..<50).map { try make("\($0)") }
    #expect(synced.withLock { $0 } == ["segments/unsynced"])
    withExtendedLifetime(others) {}
  }

  /// A segment without a name was retired, or its file was removed from outside: then nothing is durable.
  @Test func flushOfASegmentWithoutItsFileFails() throws {
    let folder = try TemporaryFolder()
    let store = try TestWorld(resources: Resources(files: FileCache { 0 })).open(
      folder.store, StoreOptions(byteBudget: 8 << 20, segmentByteCount: 64 << 10))
    for number in 0..<40 { try store.put(noise(40_000, UInt64(number)), for: "\(number)") }
    for name in try Files.below(folder.store + "/segments") { try Files.remove("\(folder.store)/segments/\(name)") }
    #expect(throws: StoreError.self) { try store.flush() }
    #expect(store["0"] == noise(40_000, 0))
  }

  @Test func failedSyncBeforeClosingFailsEveryLaterUse() throws {
    let failure = SystemError(code: 5, operation: "sync", path: "segments/unsynced")
    disk.onSync.withLock { $0 = { _ throws(SystemError) in throw failure } }
    let unsynced = try make("unsynced")
    unsynced.syncBeforeClosing(true)
    let others = try (0..<50).map { try make("\($0)") }
    disk.onSync.withLock { $0 = nil }
    for _ in 0..<2 {
      #expect(throws: failure) { _ = try unsynced.open() }
    }
    withExtendedLifetime(others) {}
  }
}
