import Foundation
import Testing

@testable import Vitrine

/// Values that arrive in pieces.
@Suite struct BodyWriterTests {
  let world: TestWorld
  let store: CacheStore
  private static let segment = 256 << 10

  init() throws {
    world = TestWorld(fileSystem: MemoryDisk())
    store = try world.open("store", StoreOptions(byteBudget: 16 << 20, segmentByteCount: Self.segment))
  }

  private func write(_ bytes: [UInt8], _ url: String, length: Int?, pieces: [Int]) throws {
    let writer = try store.writer(for: url, length: length)
    var start = 0
    var next = 0
    while start < bytes.count {
      let end = min(bytes.count, start + pieces[next % pieces.count])
      try writer.write(Array(bytes[start..<end]))
      start = end
      next += 1
    }
    #expect(writer.byteCount == bytes.count)
    try writer.commit()
  }

  @Test(arguments: [0, 1, 65_536, 65_537, 200_000, 262_144, 262_145, 1_048_576, 1_048_577, 1_500_000])
  func bodyConsistsOfItsPieces(_ byteCount: Int) throws {
    let bytes = noise(byteCount, UInt64(byteCount))
    for (number, length) in [byteCount, nil].enumerated() {
      try store.removeAll()
      world.background.run()
      try write(bytes, "u", length: length, pieces: [70_000, 1, 300_001, 4096])
      #expect(store["u"] == bytes, "\(number)")
      #expect(try store.verify().isOK)
      #expect(try store.entries(digest: bytes.withUnsafeBytes { Digest(of: $0) }).count == 1)
      try StoreAudit(store: store).compare(model(["u": bytes]), "\(number)")
    }
  }

  private func model(_ values: [String: [UInt8]]) -> ModelStore {
    var model = ModelStore()
    for (url, bytes) in values { model.put(bytes, CacheKey(url), PutOptions(), at: world.clock.wallMilliseconds()) }
    return model
  }

  @Test func pieceChecksumsAreThoseOfAPut() throws {
    let bytes = noise(1_400_000)
    func checksums() throws -> [UInt64] {
      var found: [UInt64] = []
      store.probe.steps.forEachRecord { view in
        #expect(view.header.pieceCount == 6)
        found = (0..<6).map {
          view.bytes.loadUnaligned(fromByteOffset: view.header.pieceOffset + $0 * 8, as: UInt64.self)
        }
      }
      try store.removeAll()
      return found
    }
    try store.put(bytes, for: "u")
    let expected = try checksums()
    for length in [bytes.count, nil] {
      try write(bytes, "u", length: length, pieces: [100_000, 262_144, 7])
      #expect(try checksums() == expected)
    }
  }

  @Test func bodyKeepsMetadataExpiryAndLayout() throws {
    let layout = BitmapLayout(width: 200, height: 100, format: .rgba8888)!
    let options = PutOptions(
      metadata: [1, 2], expirationMilliseconds: world.clock.wallMilliseconds() + 1000, layout: layout,
      isPageAligned: true)
    let bytes = noise(layout.byteCount)
    let writer = try store.writer(for: CacheKey("u"), options: options)
    #expect(writer.length == layout.byteCount)
    try writer.write(bytes)
    try writer.commit()
    guard case .found(let info) = store.lookup("u") else { throw StoreError.closed }
    #expect(info.layout == layout && info.metadata == [1, 2] && info.encoding == .bitmap)
    #expect(store.get("u") { span in span.withUnsafeBytes { UInt(bitPattern: $0.baseAddress!) % 4096 } } == 0)
    world.clock.advance(2000)
    #expect(store["u"] == nil)
  }

  @Test func bodyWriterRefusesArgumentsThatAPutRefuses() throws {
    let layout = BitmapLayout(width: 10, height: 10, format: .gray8)!
    for (length, options) in [(-1, PutOptions()), (99, PutOptions(layout: layout))] {
      guard
        case .invalidArgument = storeError({
          _ = try store.writer(for: CacheKey("u"), length: length, options: options)
        })
      else { throw StoreError.closed }
    }
    #expect(
      storeError { _ = try store.writer(for: "u", length: 2 << 30) }
        == .tooLarge(byteCount: 2 << 30, limit: 1 << 30))
    guard case .invalidArgument = storeError({ _ = try store.writer(for: String(repeating: "u", count: 70_000)) })
    else {
      throw StoreError.closed
    }
    guard case .tooLarge(20 << 20, _) = storeError({ try store.writer(for: "u", length: 20 << 20).write([1]) }) else {
      throw StoreError.closed
    }
  }

  @Test(arguments: [10, 100_000]) func moreOrFewerBytesThanDeclaredAreErrors(_ length: Int) throws {
    try store.put([7], for: "u")
    let long = try store.writer(for: "u", length: length)
    try long.write(noise(length))
    let error = storeError { try long.write([1]) }
    guard case .invalidArgument = error else { throw StoreError.closed }
    #expect(storeError { try long.commit() } == error, "a writer that failed has ended")
    let short = try store.writer(for: "u", length: length)
    try short.write(noise(length - 1))
    guard case .invalidArgument = storeError({ try short.commit() }) else { throw StoreError.closed }
    guard case .invalidArgument = storeError({ try short.write([1]) }) else { throw StoreError.closed }
    #expect(store["u"] == [7])
    expectNothingHeld()
  }

  private func expectNothingHeld(_ location: SourceLocation = #_sourceLocation) {
    #expect(store.probe.unfinishedBodies.isEmpty, sourceLocation: location)
    for case let segment? in store.probe.segments {
      let fill = store.probe.account(segment).fill
      #expect(fill.pendingCount == 0 && fill.exemptCount == 0 && fill.unfilled.isEmpty, sourceLocation: location)
    }
  }

  @Test func lastCommitOfTwoWritersWins() throws {
    for length in [nil, 100_000] {
      let first = try store.writer(for: "u", length: length)
      let second = try store.writer(for: "u", length: length)
      try first.write(noise(100_000, 1))
      try second.write(noise(100_000, 2))
      try second.commit()
      #expect(store["u"] == noise(100_000, 2))
      try first.commit()
      #expect(store["u"] == noise(100_000, 1))
      guard case .invalidArgument = storeError({ try first.commit() }) else { throw StoreError.closed }
      first.abandon()
      #expect(store["u"] == noise(100_000, 1))
    }
    expectNothingHeld()
  }

  @Test func releasedWriterLeavesNoTrace() throws {
    try store.put(noise(500), for: "u")
    world.background.run()
    let before = store.statistics().bytesOnDisk
    for length in [nil, 90_000, 900_000] {
      try store.writer(for: "u", length: length).write(noise(90_000))
    }
    expectNothingHeld()
    world.background.run()
    world.background.run()
    #expect(store["u"] == noise(500) && store.count == 1)
    #expect(store.statistics().bytesOnDisk <= before + Self.segment, "but for a segment made ready")
  }

  @Test func hundredStalledWritersKeepTheirCapAndBlockNoThread() throws {
    var stalled: [BodyWriter] = []
    var refused = 0
    for number in 0..<100 {
      let writer = try store.writer(for: "s\(number)", length: 100_000)
      do {
        try writer.write(noise(50_000, UInt64(number)))
        stalled.append(writer)
      } catch {
        // Only this thread could end the others, so it fails at once.
        #expect(error == .noSpace)
        refused += 1
      }
      try store.put(noise(9000, UInt64(1000 + number)), for: "u\(number)")
    }
    #expect(world.clock.wallMilliseconds() == 1_700_000_000_000, "nobody waited")
    let held = store.probe.heldByteCount
    #expect(refused > 50 && stalled.count > 5)
    #expect(held <= 2 << 20)
    for number in 0..<100 { #expect(store["u\(number)"] == noise(9000, UInt64(1000 + number))) }
    // Emptying the store frees everything except their reservations.
    try store.removeAll()
    world.background.run()
    world.background.run()
    #expect(store.statistics().segments.reduce(0) { $0 + $1.byteCount } <= held + 4 * Self.segment)
    for writer in stalled { #expect(storeError { try writer.write([1]) } == .aborted) }
    expectNothingHeld()
    try store.writer(for: "again", length: 100_000).write([1])
  }

  @Test func oneBodyIsAlwaysAdmittedHoweverLarge() throws {
    let bytes = noise(5 << 20)
    try write(bytes, "known", length: bytes.count, pieces: [1 << 20])
    #expect(store["known"] == bytes)
    try store.remove("known")
    world.background.run()
    try write(bytes, "unknown", length: nil, pieces: [1 << 20])
    #expect(store["unknown"] == bytes)
  }

  @Test func aBodyOfUnknownLengthGrowsWithinTheBudget() throws {
    let budget = 2 << 20
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store", StoreOptions(byteBudget: budget))
    for number in 0..<40 { try store.put(noise(60_000, UInt64(number)), for: "\(number)") }
    let writer = try store.writer(for: "body", length: nil)
    for _ in 0..<3 {
      try writer.write(noise(50_000))
      #expect(store.statistics().bytesOnDisk <= budget)
    }
    try writer.commit()
    #expect(store.statistics().evictedCount > 0 && store.bytes("body")?.count == 150_000)
    try store.close()
  }

  @Test func writerWaitsALimitedTimeForAnotherThread() throws {
    let holder = Guarded<BodyWriter?>(nil)
    let done = DispatchSemaphore(value: 0)
    let store = store
    Thread.detachNewThread {
      // The holder has the only other reference, so it is released with the holder.
      holder.withLock { writer in
        writer = try? store.writer(for: "big", length: 3 << 20)
        try? writer?.write([1])
      }
      done.signal()
    }
    done.wait()
    let before = world.clock.wallMilliseconds()
    #expect(storeError { try store.writer(for: "u", length: 100_000).write([1]) } == .noSpace)
    #expect(world.clock.wallMilliseconds() - before >= Int64(RoomQueue.longestWaitMilliseconds))
    try store.put(noise(90_000), for: "ordinary puts do not wait")
    holder.withLock { $0 = nil }
    try write(noise(100_000), "u", length: 100_000, pieces: [9999])
  }

  @Test func closingEndsWritersAndDropsTheirBodies() throws {
    let writers = try [nil, 100_000, 900_000, 10].map { try store.writer(for: "u", length: $0) }
    for writer in writers { try writer.write(noise(min(writer.length ?? 90_000, 90_000))) }
    try store.close()
    for writer in writers {
      #expect(storeError { try writer.write([1]) } == .closed)
      #expect(storeError { try writer.commit() } == .closed)
    }
    let again = try world.open("store", StoreOptions())
    #expect(again.statistics().lastOpen.kind == .clean && again.statistics().lastOpen.notes == [])
    #expect(again.count == 0 && again.probe.orphans == [])
    try again.put(noise(100_000), for: "u")
    try again.close()
  }

  /// A pool that other tests keep busy may not run the others within the time that one waits.
  private static func again(_ body: () async throws -> Void) async throws {
    while true {
      do {
        return try await body()
      } catch StoreError.noSpace {
        try await Task.sleep(nanoseconds: 10_000_000)
      }
    }
  }

  @Test(.timeLimit(.minutes(60))) func waitingAsynchronousWritersLeaveThePoolToTheOthers() async throws {
    let folder = try TemporaryFolder()
    let store = try CacheStore.open(
      at: folder.store, options: StoreOptions(byteBudget: 4 << 20, segmentByteCount: Self.segment))
    // Twelve bodies, with room for five at a time, on a pool of four threads.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<12 {
        group.addTask {
          try await Self.again {
            let writer = try store.asynchronous.writer(
              for: CacheKey("u\(number)"), length: number % 2 == 0 ? 90_000 : nil)
            let bytes = noise(90_000, UInt64(number))
            for start in stride(from: 0, to: bytes.count, by: 30_000) {
              try await writer.write(Array(bytes[start..<start + 30_000]))
              try await Task.sleep(nanoseconds: 1_000_000)
            }
            try await writer.commit()
          }
          try await Self.again {
            let layout = BitmapLayout.drawable(width: 100, height: 100, format: .rgba8888)!
            try await store.asynchronous.draw(CacheKey("b\(number)"), layout: layout) { memory, _ in
              memory.withUnsafeMutableBytes { $0[0] = UInt8(number) }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    for number in 0..<12 {
      #expect(store["u\(number)"] == noise(90_000, UInt64(number)))
      #expect(store["b\(number)"]?.first == UInt8(number))
    }
    try store.close()
  }

  @Test func writersDrawingsAndRemoversOnManyThreadsSeeWholeValues() throws {
    let folder = try TemporaryFolder()
    let store = try CacheStore.open(
      at: folder.store, options: StoreOptions(byteBudget: 32 << 20, segmentByteCount: Self.segment))
    let wrong = Guarded<[String]>([])
    let done = DispatchSemaphore(value: 0)
    let end = Date(timeIntervalSinceNow: 2)
    for thread in 0..<4 {
      Thread.detachNewThread {
        var random = SeededRandom(seed: UInt64(thread))
        while Date() < end {
          let key = random.below(12)
          let bytes = noise([900, 70_000, 100_000, 300_000][key % 4], UInt64(key * 10 + random.below(3)))
          do {
            switch random.below(12) {
            case 0: try store.removeAll()
            case 1: try store.checkpoint()
            case 2...4:
              let layout = BitmapLayout(width: bytes.count / 100, height: 100, format: .gray8)!
              try store.draw(CacheKey("b\(key)"), layout: layout) { memory, _ in
                memory.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
              }
            default:
              let writer = try store.writer(for: "u\(key)", length: random.chance(50) ? bytes.count : nil)
              for start in stride(from: 0, to: bytes.count, by: 50_000) {
                try writer.write(Array(bytes[start..<min(start + 50_000, bytes.count)]))
              }
              if random.chance(80) { try writer.commit() }
            }
          } catch StoreError.aborted, StoreError.noSpace {
          } catch {
            wrong.withLock { $0.append("\(error)") }
          }
          for name in ["u", "b"] {
            guard let got = store["\(name)\(key)"] else { continue }
            let isOne = (0..<3).contains { got == noise(got.count, UInt64(key * 10 + $0)) }
            if !isOne { wrong.withLock { $0.append("\(name)\(key) has \(got.count) wrong bytes") } }
          }
        }
        done.signal()
      }
    }
    for _ in 0..<4 { done.wait() }
    #expect(wrong.withLock { $0 } == [])
    #expect(try store.verify().isOK)
    #expect(store.probe.unfinishedBodies.isEmpty)
    try store.close()
    let again = try CacheStore.open(at: folder.store, options: StoreOptions())
    #expect(again.statistics().lastOpen.kind == .clean)
    #expect(try again.verify().isOK)
    // Upkeep makes and removes files, so it must not run between the two measurements.
    try again.probe.withUpkeepLock {
      // The statistics count unlinked files that upkeep still reads, and `du` does not. `du` sees blocks that the file
      // system adds at writeback before the statistics do.
      let difference =
        try again.statistics().bytesOnDisk - again.probe.unlinkedByteCount - Files.diskUsage(folder.store)
      #expect(abs(difference) <= Ledger.headroom)
    }
    try again.close()
  }
}
