import Testing

@testable import Vitrine

@Suite struct ValueTests {
  let disk = MemoryDisk()
  let world: TestWorld
  let store: CacheStore

  init() throws {
    world = TestWorld(fileSystem: disk)
    store = try world.open("store", StoreOptions(byteBudget: 16 << 20, segmentByteCount: 64 << 10))
  }

  private func found(_ key: CacheKey) throws -> EntryInfo {
    guard case .found(let info) = store.lookup(key) else {
      throw StoreError.invalidArgument("\(key) is missing")
    }
    return info
  }

  /// Expects the value now and after the store was closed and opened again.
  private func expectKept(_ value: [UInt8], _ key: CacheKey) throws {
    #expect(store.bytes(key) == value)
    #expect(try store.verify().isOK)
    try store.close()
    let again = try world.open("store", StoreOptions())
    #expect(again.bytes(key) == value)
    try again.close()
  }

  @Test(arguments: [0, 1, 65_536])
  func keysOfEveryLengthWork(_ count: Int) throws {
    let key = CacheKey(bytes: noise(count))
    try store.put([7], for: key)
    #expect(store.contains(key))
    #expect(try store.keysInOrder() == [key])
    try expectKept([7], key)
  }

  @Test func keysMayHoldAnyByte() throws {
    let keys = [[0], [0, 0], [0x61, 0, 0x62], [0xFF, 0xFE], Array("é".utf8)].map { CacheKey(bytes: $0) }
    for (index, key) in keys.enumerated() { try store.put([UInt8(index)], for: key) }
    for (index, key) in keys.enumerated() { #expect(store.bytes(key) == [UInt8(index)]) }
    #expect(store.count == keys.count)
  }

  @Test func argumentsPastTheirLimitsAreRefused() throws {
    func isInvalid(_ body: () throws -> Void) -> Bool {
      if case .invalidArgument? = storeError(body) { true } else { false }
    }
    let layout = BitmapLayout(width: 2, height: 2, format: .gray8)!
    #expect(isInvalid { try store.put([1], for: CacheKey(bytes: noise(65_537))) })
    #expect(isInvalid { try store.put([1], for: "a", options: PutOptions(metadata: noise(65_537))) })
    #expect(isInvalid { try store.put([1, 2, 3], for: "a", options: PutOptions(layout: layout)) })
    try store.put([1], for: "a")
    #expect(isInvalid { try store.setMetadata(noise(65_537), for: CacheKey("a")) })
    #expect(store.count == 1 && store["a"] == [1])
  }

  @Test func sixtyFourKiBOfMetadataAreKept() throws {
    try store.put([1], for: "a", options: PutOptions(metadata: noise(65_536)))
    #expect(try found(CacheKey("a")).metadata == noise(65_536))
    #expect(try store.setMetadata(noise(65_535), for: CacheKey("a")))
    #expect(try found(CacheKey("a")).metadata == noise(65_535))
    #expect(try !store.setMetadata([], for: CacheKey("b")))
    try expectKept([1], CacheKey("a"))
  }

  @Test func anEmptyValueIsAValue() throws {
    try store.put([], for: "a")
    try store.put([], for: "b")
    #expect(store.contains("a") && store["b"] == [])
    #expect(try found(CacheKey("a")).byteCount == 0)
    try expectKept([], CacheKey("a"))
  }

  @Test(arguments: [65_000, 65_536, 200_000, 1 << 20, (1 << 20) + 1, 3 << 19])
  func valuesLargerThanASegmentWork(_ count: Int) throws {
    for durability in [Durability.buffered, .synced] {
      try store.put(noise(count), for: "a", options: PutOptions(durability: durability))
      #expect(store["a"] == noise(count))
    }
    let header = try #require(record("a"))
    #expect(header.flags.contains(.pieces) == (count > 1 << 20))
    #expect(header.pieceCount == (count > 1 << 20 ? (count + 262_143) / 262_144 : 0))
    try expectKept(noise(count), CacheKey("a"))
  }

  private func record(_ url: String) -> RecordHeader? {
    let key = CacheKey(url)
    return key.url.withUnsafeBytes { url in
      key.style.bytes.withUnsafeBytes { style -> RecordHeader? in
        guard let location = store.probe.location(store.probe.hash(of: key), url, style) else { return nil }
        let header = store.probe.record(at: location)?.header
        guard let header, !header.carriesPayload else { return header }
        return store.probe.payloadLocation(of: header).flatMap { store.probe.record(at: $0)?.header }
      }
    }
  }

  @Test func valuesThatNeverFitAreTooLarge() {
    guard case .tooLarge(17 << 20, let limit) = storeError({ try store.put(noise(17 << 20), for: "a") }) else {
      Issue.record("not refused")
      return
    }
    #expect((14 << 20..<16 << 20).contains(limit))
    #expect(store.count == 0)
  }

  @Test func payloadsHaveTheRequestedAlignment() throws {
    let layout = BitmapLayout(width: 5, height: 7, format: .rgb565)!
    for index in 0..<20 {
      try store.put(
        noise(100 + index, UInt64(index)), for: "page\(index)", options: PutOptions(isPageAligned: true))
      try store.put(
        noise(layout.byteCount, UInt64(index)), for: "bitmap\(index)", options: PutOptions(layout: layout))
      for (url, alignment) in [("page\(index)", 4096), ("bitmap\(index)", 64)] {
        let remainder = store.get(url) { span in
          span.withUnsafeBytes { Int(bitPattern: $0.baseAddress!) % alignment }
        }
        #expect(remainder == 0, "\(url)")
      }
    }
    #expect(try store.verify().isOK)
  }

  @Test func equalBytesAreKeptOnceUnlessTheirLayoutDiffers() throws {
    let wide = BitmapLayout(width: 8, height: 2, format: .gray8)!
    let tall = BitmapLayout(width: 2, height: 8, format: .gray8)!
    for (url, layout) in [("a", nil), ("b", nil), ("c", wide), ("d", tall), ("e", wide)] {
      try store.put(noise(16), for: url, options: PutOptions(layout: layout))
    }
    #expect(store.statistics().blobCount == 3 && store.count == 5)
    #expect(try found(CacheKey("b")).isShared && found(CacheKey("e")).isShared)
    #expect(try !found(CacheKey("a")).isShared && !found(CacheKey("d")).isShared)
    try store.remove("a")
    #expect(store["b"] == noise(16))
    try expectKept(noise(16), CacheKey("e"))
  }

  @Test func getsMayBeNestedDeeply() throws {
    for index in 0..<12 {
      try store.put(index % 3 == 0 ? noise(300, UInt64(index + 1)) : text(300, index), for: "\(index)")
    }
    func expected(_ index: Int) -> [UInt8] {
      index % 3 == 0 ? noise(300, UInt64(index + 1)) : text(300, index)
    }
    func descend(_ index: Int) throws {
      guard index < 12 else {
        try store.put(noise(5000), for: "in the middle")
        try store.removeAll(prefix: "1")
        world.background.run()
        return
      }
      let isRight = try store.get("\(index)") { span in
        try descend(index + 1)
        return span.withUnsafeBytes { Array($0) } == expected(index)
      }
      #expect(isRight == true, "level \(index)")
    }
    try descend(0)
    #expect(store["in the middle"] == noise(5000) && store["11"] == nil && store["2"] == expected(2))
  }

  @Test func errorOfTheBodyIsRethrown() throws {
    struct Refusal: Error, Equatable { let number: Int }
    try store.put(text(1000), for: "a")
    for number in 0..<20 {
      #expect(throws: Refusal(number: number)) {
        try store.get("a") { (_: RawSpan) throws(Refusal) -> Void in throw Refusal(number: number) }
      }
    }
    #expect(store["a"] == text(1000))
    #expect(store.get("b") { _ in 1 } == nil)
  }

  @Test func manyKeysAtOnceComeInTheirOrder() throws {
    for index in 0..<30 { try store.put(text(index * 20, index), for: "\(index)") }
    let keys = (0..<40).map { CacheKey("\($0)") }
    var seen: [Int] = []
    store.getMany(keys) { index, span in
      seen.append(index)
      var got: [UInt8]?
      if let span { got = span.withUnsafeBytes { Array($0) } }
      #expect(got == (index < 30 ? text(index * 20, index) : nil))
    }
    #expect(seen == Array(0..<40))
  }

  @Test func aLayoutHasItsLimits() {
    func isOne(_ width: Int, _ height: Int, _ row: Int? = nil) -> Bool {
      BitmapLayout(width: width, height: height, bytesPerRow: row, format: .rgba8888) != nil
    }
    #expect(isOne(1, 1) && isOne(65_535, 1) && isOne(1, 65_535) && isOne(3, 2, 12) && isOne(3, 2, 1 << 30))
    for number in [0, -1, 65_536, .min] { #expect(!isOne(number, 1) && !isOne(1, number), "\(number)") }
    for row in [0, -1, 11, 1 << 30 | 1, .max, .min] { #expect(!isOne(3, 2, row), "\(row)") }
  }
}
