import Foundation
import Testing

@testable import Vitrine

@Suite struct NamedStoreTests {
  private func uniqueName() -> String { "vitrine-test-\(UUID().uuidString)" }

  @Test func aNameIsOneComponent() {
    for name in ["", ".", "..", "a/b", "/a", "a\0b"] {
      #expect(throws: StoreError.self) { try CacheStore.path(ofStoreNamed: name) }
      #expect(throws: StoreError.self) { try CacheStore.open(named: name) }
    }
  }

  @Test func thePathEndsWithTheName() throws {
    let path = try CacheStore.path(ofStoreNamed: "com.example.pictures")
    #expect(path.hasPrefix("/") && path.hasSuffix("/com.example.pictures"))
    if let folder = ProcessInfo.processInfo.environment["XDG_CACHE_HOME"], folder.hasPrefix("/") {
      #expect(path == "\(folder)/com.example.pictures")
    }
  }

  @Test func aSecondOpeningReturnsTheSameStore() throws {
    let name = uniqueName()
    let path = try CacheStore.path(ofStoreNamed: name)
    defer { try? Files.remove(path) }
    let store = try CacheStore.open(named: name, options: StoreOptions(byteBudget: 8 << 20))
    try store.put([1], for: "a")
    let second = try CacheStore.open(named: name)
    #expect(second === store && second["a"] == [1])
    try store.close()
    let third = try CacheStore.open(named: name)
    #expect(third !== store && third["a"] == [1])
    let reader = try CacheStore.open(named: name, options: StoreOptions(isReadOnly: true))
    #expect(reader !== third && reader.isReadOnly && reader["a"] == [1])
    try reader.close()
    try third.close()
  }

  @Test func aStoreThatWasReleasedIsOpenedAnew() throws {
    let name = uniqueName()
    let path = try CacheStore.path(ofStoreNamed: name)
    defer { try? Files.remove(path) }
    for turn in 0..<3 {
      let store = try CacheStore.open(named: name, options: StoreOptions(byteBudget: 8 << 20))
      #expect(store["a"] == (turn == 0 ? nil : [UInt8(turn - 1)]))
      try store.put([UInt8(turn)], for: "a")
    }
  }

  @Test func manyThreadsOpenOneStore() async throws {
    let name = uniqueName()
    let path = try CacheStore.path(ofStoreNamed: name)
    defer { try? Files.remove(path) }
    let stores = await withTaskGroup(of: CacheStore?.self) { group in
      for _ in 0..<8 { group.addTask { try? CacheStore.open(named: name, options: StoreOptions(byteBudget: 8 << 20)) } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    let first = try #require(stores[0])
    #expect(stores.allSatisfy { $0 === first })
    try first.close()
  }

  @Test func aDeletedFolderIsMadeAnew() throws {
    let name = uniqueName()
    let path = try CacheStore.path(ofStoreNamed: name)
    defer { try? Files.remove(path) }
    let store = try CacheStore.open(named: name, options: StoreOptions(byteBudget: 8 << 20))
    try Files.remove(path)
    try store.put([1], for: "a", options: PutOptions(durability: .synced))
    #expect(store["a"] == [1] && Files.exists(path))
    #expect(throws: StoreError.storeRemoved) { try store.close() }
  }

  @Test func aLockedStoreIsOpenedReadOnlyOnRequest() throws {
    let folder = try TemporaryFolder()
    let world = TestWorld()
    let writer = try world.open(folder.store)
    try writer.put([1], for: "a")
    #expect(throws: StoreError.self) { try world.open(folder.store) }
    let reader = try world.open(folder.store, StoreOptions(whenLocked: .openReadOnly))
    #expect(reader.isReadOnly && reader["a"] == [1] && !writer.isReadOnly)
    #expect(throws: StoreError.readOnly) { try reader.put([2], for: "a") }
    try writer.put([2], for: "b")
    #expect(try reader.refresh())
    #expect(reader["b"] == [2])
    try reader.close()
    try writer.close()
    let next = try world.open(folder.store, StoreOptions(whenLocked: .openReadOnly))
    #expect(!next.isReadOnly)
    try next.close()
  }
}
