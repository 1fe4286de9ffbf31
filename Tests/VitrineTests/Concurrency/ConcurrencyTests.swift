import Foundation
import Testing

@testable import Vitrine

/// Several threads on one store on the real disk, with real background upkeep.
@Suite(.serialized) struct ConcurrencyTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func open(_ options: StoreOptions = StoreOptions(byteBudget: 16 << 20)) throws -> CacheStore {
    try CacheStore.open(at: folder.store, options: options)
  }

  /// A value that identifies its key and version.
  private static func value(_ key: Int, _ version: Int) -> [UInt8] {
    let head = Array("\(key)/\(version)/".utf8)
    return head
      + (version % 2 == 0 ? noise(50 + version * 37 % 4000, UInt64(key * 31 + version)) : text(200, version))
  }

  private static func isWhole(_ bytes: [UInt8], _ key: Int) -> Bool {
    let parts = bytes.prefix(20).split(separator: UInt8(ascii: "/"), maxSplits: 2)
    guard parts.count >= 2, let found = Int(String(decoding: parts[0], as: UTF8.self)),
      let version = Int(String(decoding: parts[1], as: UTF8.self))
    else { return false }
    return found == key && bytes == value(key, version)
  }

  /// Runs `body` on this many threads and waits for all of them.
  private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let done = DispatchSemaphore(value: 0)
    for index in 0..<count {
      Thread.detachNewThread {
        body(index)
        done.signal()
      }
    }
    for _ in 0..<count { done.wait() }
  }

  @Test func writersReadersAndRemoversNeverSeeWrongBytes() throws {
    let store = try open()
    let wrong = Guarded<[String]>([])
    let end = Date(timeIntervalSinceNow: 2)
    onThreads(4) { thread in
      var random = SeededRandom(seed: UInt64(thread + 1))
      var version = thread
      while Date() < end {
        let key = random.below(60)
        version += 4
        do {
          switch (thread, random.below(10)) {
          case (0, 0): try store.removeAll(prefix: "key/1")
          case (0, 1): _ = try store.verify()
          case (1, 0): try store.checkpoint()
          case (1, 1): try store.flush()
          case (0...1, 2...3): try store.remove("key/\(key)")
          case (0...1, _): try store.put(Self.value(key, version), for: "key/\(key)")
          case (_, 0): _ = try store.keysInOrder()
          case (_, 1): _ = try store.setMetadata(text(version % 100), for: CacheKey("key/\(key)"))
          default:
            if let got = store["key/\(key)"], !Self.isWhole(got, key) {
              wrong.withLock { $0.append("key \(key)") }
            }
          }
        } catch StoreError.noSpace {
          try? store.removeAll()
        } catch {
          wrong.withLock { $0.append("\(error)") }
        }
      }
    }
    #expect(wrong.withLock { $0 } == [])
    let statistics = store.statistics()
    #expect(statistics.damagedCount == 0 && statistics.lostCount == 0)
    #expect(try store.verify().isOK)
    let count = store.count
    try store.close()
    let again = try open()
    #expect(again.count == count && again.statistics().lastOpen.kind == .clean)
    for key in 0..<60 { if let got = again["key/\(key)"] { #expect(Self.isWhole(got, key)) } }
    #expect(try again.verify().isOK)
    try again.close()
  }

  @Test func noReadSeesWrongBytesWhileTheFullStoreCompacts() throws {
    let budget = 2 << 20
    let store = try open(StoreOptions(byteBudget: budget))
    let wrong = Guarded<[String]>([])
    let end = Date(timeIntervalSinceNow: 4)
    // A busy machine takes longer to fill the store.
    let last = Date(timeIntervalSinceNow: 60)
    onThreads(6) { thread in
      var random = SeededRandom(seed: UInt64(thread + 1))
      var version = thread
      var blobs: [(Int, Blob)] = []
      while Date() < end || (store.statistics().evictedCount == 0 && Date() < last) {
        let key = random.below(1500)
        version += 6
        do {
          switch (thread, random.below(100)) {
          case (0, 0): _ = try store.compact()
          case (0, 1): _ = try store.idle()
          case (0, 2): try store.setBudgets(byteBudget: budget - random.below(2) << 18)
          case (0, 3): try store.checkpoint()
          case (0, 4): try store.remove("key/\(key)")
          case (1, 0) where random.chance(2): try store.removeAll()
          case (1, 1...3): _ = try store.setMetadata(text(version % 100), for: CacheKey("key/\(key)"))
          case (0...2, _): try store.put(Self.value(key, version), for: "key/\(key)")
          case (3, 0): _ = try store.keysInOrder()
          case (3, 1): _ = try store.keysByRecency()
          case (3, 2): store.forEachEntry { _ in true }
          case (3, 3):
            let damaged = try store.verify().damaged
            if !damaged.isEmpty { wrong.withLock { $0.append("\(damaged)") } }
          case (4, _):
            if let blob = store.blob("key/\(key)") { blobs.append((key, blob)) }
            guard blobs.count > 20 else { break }
            let (key, blob) = blobs.remove(at: random.below(blobs.count))
            if !Self.isWhole(blob.bytes.withUnsafeBytes { Array($0) }, key) {
              wrong.withLock { $0.append("blob \(key)") }
            }
          default:
            if let got = store["key/\(key)"], !Self.isWhole(got, key) { wrong.withLock { $0.append("key \(key)") } }
          }
          if store.statistics().bytesOnDisk > budget { wrong.withLock { $0.append("over the budget") } }
        } catch {
          wrong.withLock { $0.append("\(error)") }
        }
      }
    }
    #expect(wrong.withLock { $0 } == [])
    let statistics = store.statistics()
    #expect(statistics.damagedCount == 0 && statistics.lostCount == 0 && statistics.evictedCount > 0)
    #expect(try store.verify().isOK)
    let count = store.count
    try store.close()
    let again = try open(StoreOptions())
    #expect(again.count == count && again.statistics().lastOpen.kind == .clean)
    for key in 0..<1500 { if let got = again["key/\(key)"] { #expect(Self.isWhole(got, key)) } }
    try again.close()
  }

  @Test func stylesNeverOutliveTheirOriginal() throws {
    let store = try open()
    let wrong = Guarded(0)
    onThreads(3) { thread in
      for number in 0..<1500 {
        if thread == 0 {
          let original = noise(20, UInt64(number))
          try? store.put(original, for: "a")
          // No other thread puts originals: a style put now is made from this one.
          for style in 0..<6 {
            guard case .found(let entry) = store.lookup("a", style: Style("s\(style)")!), let source = entry.source
            else { continue }
            if source != Source(of: original) { wrong.withLock { $0 += 1 } }
          }
        } else {
          try? store.put([UInt8(thread)], for: "a", style: Style("s\(thread * 3 - number % 3)")!)
        }
      }
    }
    #expect(wrong.withLock { $0 } == 0)
    #expect(try store.verify().isOK)
    try store.close()
  }

  @Test func syncedPutsOfManyThreadsAreAllStored() throws {
    let store = try open()
    let failures = Guarded(0)
    onThreads(8) { thread in
      for index in 0..<25 {
        do {
          try store.put(
            Self.value(thread, index), for: "\(thread)-\(index)", options: PutOptions(durability: .synced))
        } catch { failures.withLock { $0 += 1 } }
      }
    }
    #expect(failures.withLock { $0 } == 0)
    #expect(store.count == 200)
    let copy = folder.path + "/copy"
    try Files.copyFolder(folder.store, to: copy)
    try store.close()
    let survivor = try CacheStore.open(at: copy)
    for thread in 0..<8 {
      for index in 0..<25 { #expect(survivor["\(thread)-\(index)"] == Self.value(thread, index)) }
    }
    try survivor.close()
  }

  @Test func equalBytesPutByManyThreadsAreKeptOnce() throws {
    let store = try open()
    onThreads(8) { thread in
      for index in 0..<40 { try? store.put(text(2000, index), for: "\(thread)-\(index)") }
    }
    #expect(store.count == 320 && store.statistics().blobCount == 40)
    #expect(try store.verify().isOK)
    try store.close()
  }

  @Test func closingLeavesReadersWithWholeValuesOrNone() throws {
    let store = try open()
    for key in 0..<30 { try store.put(Self.value(key, key), for: "key/\(key)") }
    let wrong = Guarded(0)
    let reads = Guarded(0)
    onThreads(4) { thread in
      if thread == 0 {
        while reads.withLock({ $0 }) < 1000 { Thread.sleep(forTimeInterval: 0.01) }
        if (try? store.close()) == nil { wrong.withLock { $0 += 1 } }
        return
      }
      while store.lookup("key/1") != .closed {
        for key in 0..<30 {
          guard let got = store["key/\(key)"] else { continue }
          reads.withLock { $0 += 1 }
          if got != Self.value(key, key) { wrong.withLock { $0 += 1 } }
        }
      }
    }
    #expect(wrong.withLock { $0 } == 0)
    #expect(reads.withLock { $0 } > 0)
    #expect(store["key/1"] == nil)
  }

  @Test func asyncFormsMatchTheSynchronousOnes() async throws {
    let store = try await AsyncCacheStore.open(at: folder.store, options: StoreOptions(byteBudget: 4 << 20))
    let asynchronous = store.asynchronous
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<50 {
        group.addTask {
          try await asynchronous.put(text(300, index), for: CacheKey("\(index)"))
          let got = await asynchronous.bytes(CacheKey("\(index)"))
          #expect(got == text(300, index))
        }
      }
      try await group.waitForAll()
    }
    #expect(await asynchronous.get(CacheKey("7")) { $0.byteCount } == 300)
    #expect(await asynchronous.get(CacheKey("none")) { $0.byteCount } == nil)
    var batch = WriteBatch()
    batch.remove(CacheKey("7"))
    try await asynchronous.write(batch)
    #expect(try await asynchronous.remove(CacheKey("8")))
    #expect(try await asynchronous.removeMany([CacheKey("9"), CacheKey("7")]) == 1)
    #expect(store.count == 47)
    try await asynchronous.flush()
    try await asynchronous.checkpoint()
    #expect(try await asynchronous.verify().isOK)
    try await asynchronous.removeAll()
    #expect(store.count == 0)
    try await asynchronous.close()
    await #expect(throws: StoreError.closed) { try await asynchronous.flush() }
  }
}
