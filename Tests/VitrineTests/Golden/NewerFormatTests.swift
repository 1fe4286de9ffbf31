import Testing

@testable import Vitrine

/// A store of a later version is refused, in every way of opening, and no file in it is touched.
@Suite struct NewerFormatTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let presents = GoldenStore.all.filter {
    $0.version == Int(CacheFormat.firstVersion) && [.clean, .killed].contains($0.kind)
  }

  private func expectRefused(_ name: String) throws {
    let before = try Files.state(folder.store)
    let path = folder.store
    let openings: [() throws -> Void] = [
      { _ = try CacheStore.open(at: path) },
      { _ = try CacheStore.open(at: path, options: StoreOptions(byteBudget: 16 << 20, whenUnusable: .recreate)) },
      { _ = try CacheStore.open(at: path, options: StoreOptions(createsIfMissing: false)) },
      { _ = try CacheStore.open(at: path, options: StoreOptions(isReadOnly: true)) },
      { _ = try CacheStore.open(at: path, options: StoreOptions(reads: .copied, isReadOnly: true)) },
      { _ = try CacheStore.repair(at: path) },
    ]
    let refusal = StoreError.unsupportedFormat(found: CacheFormat.firstVersion + 1, supported: CacheFormat.version)
    for (index, opening) in openings.enumerated() {
      #expect(storeError(opening) == refusal, "\(name), opening \(index)")
    }
    #expect(try Files.state(path) == before, "\(name)")
  }

  @Test(
    arguments: [[.firstCopy], [.secondCopy], [.firstCopy, .secondCopy], RaisedVersion.allCases], presents)
  func aRaisedNumberInStoreIsRefusedAndLeftUntouched(_ places: [RaisedVersion], _ golden: GoldenStore) throws {
    try golden.unpack(into: folder.path)
    for place in places { try place.apply(to: folder.store) }
    try expectRefused("\(golden) \(places)")
  }

  /// Then the checkpoints identify it: it is neither taken for an unfinished store nor recreated.
  @Test(arguments: [true, false], [true, false])
  func aLaterStoreThatHasLostItsIdentityIsRefusedToo(_ isMissing: Bool, _ hasSegments: Bool) throws {
    try #require(Self.presents.first).unpack(into: folder.path)
    for place in RaisedVersion.allCases { try place.apply(to: folder.store) }
    if isMissing {
      try Files.remove(folder.store + "/STORE")
    } else {
      try Files.write([UInt8](repeating: 0x55, count: 8192), to: folder.store + "/STORE")
    }
    if !hasSegments {
      for name in try Files.below(folder.store + "/segments") { try Files.remove("\(folder.store)/segments/\(name)") }
    }
    try expectRefused("without STORE")
  }

  @Test func damagedVersionInStoreIsNotALaterVersion() throws {
    try #require(Self.presents.first).unpack(into: folder.path)
    var bytes = try Files.read(folder.store + "/STORE")
    for start in [0, StoreIdentity.secondCopy] { bytes[start + 8] += 1 }
    try Files.write(bytes, to: folder.store + "/STORE")
    let store = try CacheStore.open(at: folder.store)
    #expect(store.count > 20)
    try store.close()
  }

  @Test func headersOfALaterVersionAreRejected() throws {
    try #require(Self.presents.first).unpack(into: folder.path)
    func headerCount(_ folder: String, _ isHeader: (UnsafeRawBufferPointer) -> Bool) throws -> Int {
      try Files.below("\(self.folder.store)/\(folder)").count { name in
        try Files.read("\(self.folder.store)/\(folder)/\(name)").withUnsafeBytes(isHeader)
      }
    }
    func counts() throws -> [Int] {
      [
        try headerCount("checkpoints") { CheckpointHeader($0) != nil },
        try headerCount("wal") { WALFileHeader($0) != nil },
      ]
    }
    #expect(try counts().allSatisfy { $0 > 0 })
    for place in [RaisedVersion.checkpoints, .logs] { try place.apply(to: folder.store) }
    #expect(try counts() == [0, 0])
  }

  /// Only an intact header states a later version; a damaged number states nothing.
  @Test func damagedVersionInACheckpointIsNotALaterVersion() throws {
    try #require(Self.presents.first).unpack(into: folder.path)
    for name in try Files.below(folder.store + "/checkpoints") {
      var bytes = try Files.read("\(folder.store)/checkpoints/\(name)")
      bytes[9] ^= 0x7F
      try Files.write(bytes, to: "\(folder.store)/checkpoints/\(name)")
    }
    try Files.remove(folder.store + "/STORE")
    let error = storeError { _ = try CacheStore.open(at: folder.store) }
    if case .unsupportedFormat? = error { Issue.record("damage is taken for a later version") }
    let again = try CacheStore.open(at: folder.store, options: StoreOptions(whenUnusable: .recreate))
    #expect(again.count == 0)
    try again.close()
  }

  /// `STORE` decides: other files with another version were not written by this version, and are merely ignored.
  @Test(arguments: presents)
  func versionOfASegmentIsIgnored(_ golden: GoldenStore) throws {
    try golden.unpack(into: folder.path)
    try RaisedVersion.segments.apply(to: folder.store)
    let store = try CacheStore.open(at: folder.store)
    try golden.check(store)
    #expect(try store.verify().isOK)
    try store.close()
  }

  @Test(arguments: presents)
  func checkpointsOfAnotherVersionAreRejected(_ golden: GoldenStore) throws {
    try golden.unpack(into: folder.path)
    try RaisedVersion.checkpoints.apply(to: folder.store)
    let store = try CacheStore.open(at: folder.store)
    #expect(store.statistics().lastOpen.kind == .rebuilt)
    for entry in golden.entries where entry.isThere { #expect(store.bytes(entry.key) == entry.bytes) }
    try store.close()
  }

  @Test func logsOfAnotherVersionAreRejected() throws {
    let golden = try #require(Self.presents.first { $0.kind == .clean })
    try golden.unpack(into: folder.path)
    try RaisedVersion.logs.apply(to: folder.store)
    let store = try CacheStore.open(at: folder.store)
    try golden.check(store)
    try store.put(noise(500), for: "after")
    store.abandon()
    let again = try CacheStore.open(at: folder.store, options: StoreOptions(waitForLockMilliseconds: 5000))
    try golden.check(again)
    #expect(again.bytes("after") == noise(500))
    try again.close()
  }
}
