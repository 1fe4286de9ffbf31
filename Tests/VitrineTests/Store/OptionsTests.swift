import Testing

@testable import Vitrine

@Suite struct OptionsTests {
  let disk = MemoryDisk()

  private func open(_ options: StoreOptions) throws -> CacheStore {
    try TestWorld(fileSystem: disk, seed: UInt64(disk.image.count)).open("store", options)
  }

  @Test func optionsStayWithTheStoreUntilTheyAreChanged() throws {
    let given = StoreOptions(
      byteBudget: 3 << 20, entryBudget: 77, durability: .synced, segmentByteCount: 70_000, compressionLevel: 0,
      maximumAgeMilliseconds: 1234)
    try open(given).close()
    for _ in 0..<2 {
      let store = try open(StoreOptions())
      let identity = store.probe.identity
      #expect(store.byteBudget == 3 << 20 && identity.entryBudget == 77 && identity.durability == .synced)
      #expect(identity.segmentByteCount == 73_728 && identity.compressionLevel == 0)
      #expect(identity.maximumAge == 1234)
      try store.close()
    }
    try open(StoreOptions(byteBudget: 5 << 20, entryBudget: 0)).close()
    let store = try open(StoreOptions())
    #expect(store.byteBudget == 5 << 20 && store.statistics().entryBudget == 0)
    #expect(store.probe.identity.durability == .synced)
    try store.close()
  }

  @Test func unwrittenBudgetsDoNotApply() throws {
    let store = try open(StoreOptions(byteBudget: 3 << 20, entryBudget: 7))
    disk.onSync.withLock { handler in
      handler = { path throws(SystemError) in
        if path.hasPrefix("STORE") { throw SystemError(code: 28, operation: "sync", path: path) }
      }
    }
    #expect(storeError { try store.setBudgets(byteBudget: 4 << 20, entryBudget: 9) } == .noSpace)
    #expect(store.byteBudget == 3 << 20 && store.statistics().entryBudget == 7)
    disk.onSync.withLock { $0 = nil }
    try store.setBudgets(byteBudget: 4 << 20, entryBudget: 9)
    #expect(store.byteBudget == 4 << 20 && store.statistics().entryBudget == 9)
    try store.close()
  }

  @Test func losingTheIdentityFileChangesNoOption() throws {
    try open(StoreOptions(byteBudget: 3 << 20, entryBudget: 5)).close()
    var image = disk.image
    image["STORE"] = nil
    let other = MemoryDisk(image)
    let store = try TestWorld(fileSystem: other, seed: 9).open("store", StoreOptions())
    #expect(store.byteBudget == 3 << 20 && store.statistics().entryBudget == 5)
    try store.close()
    #expect(other.image["STORE"] != nil, "it is healed")
  }

  @Test(arguments: [
    StoreOptions(byteBudget: 1 << 20 - 1), StoreOptions(byteBudget: -1), StoreOptions(entryBudget: -1),
    StoreOptions(segmentByteCount: 65_535), StoreOptions(segmentByteCount: (64 << 20) + 1),
    StoreOptions(compressionLevel: -1), StoreOptions(compressionLevel: 20), StoreOptions(maximumAgeMilliseconds: -1),
  ])
  func optionsOutsideTheirLimitsAreRefused(_ options: StoreOptions) {
    guard case .invalidArgument? = storeError({ _ = try open(options) }) else {
      Issue.record("not refused")
      return
    }
    #expect(disk.image.isEmpty)
  }

  @Test(arguments: ["", "a\0b"])
  func invalidPathIsRefused(_ path: String) {
    guard case .invalidArgument? = storeError({ _ = try TestWorld().open(path) }) else {
      Issue.record("not refused")
      return
    }
  }

  @Test func compressionLevelZeroStoresPlainValues() throws {
    for (level, encoding) in [(0, Encoding.plain), (1, .zstd), (19, .zstd)] {
      let store = try TestWorld(fileSystem: MemoryDisk()).open(
        "store", StoreOptions(byteBudget: 4 << 20, compressionLevel: level))
      try store.put(text(3000), for: "a")
      guard case .found(let info) = store.lookup("a") else {
        Issue.record("missing")
        return
      }
      #expect(info.encoding == encoding && info.byteCount == 3000)
      #expect((info.storedByteCount < 3000) == (encoding == .zstd))
      #expect(store["a"] == text(3000))
      try store.close()
    }
  }
}
