import Testing

@testable import Vitrine

/// Keys that collide in the index are distinguished by their records: every call compares the whole key.
@Suite struct CollidingKeyTests {
  /// Two URLs with one place and one tag in the index of a store made with ``TestWorld``'s numbers. Among 2^20
  /// URLs, of whose hashes the index keeps 38 bits, about two pairs are equal.
  private static func urls(_ store: CacheStore) throws -> ([UInt8], [UInt8]) {
    let probe = store.probe
    let count = 1 << 21
    // The kept part of a hash, and the number of its URL: sorting brings equal ones together.
    var hashes = [UInt64](unsafeUninitializedCapacity: count) { buffer, initialized in
      for number in 0..<count {
        let hash = withUnsafeBytes(of: UInt64(number).littleEndian) { probe.urlHash($0) }
        buffer[number] = hash & ~0x3FF_FFFF | UInt64(number)
      }
      initialized = count
    }
    hashes.sort()
    for (one, other) in zip(hashes, hashes.dropFirst()) where one >> 26 == other >> 26 {
      return (url(one & 0x3FF_FFFF), url(other & 0x3FF_FFFF))
    }
    throw Missing()
  }
  private struct Missing: Error {}

  private static func url(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.littleEndian) { Array($0) } }

  /// Two styles of equal length with one tag.
  private static let styles: (Style, Style) = {
    var known: [UInt16: Style] = [:]
    for number in 10_000... {
      let style = Style("style-\(number)")!
      if let other = known.updateValue(style, forKey: style.tag) { return (other, style) }
    }
    fatalError()
  }()

  private func look(_ a: CacheKey, _ b: CacheKey, in store: CacheStore, _ values: ([UInt8]?, [UInt8]?), _ when: String)
  {
    for (key, value) in [(a, values.0), (b, values.1)] {
      #expect(store.bytes(key) == value, "\(when)")
      #expect(store.contains(key) == (value != nil), "\(when)")
      if case .found(let info) = store.lookup(key) { #expect(info.key == key, "\(when)") }
    }
    var keys: [CacheKey] = []
    store.forEachEntry { info in
      if info.key == a || info.key == b { keys.append(info.key) }
      return true
    }
    #expect(keys.count == (values.0 == nil ? 0 : 1) + (values.1 == nil ? 0 : 1), "\(when)")
  }

  private func exercise(_ a: CacheKey, _ b: CacheKey, _ world: TestWorld, _ store: CacheStore) throws {
    let (x, y, z) = (noise(300, 1), noise(400, 2), noise(500, 3))
    #expect(store.probe.hash(of: a).stored == store.probe.hash(of: b).stored && a != b)
    try store.put(x, for: a)
    look(a, b, in: store, (x, nil), "one is there")
    #expect(try !store.setMetadata([1], for: b) && !store.remove(b))
    look(a, b, in: store, (x, nil), "the other was not there")
    try store.put(y, for: b)
    look(a, b, in: store, (x, y), "both are there")
    #expect(try store.setMetadata([2], for: b))
    if case .found(let info) = store.lookup(a) { #expect(info.metadata == []) }
    if case .found(let info) = store.lookup(b) { #expect(info.metadata == [2]) }
    try store.put(z, for: a)
    look(a, b, in: store, (z, y), "one was replaced")
    try store.close()
    for verification in [Verification.firstRead, .always, .never] {
      let again = try world.open("store", StoreOptions(verification: verification))
      look(a, b, in: again, (z, y), "\(verification)")
      look(b, a, in: again, (y, z), "\(verification), once more")
      #expect(again.statistics().damagedCount == 0)
      try again.close()
    }
    let last = try world.open("store")
    #expect(try last.remove(a))
    look(a, b, in: last, (nil, y), "one was removed")
    #expect(try last.remove(b))
    look(a, b, in: last, (nil, nil), "both were removed")
    try last.close()
  }

  @Test func urlsThatTheIndexCannotTellApartAreDifferentKeys() throws {
    let world = TestWorld(fileSystem: MemoryDisk())
    let store = try world.open("store")
    let (one, other) = try Self.urls(store)
    try exercise(CacheKey(bytes: one), CacheKey(bytes: other), world, store)
  }

  @Test func stylesThatTheIndexCannotTellApartAreDifferentKeys() throws {
    let world = TestWorld(fileSystem: MemoryDisk())
    let (one, other) = Self.styles
    try exercise(CacheKey("a", one), CacheKey("a", other), world, try world.open("store"))
  }

  /// In a record, style and metadata are adjacent: only the length of the style separates them.
  @Test func aStyleThatBeginsWithAnotherIsNotTheOther() throws {
    let world = TestWorld(fileSystem: MemoryDisk())
    let short = Style("style")!
    let long = try #require(
      (0..<1 << 20).lazy.compactMap { Style("style-\($0)") }.first { $0.tag == short.tag })
    try exercise(CacheKey("a", long), CacheKey("a", short), world, try world.open("store"))
    let rest = Array(long.name.utf8.dropFirst(short.name.utf8.count))
    let store = try world.open("store")
    try store.put(noise(300), for: CacheKey("a", short), options: PutOptions(metadata: rest))
    #expect(try !store.remove(CacheKey("a", long)))
    look(CacheKey("a", short), CacheKey("a", long), in: store, (noise(300), nil), "the metadata goes on as the other")
    try store.close()
  }

  /// A first read checks the record that it finds: its key before its payload.
  @Test(arguments: [Verification.firstRead, .always])
  func damageOfACollidingKeysRecordIsNotReported(_ verification: Verification) throws {
    let disk = MemoryDisk()
    let world = TestWorld(fileSystem: disk)
    let (one, other) = Self.styles
    let (a, b) = (CacheKey("a", one), CacheKey("a", other))
    let value = noise(300, 1)
    let store = try world.open("store")
    try store.put(value, for: a)
    try store.close()
    var image = disk.image
    for (path, bytes) in image where path.hasPrefix("segments/") {
      guard let place = bytes.indices.first(where: { bytes[$0...].starts(with: value) }) else { continue }
      image[path]![place + 150] ^= 1
    }
    let again = try TestWorld(fileSystem: MemoryDisk(image)).open("store", StoreOptions(verification: verification))
    #expect(again.lookup(b) == .missing && again.count == 1 && again.statistics().damagedCount == 0)
    #expect(again.lookup(a) == .damaged && again.count == 0 && again.statistics().damagedCount == 1)
    try again.close()
  }

  /// A removal of all styles of a URL leaves those of a URL with the same hash, also if it takes several frames.
  @Test func removalOfVeryManyStylesLeavesThoseOfTheOtherURL() throws {
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store")
    let (one, other) = try Self.urls(store)
    for number in 0..<1400 { try store.put([1], for: CacheKey(bytes: one, Style("w\(number)")!)) }
    for number in 0..<200 { try store.put([2], for: CacheKey(bytes: other, Style("v\(number)")!)) }
    #expect(try store.removeAllStyles(bytes: one) == 1400 && store.count == 200)
    for number in 0..<200 { #expect(store.bytes(CacheKey(bytes: other, Style("v\(number)")!)) == [2]) }
    try store.close()
  }

  @Test func collidingURLsHaveSeparateStyles() throws {
    let world = TestWorld(fileSystem: MemoryDisk())
    let store = try world.open("store")
    let (one, other) = try Self.urls(store)
    let square = Style("square")!
    for url in [one, other] {
      try store.put(noise(200, url == one ? 1 : 2), for: CacheKey(bytes: url))
      try store.put(noise(100, url == one ? 3 : 4), for: CacheKey(bytes: url, square))
    }
    // A new original removes only the styles made from its own predecessor.
    try store.put(noise(250, 5), for: CacheKey(bytes: one))
    #expect(
      store.bytes(CacheKey(bytes: one, square)) == nil && store.bytes(CacheKey(bytes: other, square)) == noise(100, 4))
    #expect(try store.removeAllStyles(bytes: one) == 1)
    #expect(store.bytes(CacheKey(bytes: one)) == nil)
    #expect(
      store.bytes(CacheKey(bytes: other)) == noise(200, 2)
        && store.bytes(CacheKey(bytes: other, square)) == noise(100, 4))
    try store.close()
  }

  /// A style with the tag of `original` is not the original: it follows the original like all others.
  @Test func aStyleWithTheTagOfTheOriginalIsNotTheOriginal() throws {
    let twin = try #require(
      (0..<1 << 20).lazy.compactMap { Style("style-\($0)") }.first { $0.tag == Style.original.tag })
    let world = TestWorld(fileSystem: MemoryDisk())
    let store = try world.open("store")
    let (original, other) = (CacheKey("a"), CacheKey("a", twin))
    try store.put(noise(300, 1), for: original)
    #expect(!store.contains(other))
    try store.put(noise(200, 2), for: other)
    look(original, other, in: store, (noise(300, 1), noise(200, 2)), "both are there")
    if case .found(let info) = store.lookup(other) { #expect(info.source != nil) }
    try store.put(noise(300, 3), for: original)
    look(original, other, in: store, (noise(300, 3), nil), "the original was replaced")
    try store.close()
  }

  /// A record is checked for its own key.
  @Test func damageOfOneCollidingKeyIsNotReportedForTheOther() throws {
    let disk = MemoryDisk()
    let first = try TestWorld(fileSystem: disk).open("store")
    let (one, other) = try Self.urls(first)
    try first.put(noise(3000, 1), for: CacheKey(bytes: one))
    try first.close()
    var image = disk.image
    let (path, place) = try #require(
      image.lazy.compactMap { path, bytes in
        path.hasPrefix("segments/") ? bytes.firstRange(of: noise(3000, 1)).map { (path, $0.lowerBound) } : nil
      }.first)
    image[path]?[place + 2000] ^= 1
    let store = try TestWorld(fileSystem: MemoryDisk(image)).open("store", StoreOptions(verification: .always))
    #expect(store.bytes(CacheKey(bytes: other)) == nil && store.lookup(CacheKey(bytes: other)) == .missing)
    #expect(store.statistics().damagedCount == 0)
    #expect(store.bytes(CacheKey(bytes: one)) == nil && store.statistics().damagedCount == 1)
    try store.close()
  }

  /// Two digests with one place and one tag in the index, which keeps 30 bits of their hashes.
  private static func digests(_ store: CacheStore) throws -> (Digest, Digest) {
    let probe = store.probe
    var known: [ContentHash: Digest] = [:]
    for number in 0..<UInt64(1 << 20) {
      let digest = Digest(high: 1, low: number)
      if let other = known.updateValue(digest, forKey: probe.contentHash(of: digest).stored) { return (other, digest) }
    }
    throw Missing()
  }

  /// Blobs that collide in the index are distinguished by their digests.
  @Test func entriesOfADigestHaveThatDigest() throws {
    var world = TestWorld(fileSystem: MemoryDisk())
    let ofShort = Guarded(Digest(high: 0, low: 0))
    let ofLong = Guarded(Digest(high: 0, low: 0))
    world.environment.digest = { $0.count < 350 ? ofShort.withLock { $0 } : ofLong.withLock { $0 } }
    let store = try world.open("store")
    let (one, other) = try Self.digests(store)
    ofShort.withLock { $0 = one }
    ofLong.withLock { $0 = other }
    try store.put(noise(300, 1), for: "a")
    try store.put(noise(400, 2), for: "b")
    #expect(try store.entries(digest: one).map(\.key) == [CacheKey("a")])
    #expect(try store.entries(digest: other).map(\.key) == [CacheKey("b")])
    #expect(try store.entries(digest: Digest(high: 2, low: 2)).isEmpty)
    try store.close()
  }

  /// A blob that is removed during the search must not hide the next one, which takes its position.
  @Test func entriesOfADigestAreFoundBesideARemoval() throws {
    var world = TestWorld(fileSystem: MemoryDisk())
    world.environment.digest = { _ in Digest(high: 1, low: 1) }
    let clock = HookedClock()
    world.environment.clock = clock
    let store = try world.open("store")
    let keys = ["a", "b", "c"].map { CacheKey($0) }
    for (number, key) in keys.enumerated() {
      try store.put(noise(300, UInt64(number)), for: key, options: PutOptions(expirationMilliseconds: 1 << 50))
    }
    let digest = Digest(high: 1, low: 1)
    let first = try #require(store.entries(digest: digest).first).key
    clock.hook.withLock {
      $0 = {
        clock.hook.withLock { $0 = nil }
        _ = try? store.remove(first)
        _ = try? store.compact()
      }
    }
    let found = try store.entries(digest: digest).map(\.key)
    #expect(!store.contains(first) && Set(found).isSuperset(of: Set(keys).subtracting([first])))
    #expect(Set(found).count == found.count)
    #expect(store.statistics().compaction.recordsMoved == 2)
    try store.close()
  }
}
