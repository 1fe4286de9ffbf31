import Foundation
import Testing

@testable import Vitrine

/// A folder that is deleted, moved or replaced under an open store.
@Suite struct RemovedFolderTests {
  private let lost: LostFolder

  init() throws { lost = try LostFolder() }

  struct Change: Sendable, CustomStringConvertible {
    let description: String
    /// Keys of the older store that no get may return after a refusal.
    let hits: [CacheKey]
    /// The value of the key `k` in a new store afterwards.
    let leaves: [UInt8]?
    let make: @Sendable (CacheStore) async throws -> Void
  }

  private static let k = CacheKey("k")
  private static let kSquare = CacheKey("k", LostFolder.square)
  private static let layout = BitmapLayout(width: 4, height: 4, format: .bgra8888)!
  private static let synced = PutOptions(durability: .synced)

  static let changes: [Change] = [
    Change(description: "put", hits: [k, kSquare], leaves: [2]) { try $0.put([2], for: "k") },
    Change(description: "synced put", hits: [k, kSquare], leaves: [2]) { try $0.put([2], for: "k", options: synced) },
    Change(description: "batch", hits: [k, kSquare, CacheKey("p/1")], leaves: [2]) { store in
      var batch = WriteBatch()
      batch.put([2], for: k)
      batch.remove(CacheKey("p/1"))
      try store.write(batch)
    },
    Change(description: "metadata", hits: [k], leaves: nil) { try $0.setMetadata([7], for: k) },
    Change(description: "expiration", hits: [k], leaves: nil) { try $0.setExpiration(nil, for: k) },
    Change(description: "remove", hits: [k], leaves: nil) { try $0.remove("k") },
    Change(description: "synced remove", hits: [k], leaves: nil) { try $0.remove("k", durability: .synced) },
    Change(description: "remove styles", hits: [k, kSquare], leaves: nil) { try $0.removeAllStyles("k") },
    Change(description: "remove style", hits: [kSquare], leaves: nil) { try $0.removeAll(style: LostFolder.square) },
    Change(description: "remove prefix", hits: [CacheKey("p/1"), CacheKey("p/2")], leaves: nil) {
      try $0.removeAll(prefix: "p/")
    },
    Change(description: "remove where", hits: [CacheKey("p/2")], leaves: nil) {
      _ = try $0.removeAll { $0.key.urlText == "p/2" }
    },
    Change(description: "retain", hits: [k, kSquare, CacheKey("p/1"), CacheKey("p/2")], leaves: nil) {
      try $0.retain(only: ["untouched"])
    },
    Change(description: "remove all", hits: [k, kSquare, CacheKey("p/1"), CacheKey("untouched")], leaves: nil) {
      try $0.removeAll()
    },
    Change(description: "body", hits: [k, kSquare], leaves: [2]) { store in
      let writer = try store.writer(for: "k")
      try writer.write([2])
      try writer.commit()
    },
    Change(description: "drawing", hits: [k, kSquare], leaves: [UInt8](repeating: 3, count: 64)) { store in
      try store.draw(k, layout: layout) { memory, _ in
        _ = memory.withUnsafeMutableBytes { $0.initializeMemory(as: UInt8.self, repeating: 3) }
      }
    },
    Change(description: "budgets", hits: [], leaves: nil) { try $0.setBudgets(entryBudget: 77) },
    Change(description: "compact", hits: [], leaves: nil) { _ = try $0.compact() },
    Change(description: "idle", hits: [], leaves: nil) { try $0.idle() },
    Change(description: "async put", hits: [k, kSquare], leaves: [2]) {
      try await $0.asynchronous.put([2], for: k, options: synced)
    },
    Change(description: "async remove", hits: [k], leaves: nil) { try await $0.asynchronous.remove(k) },
    Change(description: "async remove all", hits: [k, CacheKey("untouched")], leaves: nil) {
      try await $0.asynchronous.removeAll()
    },
    Change(description: "async body", hits: [k, kSquare], leaves: [2]) { store in
      let writer = try store.asynchronous.writer(for: k)
      try await writer.write([2])
      try await writer.commit()
    },
    Change(description: "async drawing", hits: [k, kSquare], leaves: [UInt8](repeating: 3, count: 64)) { store in
      try await store.asynchronous.draw(k, layout: layout) { memory, _ in
        _ = memory.withUnsafeMutableBytes { $0.initializeMemory(as: UInt8.self, repeating: 3) }
      }
    },
  ]

  /// Makes a change that must end with this error; nil means without one.
  private func expect(_ expected: StoreError?, _ store: CacheStore, _ change: Change) async throws {
    var error: StoreError?
    do { try await change.make(store) } catch let thrown as StoreError { error = thrown }
    #expect(error == expected, "\(change)")
  }

  @Test(arguments: LostFolder.Loss.allCases) func aRefusedChangeLeavesNoStaleValue(_ loss: LostFolder.Loss) async throws
  {
    for change in Self.changes {
      let store = try lost.open(recreates: false)
      try lost.strike(loss)
      try await expect(.storeRemoved, store, change)
      for key in change.hits { #expect(store.bytes(key) == nil, "\(change): \(key.urlText) \(key.style)") }
      let others = ["k", "p/1", "p/2", "untouched"].map { CacheKey($0) } + [Self.kSquare]
      for key in others where !change.hits.contains(key) && !change.description.contains("remove all") {
        #expect(store.bytes(key) != nil, "\(change): \(key.urlText) \(key.style)")
      }
      try await expect(.storeRemoved, store, change)
      #expect(storeError { try store.flush() } == .storeRemoved)
      #expect(storeError { try store.checkpoint() } == .storeRemoved)
      #expect(storeError { try store.close() } == .storeRemoved)
      try lost.clear()
    }
  }

  @Test(arguments: LostFolder.Loss.allCases) func aStoreThatRecreatesMakesTheChangeInANewOne(_ loss: LostFolder.Loss)
    async throws
  {
    for change in Self.changes {
      let store = try lost.open(recreates: true)
      let blob = try #require(store.blob("untouched"))
      try lost.strike(loss)
      try await expect(nil, store, change)
      #expect(store.bytes("k") == change.leaves && store.bytes(Self.kSquare) == nil, "\(change)")
      for key in ["p/1", "p/2", "untouched"] { #expect(store.bytes(key) == nil, "\(change)") }
      #expect((store.bytes("of another") == [9]) == (loss.leavesAnother && !change.removesOthers), "\(change)")
      #expect(blob.withBytes { $0.withUnsafeBytes { Array($0) } } == Array("untouched".utf8) && !blob.isDamaged)
      // Once, for the changes lost with the folder.
      #expect(storeError { try store.flush() } == .storeRemoved, "\(change)")
      try store.flush()
      #expect(store.byteBudget == 4 << 20 && store.entryBudget == (change.description == "budgets" ? 77 : 0))
      #expect(try store.verify().isOK)
      try store.put([5], for: "later", options: PutOptions(durability: .synced))
      try store.close()
      let again = try lost.world.open(lost.folder.store)
      #expect(again.bytes("later") == [5], "\(change)")
      try again.close()
      try lost.clear()
    }
  }

  /// A buffered put may rely on a check of the names that was made a moment ago. A removal may not.
  @Test func aRemovalNoticesAtOnceThatItsFolderIsGone() throws {
    let losses = LostFolder.Loss.allCases.filter { ![.segments, .log, .checkpoints].contains($0) }
    let removals: [(CacheStore) throws -> Void] = [
      { try $0.remove("k") }, { try $0.removeAllStyles("k") }, { try $0.removeAll(prefix: "p/") },
      { try $0.removeAll() },
    ]
    for (loss, remove) in losses.flatMap({ loss in removals.map { (loss, $0) } }) {
      let store = try lost.open(recreates: false)
      try lost.strike(loss, passesTime: false)
      #expect(storeError { try remove(store) } == .storeRemoved, "\(loss)")
      try? store.close()
      try lost.clear()
    }
  }

  @Test(arguments: LostFolder.Loss.allCases) func barriersFailOnceAndRecreateTheStore(_ loss: LostFolder.Loss) throws {
    let barriers: [(CacheStore) throws -> Void] = [{ try $0.flush() }, { try $0.checkpoint() }]
    for barrier in barriers {
      let store = try lost.open(recreates: true)
      try lost.strike(loss)
      #expect(storeError { try barrier(store) } == .storeRemoved)
      try barrier(store)
      try store.put([2], for: "k", options: PutOptions(durability: .synced))
      #expect(store.bytes("k") == [2])
      try store.close()
      try lost.clear()
    }
    let store = try lost.open(recreates: true)
    try lost.strike(loss)
    #expect(storeError { try store.close() } == .storeRemoved)
    #expect(store.lookup("k") == .closed)
    #expect(storeError { try store.put([1], for: "k") } == .closed)
  }

  @Test(arguments: [false, true]) func aBodyThatBeganBeforeEndsWithoutATrace(_ recreates: Bool) throws {
    for byteCount in [10, 200_000] {
      for length in [nil, byteCount] {
        let store = try lost.open(recreates: recreates)
        let writer = try store.writer(for: "k", length: length)
        try writer.write(noise(byteCount / 2, 1))
        try lost.strike(.deleted)
        let refusal = recreates ? StoreError.aborted : .storeRemoved
        let error = storeError {
          try writer.write(noise(byteCount / 2, 2))
          try writer.commit()
        }
        #expect(error == refusal, "\(byteCount) \(String(describing: length))")
        #expect(storeError { try writer.commit() } == refusal)
        #expect(store.bytes("k") == nil && store.bytes("k", style: LostFolder.square) == nil)
        if recreates {
          let next = try store.writer(for: "k", length: length)
          try next.write(noise(byteCount, 3))
          try next.commit()
          #expect(store.bytes("k") == noise(byteCount, 3))
        }
        try? store.close()
        try lost.clear()
      }
    }
  }

  @Test(arguments: [false, true]) func aDrawingThatBeganBeforeEndsWithoutATrace(_ recreates: Bool) throws {
    let store = try lost.open(recreates: recreates)
    let refusal = recreates ? StoreError.aborted : .storeRemoved
    var calls = 0
    #expect(throws: refusal) {
      try store.draw(Self.k, layout: Self.layout) { _, _ in
        calls += 1
        try lost.strike(.moved)
      }
    }
    #expect(calls == 1 && store.bytes("k") == nil)
    try? store.close()
  }
}

extension RemovedFolderTests.Change {
  /// Whether it removes entries that another opening has stored in the same folder.
  var removesOthers: Bool { description.contains("remove all") || description == "retain" }
}
