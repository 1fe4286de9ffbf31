import Foundation
import Testing

@testable import Vitrine

/// The check of leftovers holds no lock while it reads, so no call of the store waits for it.
@Suite struct LeftoverCheckTests {
  private static let size = 100_000

  /// The disk of a process that died with this many large values, and the offsets of their records.
  private func crashImage(_ count: Int) throws -> (image: MemoryDisk.Image, records: Set<Int>) {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store", StoreOptions(byteBudget: 32 << 20))
    for number in 0..<count { try store.put(noise(Self.size, UInt64(number)), for: "k\(number)") }
    try store.put(noise(700, 99), for: "carried", options: PutOptions(durability: .synced))
    let records = Set(store.probe.entries.map(\.location.offset))
    store.abandon()
    return (disk.image, records)
  }

  /// A disk fetches many heads at once only if they are named before the first is read.
  @Test func headsOfReplayedRecordsAreFetchedTogether() throws {
    let (image, records) = try crashImage(8)
    let watched = WatchedFileSystem(MemoryDisk(image))
    let named = Guarded<Set<Int>>([])
    watched.beforeCall.withLock { handler in
      handler = { name, call in
        guard name.hasSuffix(".segment"), case .willRead(let range) = call else { return }
        named.withLock { _ = $0.insert(range.lowerBound) }
        #expect(range.count == RecordHeader.fixedByteCount)
      }
    }
    let store = try TestWorld(fileSystem: watched, seed: 2).open("store", StoreOptions())
    try store.probe.steps.findHeadless()
    #expect(!records.isEmpty && named.withLock { $0 } == records)
    try store.close()
  }

  /// A check that is held in the middle of a payload until it is released.
  private final class HeldCheck: Sendable {
    private let thread = Guarded<ObjectIdentifier?>(nil)
    let isReading = DispatchSemaphore(value: 0)
    private let mayGoOn = DispatchSemaphore(value: 0)
    private let hasEnded = DispatchSemaphore(value: 0)

    init(_ store: CacheStore, _ disk: MemoryDisk, _ records: Set<Int>) {
      let isDue = Guarded(true)
      disk.onRead.withLock { handler in
        handler = { [isReading, mayGoOn, thread] path, offset in
          guard thread.withLock({ $0 }) == ObjectIdentifier(Thread.current), path.hasPrefix("segments/"),
            !records.contains(offset),
            isDue.withLock({ isDue in
              defer { isDue = false }
              return isDue
            })
          else { return }
          isReading.signal()
          mayGoOn.wait()
        }
      }
      Thread.detachNewThread { [hasEnded, thread] in
        thread.withLock { $0 = ObjectIdentifier(Thread.current) }
        try? store.probe.steps.checkLeftovers()
        hasEnded.signal()
      }
      isReading.wait()
    }

    func release() {
      mayGoOn.signal()
      hasEnded.wait()
    }
  }

  @Test(.timeLimit(.minutes(60)), arguments: [false, true]) func noCallWaitsForTheCheck(_ checkpoints: Bool) throws {
    let (image, records) = try crashImage(8)
    let disk = MemoryDisk(image)
    let store = try TestWorld(fileSystem: disk, seed: 2).open("store", StoreOptions())
    #expect(!store.probe.unchecked.isEmpty)
    let held = HeldCheck(store, disk, records)
    // Enough for several new segments.
    for number in 0..<12 { try store.put(noise(60_000, UInt64(50 + number)), for: "new\(number)") }
    try store.put(noise(900, 70), for: "k2", options: PutOptions(durability: .synced))
    try store.flush()
    if checkpoints { try store.checkpoint() }
    #expect(try store.remove("k1") && store.removeMany([CacheKey("k3"), CacheKey("k4")]) == 2)
    #expect(store["k5"] == noise(Self.size, 5))
    store.probe.steps.maintain()
    #expect(!store.probe.unchecked.isEmpty)
    try store.close()
    // After the close, the check changes nothing, even if it finds damage.
    let closed = disk.image
    held.release()
    #expect(disk.image == closed)

    let world = TestWorld(fileSystem: MemoryDisk(closed), seed: 3)
    let again = try world.open("store", StoreOptions())
    #expect(again.statistics().lastOpen.kind == .recovered)
    func look(_ store: CacheStore) {
      for number in [0, 5, 6, 7] { #expect(store["k\(number)"] == noise(Self.size, UInt64(number))) }
      for number in [1, 3, 4] { #expect(store["k\(number)"] == nil) }
      #expect(store["k2"] == noise(900, 70) && store["carried"] == noise(700, 99))
      for number in 0..<12 { #expect(store["new\(number)"] == noise(60_000, UInt64(50 + number))) }
    }
    look(again)
    world.background.run()
    #expect(again.probe.unchecked.isEmpty)
    try again.close()
    let last = try world.open("store", StoreOptions())
    #expect(last.statistics().lastOpen.kind == .clean)
    look(last)
    #expect(try last.verify().isOK)
    try last.close()
  }

  /// A segment that is compacted while a record of it is being read is neither vouched for nor reported missing.
  @Test(.timeLimit(.minutes(60))) func segmentRemovedDuringTheCheckIsSkipped() throws {
    let (image, records) = try crashImage(8)
    let disk = MemoryDisk(image)
    let store = try TestWorld(fileSystem: disk, seed: 2).open("store", StoreOptions())
    let held = HeldCheck(store, disk, records)
    let before = store.probe.unchecked.count
    try store.removeAll()
    try store.probe.retireDeadSegments()
    #expect(store.probe.unchecked.count < before)
    for number in 0..<4 { try store.put(noise(90_000, UInt64(20 + number)), for: "new\(number)") }
    held.release()
    #expect(store.probe.unchecked.isEmpty && store.count == 4)
    for number in 0..<4 { #expect(store["new\(number)"] == noise(90_000, UInt64(20 + number))) }
    try store.close()
  }

  /// A close reads only a small part of the unchecked records.
  @Test func closeLeavesManyLeftoversToTheNextOpening() throws {
    let disk = MemoryDisk(try crashImage(30).image)
    let world = TestWorld(fileSystem: disk, seed: 2)
    let store = try world.open("store", StoreOptions())
    try store.put(noise(300, 50), for: "new")
    let reads = Guarded(0)
    disk.onRead.withLock { handler in
      handler = { path, _ in if path.hasPrefix("segments/") { reads.withLock { $0 += 1 } } }
    }
    try store.close()
    #expect(reads.withLock { $0 } == 0)
    let again = try world.open("store", StoreOptions())
    #expect(again.statistics().lastOpen.kind == .recovered && again["new"] == noise(300, 50))
    for number in 0..<30 { #expect(again["k\(number)"] == noise(Self.size, UInt64(number))) }
    again.probe.steps.maintain()
    try again.probe.steps.checkLeftovers()
    try again.close()
    #expect(try world.open("store", StoreOptions()).statistics().lastOpen.kind == .clean)
  }

  @Test func closeChecksFewLeftovers() throws {
    let world = TestWorld(fileSystem: MemoryDisk(try crashImage(2).image), seed: 2)
    try world.open("store", StoreOptions()).close()
    #expect(try world.open("store", StoreOptions()).statistics().lastOpen.kind == .clean)
  }

  /// A put that finds the log full needs the heads, and waits for nothing else.
  @Test func checkReadsHeadsBeforePayloads() throws {
    let (image, records) = try crashImage(8)
    let disk = MemoryDisk(image)
    let store = try TestWorld(fileSystem: disk, seed: 2).open("store", StoreOptions(reads: .copied))
    let early = Guarded((payloads: 0, heads: 0))
    disk.onRead.withLock { handler in
      handler = { path, offset in
        guard path.hasPrefix("segments/"), !store.probe.hasFoundHeadless else { return }
        early.withLock { if records.contains(offset) { $0.heads += 1 } else { $0.payloads += 1 } }
      }
    }
    try store.probe.steps.checkLeftovers()
    #expect(early.withLock { $0.payloads == 0 && $0.heads >= 1 })
    disk.onRead.withLock { $0 = nil }
    try store.close()
  }

  /// If many puts find the log full, one of them reads the heads.
  @Test(.timeLimit(.minutes(60))) func threadsThatNeedTheHeadsReadThemOnce() throws {
    let (image, records) = try crashImage(8)
    func headReads(_ threads: Int) throws -> Int {
      let disk = MemoryDisk(image)
      let store = try TestWorld(fileSystem: disk, seed: 2).open("store", StoreOptions(reads: .copied))
      let count = Guarded(0)
      let (haveBegun, haveEnded) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      disk.onRead.withLock { handler in
        handler = { path, offset in
          guard path.hasPrefix("segments/"), records.contains(offset) else { return }
          let isFirst = count.withLock { count in
            count += 1
            return count == 1
          }
          for _ in 1..<threads where isFirst {
            Thread.detachNewThread {
              haveBegun.signal()
              try? store.probe.steps.findHeadless()
              haveEnded.signal()
            }
            haveBegun.wait()
          }
        }
      }
      try store.probe.steps.findHeadless()
      for _ in 1..<threads { haveEnded.wait() }
      disk.onRead.withLock { $0 = nil }
      try store.close()
      return count.withLock { $0 }
    }
    #expect(try headReads(8) == headReads(1))
  }

  @Test func checkReadsUnderNoLock() throws {
    let (image, _) = try crashImage(8)
    let disk = MemoryDisk(image)
    let store = try TestWorld(fileSystem: disk, seed: 2).open("store", StoreOptions())
    let heldReads = Guarded(0)
    disk.onRead.withLock { handler in
      handler = { path, _ in
        guard path.hasPrefix("segments/") else { return }
        let held = store.probe.heldLocks
        if held.upkeep || held.commit { heldReads.withLock { $0 += 1 } }
      }
    }
    try store.probe.steps.checkLeftovers()
    #expect(heldReads.withLock { $0 } == 0 && store.probe.unchecked.isEmpty)
    disk.onRead.withLock { $0 = nil }
    try store.close()
  }
}
