import Testing

@testable import Vitrine

/// Payloads damaged from outside, and bytes with equal digests.
@Suite struct IntegrityTests {
  let disk: MemoryDisk
  let world: TestWorld

  init() { self.init(disk: MemoryDisk()) }

  /// Makes a store with a value of each encoding, damages the payload of `url` and opens it again.
  private func spoiled(_ url: String, _ verification: Verification, readOnly: Bool = false) throws
    -> CacheStore
  {
    let store = try world.open("store")
    try store.put(noise(3000), for: "plain")
    try store.put(text(3000), for: "zstd")
    try store.put(
      noise(100, 2), for: "bitmap", options: PutOptions(layout: .init(width: 10, height: 10, format: .gray8)))
    try store.put(noise(3000), for: "twin")
    try store.put(noise(1_200_000, 3), for: "pieces")
    try store.close()
    try flipPayload(of: url)
    return try world.open("store", StoreOptions(verification: verification, isReadOnly: readOnly))
  }

  /// Changes one byte in the middle of a payload, in its file.
  private func flipPayload(of url: String) throws {
    let place = try #require(try place(of: url))
    let folder = try disk.openDirectory("store", create: false).openDirectory("segments", create: false)
    let file = try folder.openFile(place.file, .readWrite)
    let offset = place.offset + place.header.payloadOffset + place.header.storedByteCount / 2
    let byte = try file.read(offset..<offset + 1)[0]
    try file.write([byte ^ 0x10], at: offset)
  }

  private func place(of url: String) throws -> (file: String, offset: Int, header: RecordHeader)? {
    let identity = try #require(disk.image["STORE"]).withUnsafeBytes { StoreIdentity.read($0) }
    guard case .valid(let identity) = identity else { return nil }
    let folder = try disk.openDirectory("store", create: false).openDirectory("segments", create: false)
    var found: (String, Int, RecordHeader)?
    for entry in try folder.entries() {
      guard let id = SegmentHeader.segment(ofFile: entry.name) else { continue }
      let file = try folder.openFile(entry.name, .readOnly)
      let byteCount = try file.status().byteCount
      _ = SegmentScanner(file: file, store: identity.store, segment: id).records(byteCount: byteCount) { record in
        if record.url == Array(url.utf8) { found = (entry.name, record.offset, record.header) }
      }
    }
    return found
  }

  @Test(arguments: ["plain", "zstd", "bitmap", "pieces"], [Verification.firstRead, .always])
  func damagedPayloadIsAMissAndReportedOnce(_ url: String, _ verification: Verification) throws {
    let store = try spoiled(url, verification)
    #expect(store.lookup(url) == .damaged)
    #expect(store.lookup(url) == .missing)
    #expect(store[url] == nil && !store.contains(url))
    #expect(store.statistics().damagedCount == 1 && store.statistics().lostCount == 0)
    for other in ["plain", "zstd", "bitmap", "pieces"] where other != url {
      #expect(store[other] != nil, "\(other) is whole")
    }
    try store.put([1], for: url)
    #expect(store[url] == [1])
    try store.close()
  }

  @Test func getOfADamagedPayloadReturnsNil() throws {
    let store = try spoiled("plain", .firstRead)
    #expect(store["plain"] == nil)
    #expect(store["twin"] == nil, "it shares the payload")
    #expect(store.count == 3)
    try store.close()
    let again = try world.open("store")
    #expect(again.count == 3 && again.lookup("plain") == .missing)
    try again.close()
  }

  @Test(arguments: ["plain", "zstd", "bitmap", "pieces"])
  func verifyNamesTheFileAndTheOffsetAndChangesNothing(_ url: String) throws {
    let store = try spoiled(url, .firstRead)
    let place = try #require(try place(of: url))
    for _ in 0..<2 {
      let report = try store.verify()
      // Each key that uses the payload has a problem, at the one place.
      let keys = url == "plain" ? [CacheKey(url), CacheKey("twin")] : [CacheKey(url)]
      #expect(report.damaged.map(\.key) == keys && report.lost == [] && !report.isOK)
      #expect(report.damaged.allSatisfy { $0.file == "segments/\(place.file)" && $0.offset == place.offset })
    }
    #expect(store.count == 5)
    try store.close()
  }

  /// The record's own key has another value by now, which is intact.
  @Test func verifyNamesOnlyTheSharersOfADamagedPayload() throws {
    let store = try spoiled("plain", .firstRead)
    try store.put(noise(50, 9), for: "plain")
    #expect(try store.verify().damaged.map(\.key) == [CacheKey("twin")])
    #expect(store["plain"] == noise(50, 9) && store["twin"] == nil)
    try store.close()
  }

  @Test func readOnlyStoreReturnsNoDamagedBytes() throws {
    let store = try spoiled("zstd", .always, readOnly: true)
    let before = disk.image
    #expect(store["zstd"] == nil && store["plain"] == noise(3000))
    #expect(store.lookup("zstd") == .missing)
    try store.close()
    #expect(disk.image == before)
  }

  @Test func verificationAtEveryReadFindsLaterDamage() throws {
    for (verification, isSeen) in [(Verification.always, true), (.firstRead, false), (.never, false)] {
      let disk = MemoryDisk()
      let test = IntegrityTests(disk: disk)
      let store = try test.world.open("store", StoreOptions(byteBudget: 4 << 20, verification: verification))
      try store.put(noise(3000), for: "plain")
      #expect(store["plain"] == noise(3000))
      try test.flipPayload(of: "plain")
      #expect((store["plain"] == nil) == isSeen, "\(verification)")
      try store.close()
    }
  }

  /// A file truncated in its last page reads as zeros behind the cut. Bytes that a thread read earlier and still
  /// has are not in the file.
  @Test(arguments: [true, false]) func aCutFileIsNotCompletedByAnEarlierRead(_ isCompressed: Bool) throws {
    var world = world
    // A custom digest gets all bytes at once, as zstd does.
    world.environment.digest = { Digest(of: $0) }
    // The last of zstd's blocks is stored uncompressed.
    let value = isCompressed ? text(256 << 10) + noise(9000) : noise(9000)
    let store = try world.open("store", StoreOptions(byteBudget: 4 << 20, verification: .always))
    try store.put(value, for: "a")
    #expect(store["a"] == value)
    let found = try #require(try place(of: "a"))
    #expect(found.header.encoding == (isCompressed ? .zstd : .plain))
    let end = found.offset + found.header.payloadOffset + found.header.storedByteCount
    try #require(end % 4096 > 100)
    try disk.openDirectory("store", create: false).openDirectory("segments", create: false)
      .openFile(found.file, .readWrite).truncate(to: end - 60)
    #expect(store["a"] == nil)
    #expect(store.statistics().damagedCount == 1)
    try store.close()
  }

  /// Two bits of a head that a checkpoint vouches for, and that `never` does not check.
  @Test(arguments: [Int64.min, .min + 1, -1, .max])
  func damagedExpiryDoesNotTrap(_ expiration: Int64) throws {
    let store = try world.open("store")
    try store.put(noise(3000), for: "plain")
    try store.close()
    let place = try #require(try place(of: "plain"))
    let file = try disk.openDirectory("store", create: false).openDirectory("segments", create: false)
      .openFile(place.file, .readWrite)
    try file.write([UInt8(RecordHeader.Flags.sliding.rawValue)], at: place.offset + 6)
    try file.write((0..<8).map { UInt8(truncatingIfNeeded: expiration >> ($0 * 8)) }, at: place.offset + 64)
    let again = try world.open("store", StoreOptions(verification: .never))
    world.clock.advance(1000)
    #expect(again["plain"] == (expiration > 0 ? noise(3000) : nil))
    try again.close()
  }

  private init(disk: MemoryDisk) {
    self.disk = disk
    world = TestWorld(fileSystem: disk)
  }

  @Test func differentBytesWithOneDigestAreBothKept() throws {
    var world = world
    world.environment.digest = { _ in Digest(high: 7, low: 7) }
    let digest = Digest(high: 7, low: 7)
    let values = [noise(500, 1), noise(500, 2), text(900), text(901), text(900, 2), []]
    func look(_ store: CacheStore) throws {
      for (index, value) in values.enumerated() {
        #expect(store["a\(index)"] == value && store["b\(index)"] == value, "\(index)")
      }
      #expect(store.statistics().blobCount == values.count)
      let entries = try store.entries(digest: digest)
      #expect(entries.map(\.key).sorted() == (0..<values.count).map { CacheKey("a\($0)") })
      #expect(try store.verify().isOK)
    }
    let store = try world.open("store")
    for prefix in ["a", "b"] {
      for (index, value) in values.enumerated() { try store.put(value, for: "\(prefix)\(index)") }
    }
    try look(store)
    let dead = MemoryDisk(disk.image)
    try store.close()
    let again = try world.open("store")
    try look(again)
    try again.remove("a1")
    #expect(again["b1"] == values[1] && again["a0"] == values[0])
    try again.put(values[2], for: "b0")
    #expect(again["b0"] == values[2] && again["a0"] == values[0])
    #expect(try again.verify().isOK)
    try again.close()
    var other = TestWorld(fileSystem: dead, seed: 2)
    other.environment.digest = world.environment.digest
    let recovered = try other.open("store")
    try look(recovered)
    try recovered.close()
  }
  /// A reference finds its own payload among several with its digest.
  @Test func removedKeyReleasesOnlyItsOwnBytes() throws {
    var world = world
    world.environment.digest = { _ in Digest(high: 7, low: 7) }
    let values = [noise(500, 1), noise(500, 2)]
    let store = try world.open("store")
    for prefix in ["a", "b"] {
      for (index, value) in values.enumerated() { try store.put(value, for: "\(prefix)\(index)") }
    }
    try store.remove("b1")
    try store.remove("a0")
    #expect(store["b0"] == values[0] && store["a1"] == values[1] && store.statistics().blobCount == 2)
    try store.remove("a1")
    #expect(store["b0"] == values[0] && store.statistics().blobCount == 1)
    #expect(try store.verify().isOK)
    try store.remove("b0")
    #expect(store.statistics().blobCount == 0 && store.statistics().liveByteCount == 0)
    try store.close()
  }

  /// A forged index may name an intact record in place of another key's. No get returns it.
  @Test func aRecordInThePlaceOfAnotherKeysIsNamed() throws {
    let store = try world.open("store")
    try store.put(noise(300, 1), for: "a")
    try store.put(noise(300, 2), for: "b")
    try store.put(noise(300, 2), for: "c")
    let (a, b) = (try entry("a", store), try entry("b", store))
    #expect(store.probe.plantMove(a.0, from: a.1, to: b.1))
    let report = try store.verify()
    #expect(report.damaged.map(\.reason) == ["another key is there"] && report.damaged.first?.offset == b.1.offset)
    #expect(report.damaged.first?.key == nil, "b is as it should be, and c, which shares its payload")
    #expect(store["b"] == noise(300, 2) && store["c"] == noise(300, 2) && store["a"] == nil)
    store.abandon()
  }

  /// The payload is damaged, and only the keys that share it use it.
  @Test func verifyNamesASharerOfADamagedPayloadBehindAForeignRecord() throws {
    let store = try spoiled("plain", .firstRead)
    let (zstd, plain) = (try entry("zstd", store), try entry("plain", store))
    try store.put(noise(50, 9), for: "plain")
    #expect(store.probe.plantMove(zstd.0, from: zstd.1, to: plain.1))
    let report = try store.verify()
    #expect(report.damaged.filter { $0.offset == plain.1.offset }.map(\.key) == [CacheKey("twin")])
    #expect(store["twin"] == nil && store["zstd"] == nil)
    store.abandon()
  }

  private func entry(_ url: String, _ store: CacheStore) throws -> (KeyHash, Location) {
    let key = CacheKey(url)
    return (store.probe.hash(of: key), try #require(store.probe.location(of: key)))
  }
}
