import Testing

@testable import Vitrine

/// Removals of a key while a value for it is still arriving.
@Suite struct RemovedBodyTests {
  let disk = MemoryDisk()
  let world: TestWorld
  let store: CacheStore

  init() throws {
    world = TestWorld(fileSystem: disk)
    store = try world.open("store", StoreOptions(byteBudget: 16 << 20, segmentByteCount: 256 << 10))
  }

  enum Removal: CaseIterable {
    case one, many, styles, style, prefix, predicate, retention, retentionOfKeys, batch, batchThatPuts, everything

    func apply(to store: CacheStore) throws {
      let key = CacheKey("a/u")
      switch self {
      case .one: try store.remove("a/u")
      case .many: try store.removeMany([CacheKey("x"), key])
      case .styles: try store.removeAllStyles("a/u")
      case .style: try store.removeAll(style: .original)
      case .prefix: try store.removeAll(prefix: "a/")
      case .predicate: try store.removeAll { $0.metadata == [1] }
      case .retention: try store.retain(only: ["b/u"], prefix: "a/")
      case .retentionOfKeys: try store.retain(only: [CacheKey("b/u")])
      case .batch, .batchThatPuts:
        var batch = WriteBatch()
        batch.remove(key)
        if self == .batchThatPuts { batch.put([9], for: key) }
        try store.write(batch)
      case .everything: try store.removeAll()
      }
    }

    func apply(to store: AsyncCacheStore) async throws {
      let key = CacheKey("a/u")
      switch self {
      case .one: try await store.remove(key)
      case .many: try await store.removeMany([CacheKey("x"), key])
      case .styles: try await store.removeAllStyles("a/u")
      case .style: try await store.removeAll(style: .original)
      case .prefix: try await store.removeAll(prefix: "a/")
      case .predicate: try await store.removeAll { $0.metadata == [1] }
      case .retention: try await store.retain(only: ["b/u"], prefix: "a/")
      case .retentionOfKeys: try await store.retain(only: [CacheKey("b/u")])
      case .batch, .batchThatPuts:
        var batch = WriteBatch()
        batch.remove(key)
        if self == .batchThatPuts { batch.put([9], for: key) }
        try await store.write(batch)
      case .everything: try await store.removeAll()
      }
    }
  }

  /// Gathered in memory, in a segment, in a file that fits a segment, in one that does not.
  private static let sizes: [(byteCount: Int, isLengthKnown: Bool)] = [
    (900, true), (900, false), (100_000, true), (100_000, false), (400_000, true), (400_000, false),
  ]

  private func begin(_ url: String, _ index: Int, _ style: Style = .original) throws -> BodyWriter {
    let (byteCount, isLengthKnown) = Self.sizes[index]
    let writer = try store.writer(
      for: CacheKey(url, style), length: isLengthKnown ? byteCount : nil, options: PutOptions(metadata: [1]))
    try writer.write(noise(byteCount, UInt64(index)))
    return writer
  }

  private func expectNothingHeld(_ location: SourceLocation = #_sourceLocation) {
    #expect(store.probe.unfinishedBodies.isEmpty, sourceLocation: location)
    for case let segment? in store.probe.segments {
      let fill = store.probe.account(segment).fill
      #expect(fill.pendingCount == 0 && fill.exemptCount == 0, sourceLocation: location)
    }
  }

  @Test(arguments: Removal.allCases) func aRemovalIsNotUndoneByABodyThatBeganBefore(_ removal: Removal) throws {
    for index in Self.sizes.indices {
      // In every second round, there is no entry to remove, only bodies.
      if index % 2 == 0 { try store.put([7], for: CacheKey("a/u"), options: PutOptions(metadata: [1])) }
      let writers = try (0..<2).map { _ in try begin("a/u", index) }
      try removal.apply(to: store)
      let left: [UInt8]? = removal == .batchThatPuts ? [9] : nil
      #expect(store["a/u"] == left)
      #expect(storeError { try writers[0].commit() } == .aborted)
      #expect(storeError { try writers[1].write([1]) } == .aborted, "before the length is looked at")
      #expect(store["a/u"] == left)
      try begin("a/u", index).commit()
      #expect(store["a/u"] == noise(Self.sizes[index].byteCount, UInt64(index)), "it began behind the removal")
      try store.removeAll()
      world.background.run()
    }
    expectNothingHeld()
  }

  @Test(arguments: Removal.allCases) func asynchronousRemovalsCountToo(_ removal: Removal) async throws {
    for index in [0, 3] {
      let writer = try store.asynchronous.writer(for: CacheKey("a/u"), options: PutOptions(metadata: [1]))
      try await writer.write(noise(Self.sizes[index].byteCount))
      try await removal.apply(to: store.asynchronous)
      await #expect(throws: StoreError.aborted) { try await writer.commit() }
      let later = try store.asynchronous.writer(for: CacheKey("a/u"))
      try await later.write([1, 2])
      try await later.commit()
      #expect(store["a/u"] == [1, 2])
    }
    expectNothingHeld()
  }

  @Test(arguments: Removal.allCases) func aRemovalDuringADrawingCounts(_ removal: Removal) throws {
    let options = PutOptions(metadata: [1])
    #expect(
      storeError {
        try store.draw(CacheKey("a/u"), width: 40, height: 40, format: .gray8, options: options) { _, _ in
          try removal.apply(to: store)
        }
      } == .aborted)
    #expect(store["a/u"] == (removal == .batchThatPuts ? [9] : nil))
    try store.draw(CacheKey("a/u"), width: 40, height: 40, format: .gray8) { _, _ in }
    #expect(store["a/u"]?.count == 64 * 40)
    expectNothingHeld()
  }

  @Test(arguments: Self.sizes.indices) func otherBodiesAreLeftAlone(_ index: Int) throws {
    let style = Style("square-60")!
    let removals: [(String, Style, (CacheStore) throws -> Void)] = [
      ("a/v", .original, { try $0.remove("a/u") }), ("a/u", style, { try $0.remove("a/u") }),
      ("a/u", .original, { try $0.remove("a/u", style: style) }), ("b/u", style, { try $0.removeAllStyles("a/u") }),
      ("b/u", .original, { try $0.removeAll(prefix: "a/") }), ("a/u", .original, { try $0.removeAll(style: style) }),
      ("a/u", .original, { try $0.removeAll { $0.metadata == [2] } }),
      ("a/u", .original, { try $0.retain(only: ["a/u"]) }), ("b/u", style, { try $0.retain(only: [""], prefix: "a/") }),
    ]
    for (number, (url, style, remove)) in removals.enumerated() {
      let writer = try begin(url, index, style)
      try remove(store)
      try writer.commit()
      #expect(store.bytes(CacheKey(url, style)) == noise(Self.sizes[index].byteCount, UInt64(index)), "\(number)")
      try store.removeAll()
      world.background.run()
    }
  }

  /// The stored entry matches, and the arriving one does not.
  @Test func predicateIsAskedAboutTheFutureEntryOfABody() throws {
    let layout = BitmapLayout(width: 300, height: 300, format: .gray8)!
    try store.put([1], for: "u")
    let writers = try [
      store.writer(for: CacheKey("u"), length: 70_000, options: PutOptions(expirationMilliseconds: 5)),
      store.writer(
        for: CacheKey("u"), options: PutOptions(metadata: [1], source: .named(Source(Digest(high: 1, low: 2))))),
      store.writer(for: CacheKey("u"), options: PutOptions(layout: layout)),
    ]
    for writer in writers { try writer.write(noise(66_000)) }
    var asked: [EntryInfo] = []
    let removed = try store.removeAll {
      asked.append($0)
      return $0.byteCount == 1 || $0.byteCount == 66_000
    }
    #expect(removed == 1 && asked.count == 4)
    let bodies = asked.filter { $0.byteCount > 1 }
    #expect(bodies.allSatisfy { $0.key == CacheKey("u") && $0.digest == Digest(high: 0, low: 0) })
    #expect(Set(bodies.map(\.byteCount)) == [70_000, 66_000, 90_000])
    #expect(Set(bodies.map(\.expirationMilliseconds)) == [5, nil] && Set(bodies.map(\.layout)) == [nil, layout])
    #expect(Set(bodies.map(\.metadata)) == [[1], []] && bodies.count(where: \.hasNamedSource) == 1)
    #expect(storeError { try writers[1].commit() } == .aborted)
    try writers[2].write(noise(24_000))
    try writers[2].commit()
    #expect(store["u"]?.count == 90_000)
    try writers[0].write(noise(4000))
    try writers[0].commit()
  }

  /// The body has a place, and its frame is not stored yet.
  @Test(arguments: [Removal.one, .styles, .prefix, .predicate, .batch])
  func aRemovalInTheMiddleOfACommitCounts(_ removal: Removal) throws {
    try store.put([7], for: CacheKey("a/u"), options: PutOptions(metadata: [1]))
    let writer = try store.writer(for: CacheKey("a/u"), options: PutOptions(metadata: [1]))
    try writer.write(noise(9000))
    let isDue = Guarded(true)
    disk.onWrite.withLock { handler in
      handler = { [store] path, offset in
        guard path.hasPrefix("segments/"), offset >= SegmentHeader.byteCount else { return }
        let isNow = isDue.withLock { isDue in
          defer { isDue = false }
          return isDue
        }
        if isNow { try? removal.apply(to: store) }
      }
    }
    #expect(storeError { try writer.commit() } == .aborted)
    disk.onWrite.withLock { $0 = nil }
    #expect(store["a/u"] == nil && store.count == 0)
    expectNothingHeld()
  }

  @Test func evictionExpiryAndDamageAbortNoBody() throws {
    let world = TestWorld(fileSystem: MemoryDisk())
    let store = try world.open("store", StoreOptions(byteBudget: 16 << 20, entryBudget: 2))
    try store.put([1], for: CacheKey("u"), options: PutOptions(expirationMilliseconds: 1_700_000_000_500))
    let writer = try store.writer(for: "u", length: 3)
    try writer.write([1, 2, 3])
    for name in ["v", "w", "x"] { try store.put([4], for: name) }
    #expect(store["u"] == nil, "it was evicted")
    try store.put([1], for: CacheKey("u"), options: PutOptions(expirationMilliseconds: 1_700_000_000_500))
    world.clock.advance(120_000)
    world.background.run()
    #expect(store["u"] == nil, "it has expired")
    try writer.commit()
    #expect(store["u"] == [1, 2, 3])
  }

  /// A removal does not examine a thousand bodies of other keys.
  @Test func aRemovalFindsTheBodiesOfItsKey() throws {
    let writers = try (0..<1000).map { try store.writer(for: "\($0)") }
    for body in store.probe.unfinishedBodies {
      #expect(store.probe.unfinishedBodies(body.hash).map(\.number) == [body.number])
    }
    try store.remove("997")
    for (number, writer) in writers.enumerated() {
      let error = storeError {
        try writer.write([1])
        try writer.commit()
      }
      #expect(error == (number == 997 ? .aborted : nil))
    }
    #expect(store.count == 999)
  }
}
