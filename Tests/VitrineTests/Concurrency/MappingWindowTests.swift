import Foundation
import Testing

@testable import Vitrine

/// Far fewer mappings than segments.
@Suite struct MappingWindowTests {
  private static let limit = 5
  private static let keyCount = 120

  let folder: TemporaryFolder
  let world = TestWorld(resources: Resources(files: FileCache { 0 }, mappedSegments: MappingWindowTests.limit))

  init() throws { folder = try TemporaryFolder() }

  private func open(isReadOnly: Bool = false, environment: Environment? = nil) throws -> CacheStore {
    var options = StoreOptions(isReadOnly: isReadOnly)
    if !isReadOnly {
      options = StoreOptions(byteBudget: 24 << 20, segmentByteCount: 64 << 10, compressionLevel: 0)
    }
    return try CacheStore.open(at: folder.store, options: options, environment: environment ?? world.environment)
  }

  /// Every word identifies the key and the version.
  private static func value(_ key: Int, _ version: Int) -> [UInt8] {
    let word = UInt64(key) << 32 | UInt64(version)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(24_000)
    while bytes.count < 20_000 + key * 16 { withUnsafeBytes(of: word) { bytes.append(contentsOf: $0) } }
    return bytes
  }

  /// Returns the version if all bytes belong to it and to the key.
  private static func version(of bytes: UnsafeRawBufferPointer, _ key: Int) -> Int? {
    guard bytes.count == 20_000 + key * 16 else { return nil }
    let word = bytes.loadUnaligned(as: UInt64.self)
    for offset in stride(from: 0, to: bytes.count, by: 8) {
      if bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) != word { return nil }
    }
    return word >> 32 == UInt64(key) ? Int(word & 0xFFFF_FFFF) : nil
  }

  private func fill(_ store: CacheStore) throws {
    for key in 0..<Self.keyCount { try store.put(Self.value(key, 1), for: "\(key)") }
    try store.flush()
    world.background.run()
  }

  private func expectAll(_ store: CacheStore, _ version: Int = 1) {
    for key in 0..<Self.keyCount {
      let found = store.get("\(key)") { $0.withUnsafeBytes { Self.version(of: $0, key) } }
      #expect(found == .some(version), "\(key)")
    }
  }

  private func mapped(_ store: CacheStore) -> Int {
    let storages = store.probe.segments.compactMap { $0?.storage }
    let count = storages.count { $0.mapping != nil }
    #expect(count == store.probe.withIndex { $0.segments.mappedCount })
    #expect(storages.count > 3 * Self.limit)
    return count
  }

  @Test func noMoreSegmentsAreMappedThanTheLimit() throws {
    var store = try open()
    try fill(store)
    #expect(mapped(store) <= Self.limit)
    for _ in 0..<6 { expectAll(store) }
    #expect(mapped(store) <= Self.limit)
    try store.close()
    store = try open()
    #expect(mapped(store) <= Self.limit)
    for _ in 0..<6 { expectAll(store) }
    #expect(mapped(store) <= Self.limit)
    #expect(try store.verify().isOK)
    try store.close()
    let reader = try open(isReadOnly: true)
    #expect(mapped(reader) <= Self.limit)
    for _ in 0..<6 { expectAll(reader) }
    #expect(mapped(reader) <= Self.limit)
  }

  /// A segment that upkeep has cut to its records is mapped as far as it goes.
  @Test func segmentThatIsReadOftenIsMappedAgain() throws {
    let store = try open()
    try fill(store)
    let slots = (0..<Self.keyCount).map { store.probe.location(of: CacheKey("\($0)"))?.slot ?? 0 }
    let key = try #require(slots.indices.first { !store.probe.isMapped(slot: slots[$0]) })
    for _ in 0..<10 { #expect(store["\(key)"] == Self.value(key, 1)) }
    #expect(store.probe.isMapped(slot: slots[key]))
    #expect(store.blob("\(key)")?.isCopy == false)
    #expect(mapped(store) <= Self.limit)
  }

  @Test func segmentInUseStaysMapped() throws {
    let store = try open()
    try fill(store)
    // A mapped segment, and a segment that a Blob holds.
    for _ in 0..<10 { _ = store["7"] }
    let blob = try #require(store.blob("7"))
    for _ in 0..<10 { _ = store["80"] }
    let isWhole = store.get("80") { bytes in
      for _ in 0..<6 { expectAll(store) }
      return bytes.withUnsafeBytes { Self.version(of: $0, 80) } == 1
    }
    #expect(isWhole == true && !blob.isCopy && !blob.isDamaged)
    #expect(blob.withBytes { $0.withUnsafeBytes { Self.version(of: $0, 7) } } == 1)
  }

  @Test func unsyncedSegmentStaysMapped() throws {
    let store = try open()
    for key in 0..<Self.keyCount { try store.put(Self.value(key, 1), for: "\(key)") }
    #expect(mapped(store) > Self.limit, "nothing was synced")
    for case let segment? in store.probe.segments where store.probe.account(segment).sync.isDirty {
      #expect(segment.storage?.mapping != nil)
    }
    try store.flush()
    world.background.run()
    #expect(mapped(store) <= Self.limit)
  }

  /// Gets, Blobs, nested gets, overwrites, removals, compaction, a refreshing reader: every hit is compared.
  @Test func concurrentReadsNeverSeeAnUnmappedSegment() throws {
    var environment = Environment.posix
    environment.resources = world.environment.resources
    let store = try open(environment: environment)
    try fill(store)
    let reader = try open(isReadOnly: true, environment: environment)
    let rounds = RandomRuns.share(of: 4000)
    let wrong = Guarded<[String]>([])
    let hits = Guarded(0)
    @Sendable func note(_ text: String) { wrong.withLock { $0.append(text) } }
    @Sendable func read(_ store: CacheStore, _ random: inout SeededRandom, depth: Int = 0) {
      let key = random.below(Self.keyCount)
      var inner = random
      let found = store.get("\(key)") { bytes -> Int? in
        if depth < 3 { read(store, &inner, depth: depth + 1) }
        return bytes.withUnsafeBytes { Self.version(of: $0, key) }
      }
      random = inner
      if let found {
        hits.withLock { $0 += 1 }
        if found == nil { note("get of \(key)") }
      }
    }
    @Sendable func hold(_ store: CacheStore, _ random: inout SeededRandom) {
      let keys = (0..<3).map { _ in random.below(Self.keyCount) }
      let blobs = keys.map { ($0, store.blob("\($0)")) }
      read(store, &random)
      for case (let key, let blob?) in blobs {
        if blob.withBytes({ $0.withUnsafeBytes { Self.version(of: $0, key) } }) == nil { note("Blob of \(key)") }
        if blob.isDamaged { note("damaged Blob of \(key)") }
      }
    }
    let done = DispatchSemaphore(value: 0)
    let threads = 5
    for thread in 0..<threads {
      Thread.detachNewThread {
        var random = SeededRandom(seed: UInt64(thread + 1))
        do {
          for round in 0..<rounds {
            switch thread {
            case 0:
              let key = random.below(Self.keyCount)
              if round % 11 == 0 {
                try store.remove("\(key)")
              } else {
                try store.put(Self.value(key, round + 2), for: "\(key)")
              }
              if round % 200 == 0 { _ = try store.compact() }
              if round % 50 == 0 { try store.flush() }
            case 1:
              read(reader, &random)
              if round % 20 == 0 { _ = try reader.refresh() }
            case 2: hold(store, &random)
            default: read(store, &random)
            }
          }
        } catch {
          note("\(error)")
        }
        done.signal()
      }
    }
    for _ in 0..<threads { done.wait() }
    #expect(wrong.withLock { $0 }.prefix(3).isEmpty, "\(wrong.withLock { $0 }.prefix(3))")
    #expect(hits.withLock { $0 } > rounds)
    try store.flush()
    let statistics = store.statistics()
    #expect(statistics.damagedCount == 0 && statistics.lostCount == 0)
    #expect(reader.statistics().damagedCount == 0)
    #expect(try store.verify().isOK)
    try reader.close()
    try store.close()
  }
}
