import Foundation
import Testing

@testable import Vitrine

/// A folder of the disk has its name until another folder gets that name.
@Suite struct FolderIdentityTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func move(_ path: String, to target: String) throws {
    try FileManager.default.moveItem(atPath: path, toPath: target)
  }

  @Test func aFolderThatAnotherOneReplacedHasLostItsName() throws {
    let path = folder.store
    let held = try POSIXFileSystem().openDirectory(path, create: true)
    #expect(held.isStillNamed())
    try move(path, to: path + ".old")
    #expect(!held.isStillNamed())
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    #expect(!held.isStillNamed())
    try FileManager.default.removeItem(atPath: path)
    try move(path + ".old", to: path)
    #expect(held.isStillNamed())
  }

  /// The changes of a store that was moved away go to the store that has its name now.
  @Test func aPutIntoAReplacedStoreIsNotLost() throws {
    let path = folder.store
    let store = try CacheStore.open(at: path, options: StoreOptions(byteBudget: 4 << 20))
    try store.put([1], for: "a", options: PutOptions(durability: .synced))
    try move(path, to: path + ".old")
    _ = try CacheStore.open(at: path, options: StoreOptions(byteBudget: 4 << 20)).close()
    do throws(StoreError) {
      try store.put([2], for: "b", options: PutOptions(durability: .synced))
    } catch {
      #expect(error == .storeRemoved)
      return
    }
    let other = try CacheStore.open(at: path, options: StoreOptions(whenLocked: .openReadOnly))
    #expect(other.bytes("b") == [2] && other.bytes("a") == nil)
  }
}
