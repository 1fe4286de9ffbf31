import Foundation
import Testing

@testable import Vitrine

private func bytes(_ blob: Blob) -> [UInt8] { blob.withBytes { $0.withUnsafeBytes { Array($0) } } }

/// Retained values, and the space of the store that they hold.
@Suite struct BlobTests {
  let folder: TemporaryFolder
  let world = TestWorld()

  init() throws { folder = try TemporaryFolder() }

  /// 64 KiB segments; an eighth of the budget is this many of them.
  private func open(segmentsOfAnEighth count: Int = 8, _ change: (inout StoreOptions) -> Void = { _ in }) throws
    -> CacheStore
  {
    var options = StoreOptions(byteBudget: count * 8 * 65_536, segmentByteCount: 65_536)
    change(&options)
    return try world.open(folder.store, options)
  }

  /// The one segment file of a store with one value.
  private func segmentFile(of store: CacheStore) throws -> String {
    let used = try #require(store.statistics().segments.first { $0.livePartCount > 0 })
    return "\(folder.store)/segments/\(used.file)"
  }

  @Test func blobReportsItsProperties() throws {
    let store = try open()
    let layout = BitmapLayout(width: 16, height: 8, format: .bgra8888)!
    let pixels = noise(layout.byteCount)
    let later = world.clock.wallMilliseconds() + 1000
    let options = PutOptions(metadata: [1, 2, 3], expirationMilliseconds: later, layout: layout, isPageAligned: true)
    try store.put(pixels, for: "bitmap", options: options)
    let blob = try #require(store.blob("bitmap"))
    #expect(bytes(blob) == pixels && blob.byteCount == pixels.count && blob.bytes.byteCount == pixels.count)
    #expect(blob.encoding == .bitmap && blob.layout == layout && blob.metadata == [1, 2, 3])
    #expect(blob.digest == pixels.withUnsafeBytes { Digest(of: $0) })
    #expect(blob.writtenMilliseconds == world.clock.wallMilliseconds() && blob.expirationMilliseconds == later)
    #expect(blob.withBytes { $0.withUnsafeBytes { Int(bitPattern: $0.baseAddress) } } % 4096 == 0)
    #expect(!blob.isCopy && !blob.isDamaged)
    world.clock.advance(1000)
    #expect(store.blob("bitmap") == nil && store.blob("none") == nil)
    #expect(bytes(blob) == pixels)
    try store.close()
    #expect(store.blob("bitmap") == nil)
  }

  /// Damage that no check has found, since none was made: in any kind of file, and with any digest.
  @Test(arguments: [ReadMode.mapped, .copied], [false, true])
  func blobOfDamagedBytesReportsDamage(_ reads: ReadMode, _ hasOwnDigest: Bool) throws {
    var world = world
    if hasOwnDigest {
      world.environment.digest = { bytes in
        Digest(high: UInt64(bytes.count), low: bytes.reduce(0) { $0 &* 31 &+ UInt64($1) })
      }
    }
    let store = try world.open(folder.store)
    try store.put(noise(3000, 1), for: "damaged")
    try store.put(noise(3000, 2), for: "whole")
    let file = try segmentFile(of: store)
    try store.close()
    var bytes = try Files.read(file)
    let payload = try #require(bytes.firstRange(of: noise(3000, 1)))
    bytes[payload.lowerBound + 1500] ^= 1
    try Files.write(bytes, to: file)
    let again = try world.open(folder.store, StoreOptions(verification: .never, reads: reads))
    for (key, isDamaged) in [("damaged", true), ("whole", false)] {
      let blob = try #require(again.blob(key))
      #expect(blob.isCopy == (reads == .copied) && blob.isDamaged == isDamaged, "\(key)")
    }
    try again.close()
  }

  @Test func compressedAndEmptyValuesAreCopiesAndHoldNothing() throws {
    let store = try open()
    try store.put(text(5000), for: "text")
    try store.put([], for: "empty")
    for (key, value) in [("text", text(5000)), ("empty", [])] {
      let blob = try #require(store.blob(key))
      #expect(bytes(blob) == value && blob.isCopy && !blob.isDamaged)
    }
    #expect(store.statistics().pinnedByteCount == 0)
    try store.close()
  }

  @Test func blobOfASharedPayloadHasTheKeysOwnHead() throws {
    let store = try open()
    try store.put(noise(3000), for: "a", options: PutOptions(metadata: [1]))
    try store.put(noise(3000), for: "b", options: PutOptions(metadata: [2]))
    let a = try #require(store.blob("a"))
    let b = try #require(store.blob("b"))
    #expect(bytes(a) == bytes(b) && a.metadata == [1] && b.metadata == [2] && !b.isCopy)
    #expect(store.statistics().pinnedByteCount == 65_536)
    try store.close()
  }

  @Test func retainingCountsAsUse() throws {
    let store = try open()
    try store.put(noise(100), for: "a")
    _ = store.blob("a")
    _ = store.blob("b")
    #expect(store.statistics().hitCount == 1 && store.statistics().missCount == 1)
    try store.close()
  }

  @Test func aBlobOutlivesRemovalClosingAndAnotherOpening() throws {
    var store = try open()
    let values = (0..<8).map { noise(9000, UInt64($0)) }
    for (index, value) in values.enumerated() { try store.put(value, for: "\(index)") }
    let blobs = try (0..<8).map { try #require(store.blob("\($0)")) }
    func expectAll(_ comment: Comment) {
      for (blob, value) in zip(blobs, values) { #expect(bytes(blob) == value && !blob.isDamaged, comment) }
    }
    try store.remove("0")
    expectAll("after a removal")
    try store.removeAll()
    world.background.run()
    #expect(store.statistics().segments.allSatisfy { $0.livePartCount == 0 })
    expectAll("after removing all")
    try store.close()
    expectAll("after closing")
    store = try open()
    for index in 0..<40 { try store.put(noise(9000, UInt64(100 + index)), for: "\(index)") }
    expectAll("while another opening writes")
    try store.close()
    try Files.remove(folder.store)
    expectAll("without the folder")
  }

  @Test func bytesHeldByBlobsAreCountedUntilTheLastRelease() throws {
    let store = try open()
    #expect(try store.statistics().bytesOnDisk == Files.diskUsage(folder.store))
    for index in 0..<24 { try store.put(noise(10_000, UInt64(index)), for: "\(index)") }
    var blobs = try (0..<24).map { try #require(store.blob("\($0)")) }
    let held = store.statistics().pinnedByteCount
    // Six values a segment.
    #expect(held == 4 * 65_536 && blobs.allSatisfy { !$0.isCopy })
    try store.removeAll()
    world.background.run()
    #expect(try store.statistics().bytesOnDisk == Files.diskUsage(folder.store) + held)
    #expect(store.statistics().pinnedByteCount == held)
    // The last one is released on another thread, after the store.
    let last = Guarded<Blob?>(blobs.removeLast())
    blobs.removeAll()
    #expect(store.statistics().pinnedByteCount == 65_536)
    let storage = store.probe.storage
    try store.close()
    Thread.detachNewThread { last.withLock { $0 = nil } }
    while storage.pinnedByteCount != 0 || storage.unlinkedByteCount != 0 { usleep(1000) }
  }

  @Test func blobsHoldAnEighthOfTheBudgetAndCopiesBeyond() throws {
    let store = try open(segmentsOfAnEighth: 2)
    #expect(store.byteBudget / 8 == 2 * 65_536)
    // Three values a segment.
    for index in 0..<12 { try store.put(noise(20_000, UInt64(index)), for: "\(index)") }
    var blobs: [Blob] = []
    for index in 0..<12 {
      let blob = try #require(store.blob("\(index)"))
      #expect(blob.isCopy == (index >= 6) && bytes(blob) == noise(20_000, UInt64(index)))
      blobs.append(blob)
      #expect(store.statistics().pinnedByteCount == (index < 3 ? 1 : 2) * 65_536)
    }
    // A further blob of a segment that is already held pins no more bytes.
    #expect(try #require(store.blob("4")).isCopy == false)
    blobs.removeFirst(3)
    #expect(try #require(store.blob("11")).isCopy == false)
    try store.close()
  }

  @Test func aThousandBlobsAtOnce() throws {
    let store = try open(segmentsOfAnEighth: 10)
    for index in 0..<1000 { try store.put(noise(1500, UInt64(index)), for: "\(index)") }
    var blobs = try (0..<1000).map { try #require(store.blob("\($0)")) }
    #expect(blobs.contains(where: \.isCopy) && blobs.contains { !$0.isCopy })
    #expect(store.statistics().pinnedByteCount == 10 * 65_536)
    try store.removeAll()
    world.background.run()
    // The space is free again except for the held segments.
    for index in 0..<1000 { try store.put(noise(1500, UInt64(5000 + index)), for: "\(index)") }
    for (index, blob) in blobs.enumerated() { #expect(bytes(blob) == noise(1500, UInt64(index))) }
    #expect(try Files.diskUsage(folder.store) + 10 * 65_536 <= store.byteBudget)
    blobs.removeAll()
    #expect(store.statistics().pinnedByteCount == 0 && store.probe.unlinkedByteCount == 0)
    try store.close()
  }

  @Test func blobOfAChangedOrTruncatedFileReportsDamage() throws {
    let store = try open()
    try store.put(noise(30_000), for: "a")
    let blob = try #require(store.blob("a"))
    try store.put(text(30_000), for: "text")
    let copy = try #require(store.blob("text"))
    #expect(!blob.isDamaged && copy.isCopy)
    let file = try segmentFile(of: store)
    let handle = try #require(FileHandle(forUpdatingAtPath: file))
    try handle.seek(toOffset: 20_000)
    try handle.write(contentsOf: Data([1, 2, 3, 4]))
    #expect(blob.isDamaged)
    // An intact file again: a blob that was damaged once stays distrusted.
    try handle.truncate(atOffset: 100)
    #expect(blob.isDamaged && blob.isDamaged)
    #expect(!copy.isDamaged && bytes(copy) == text(30_000))
    try? store.close()
  }

  @Test func aBlobOfAFileCutShortIsDamagedWithoutASignal() throws {
    let store = try open()
    try store.put(noise(30_000), for: "a")
    let blob = try #require(store.blob("a"))
    let handle = try #require(FileHandle(forUpdatingAtPath: try segmentFile(of: store)))
    try handle.truncate(atOffset: 100)
    #expect(blob.isDamaged)
    try? store.close()
  }

  @Test func aDamagedValueGivesNoBlobAndIsDropped() throws {
    var store = try open()
    try store.put(noise(30_000), for: "a")
    let file = try segmentFile(of: store)
    try store.close()
    let handle = try #require(FileHandle(forUpdatingAtPath: file))
    try handle.seek(toOffset: 20_000)
    try handle.write(contentsOf: Data([1, 2, 3, 4]))
    store = try open()
    #expect(store.blob("a") == nil && store.statistics().damagedCount == 1 && store.count == 0)
    try store.close()
  }

  @Test func entryWithAHeadDamagedAfterItsCheckIsDropped() throws {
    let store = try open()
    let metadata = Array("told by nobody".utf8)
    try store.put(noise(30_000), for: "a", options: PutOptions(metadata: metadata))
    #expect(store["a"] != nil)
    let file = try segmentFile(of: store)
    let place = try #require(Data(contentsOf: URL(fileURLWithPath: file)).range(of: Data(metadata)))
    let handle = try #require(FileHandle(forUpdatingAtPath: file))
    try handle.seek(toOffset: UInt64(place.lowerBound))
    try handle.write(contentsOf: Data([1, 2, 3, 4]))
    #expect(store.blob("a") == nil && store.statistics().damagedCount == 1 && store.count == 0)
    try store.close()
  }

  @Test func readOnlyOpeningReturnsBlobsAndReportsTheWritersPins() throws {
    let writer = try open()
    try writer.put(noise(3000), for: "a")
    let own = try #require(writer.blob("a"))
    world.background.run()
    let reader = try world.openReadOnly(folder.store)
    #expect(reader.statistics().pinnedByteCount == 65_536)
    let blob = try #require(reader.blob("a"))
    try reader.close()
    try writer.removeAll()
    world.background.run()
    try writer.close()
    #expect(bytes(blob) == noise(3000) && bytes(own) == noise(3000) && !blob.isDamaged && !blob.isCopy)
  }

  @Test func aPlantedCollisionGivesEachKeyItsOwnBytes() throws {
    var world = TestWorld()
    world.environment.digest = { _ in Digest(high: 1, low: 2) }
    let store = try world.open(folder.store)
    try store.put(noise(3000, 1), for: "a")
    try store.put(noise(3000, 2), for: "b")
    #expect(store.blob("a").map(bytes) == noise(3000, 1) && store.blob("b").map(bytes) == noise(3000, 2))
    #expect(try #require(store.blob("b")).isDamaged == false)
    try store.close()
  }

  @Test func asyncFormReturnsABlob() async throws {
    let store = try CacheStore.open(at: folder.store, options: StoreOptions(byteBudget: 4 << 20))
    try store.put(noise(3000), for: "a")
    let blob = try #require(await store.asynchronous.blob(for: CacheKey("a")))
    #expect(bytes(blob) == noise(3000))
    #expect(await store.asynchronous.blob(for: CacheKey("b")) == nil)
    try await store.asynchronous.close()
    #expect(bytes(blob) == noise(3000))
  }

  /// One thread puts and removes, and segments are removed all the time; the others keep their blobs.
  @Test func blobsStayIntactWhileSegmentsAreRemoved() throws {
    let store = try CacheStore.open(
      at: folder.store, options: StoreOptions(byteBudget: 4 << 20, segmentByteCount: 65_536))
    let wrong = Guarded<[String]>([])
    let end = Date(timeIntervalSinceNow: 2)
    let done = DispatchSemaphore(value: 0)
    for thread in 0..<3 {
      Thread.detachNewThread {
        var random = SeededRandom(seed: UInt64(thread))
        var kept: [(Blob, Int)] = []
        while Date() < end {
          let key = random.below(40)
          do {
            if thread == 0 {
              try store.put(noise(4000, UInt64(key)), for: "\(key)")
              if random.chance(5) { try store.removeAll() } else { try store.remove("\(random.below(40))") }
              store.probe.steps.maintain()
            } else if let blob = store.blob("\(key)") {
              kept.append((blob, key))
            }
          } catch {
            wrong.withLock { $0.append("\(error)") }
          }
          if kept.count > 50 { kept.removeFirst(25) }
          for (blob, key) in kept.suffix(5) where bytes(blob) != noise(4000, UInt64(key)) {
            wrong.withLock { $0.append("key \(key)") }
          }
          if store.statistics().pinnedByteCount > store.byteBudget / 8 { wrong.withLock { $0.append("an eighth") } }
        }
        for (blob, key) in kept where bytes(blob) != noise(4000, UInt64(key)) || blob.isDamaged {
          wrong.withLock { $0.append("key \(key) at the end") }
        }
        kept = []
        done.signal()
      }
    }
    for _ in 0..<3 { done.wait() }
    #expect(wrong.withLock { $0 } == [])
    #expect(store.statistics().pinnedByteCount == 0 && store.statistics().damagedCount == 0)
    try store.removeAll()
    store.probe.steps.maintain()
    // A sync in the background may hold a file for a moment longer.
    for _ in 0..<500 where store.probe.unlinkedByteCount != 0 { Thread.sleep(forTimeInterval: 0.01) }
    #expect(store.probe.unlinkedByteCount == 0)
    try store.close()
  }

  /// Values in memory are returned at once; values that must be read or decompressed are not.
  @Test func onlyCheckedPlainValuesAreAtHand() async throws {
    func isAtHand(_ key: String, in store: CacheStore) -> Bool? {
      store.probe.steps.isAtHand(CacheKey(key))
    }
    var store = try open()
    try store.put(noise(5000), for: "plain")
    try store.put(text(5000), for: "packed")
    try store.close()
    store = try open()
    #expect(isAtHand("plain", in: store) == false && isAtHand("packed", in: store) == false)
    #expect(isAtHand("none", in: store) == nil)
    for key in ["plain", "packed", "none"] { #expect(store.blobAtHand(CacheKey(key)) == nil) }
    #expect(store.statistics().hitCount == 0 && store.statistics().missCount == 0)
    for (key, value) in [("plain", noise(5000)), ("packed", text(5000))] {
      for _ in 0..<2 {
        let blob = try #require(await store.asynchronous.blob(for: CacheKey(key)))
        #expect(bytes(blob) == value)
      }
    }
    #expect(isAtHand("plain", in: store) == true && isAtHand("packed", in: store) == false)
    let hits = store.statistics().hitCount
    #expect(bytes(try #require(store.blobAtHand(CacheKey("plain")))) == noise(5000))
    #expect(store.blobAtHand(CacheKey("packed")) == nil && store.statistics().hitCount == hits + 1)
    #expect(await store.asynchronous.blob(for: CacheKey("none")) == nil)
    try store.close()
  }
}
