import Foundation
import Testing

@testable import Vitrine

@Suite struct OpeningTests {
  let folder: TemporaryFolder
  let world = TestWorld()

  init() throws { folder = try TemporaryFolder() }

  @Test func closedStoreRefusesChangesAndReturnsNothing() throws {
    let store = try world.open(folder.store)
    try store.put([1], for: "a")
    try store.close()
    try store.close()
    #expect(storeError { try store.put([1], for: "b") } == .closed)
    #expect(storeError { try store.remove("a") } == .closed)
    #expect(storeError { try store.removeAll() } == .closed)
    #expect(storeError { try store.removeAllStyles("a") } == .closed)
    #expect(storeError { try store.setMetadata([], for: CacheKey("a")) } == .closed)
    #expect(storeError { try store.flush() } == .closed)
    #expect(storeError { try store.checkpoint() } == .closed)
    #expect(storeError { _ = try store.verify() } == .closed)
    #expect(storeError { _ = try store.keysInOrder() } == .closed)
    #expect(storeError { _ = try store.entries(digest: Digest(high: 0, low: 0)) } == .closed)
    #expect(store["a"] == nil)
    #expect(store.lookup("a") == .closed)
    #expect(!store.contains("a"))
  }

  @Test func aReadOnlyStoreReadsAndRefusesChanges() throws {
    let writer = try world.open(folder.store)
    try writer.put([1, 2], for: "a")
    try writer.close()
    let store = try world.openReadOnly(folder.store)
    #expect(store["a"] == [1, 2])
    #expect(storeError { try store.put([1], for: "b") } == .readOnly)
    #expect(storeError { try store.write(WriteBatch()) } == .readOnly)
    #expect(storeError { try store.remove("a") } == .readOnly)
    #expect(storeError { try store.removeAll() } == .readOnly)
    #expect(storeError { try store.setExpiration(nil, for: CacheKey("a")) } == .readOnly)
    #expect(storeError { try store.checkpoint() } == .readOnly)
    #expect(storeError { try store.flush() } == .readOnly)
    try store.close()
    #expect(storeError { try store.put([1], for: "b") } == .closed)
  }

  @Test func oneWriterAtATimeAndAnyNumberOfReaders() throws {
    let writer = try world.open(folder.store)
    let mine = StoreError.locked(processID: getpid())
    #expect(storeError { _ = try world.open(folder.store) } == mine)
    let before = world.clock.wallMilliseconds()
    let waiting = StoreOptions(byteBudget: 4 << 20, waitForLockMilliseconds: 130)
    #expect(storeError { _ = try world.open(folder.store, waiting) } == mine)
    #expect(world.clock.wallMilliseconds() - before == 130)
    let readers = try (0..<3).map { _ in try world.openReadOnly(folder.store) }
    for reader in readers { try reader.close() }
    try writer.put([1], for: "a")
    try writer.close()
    try world.open(folder.store).close()
  }

  @Test func aWriterWaitsUntilTheOtherOneCloses() throws {
    let first = try CacheStore.open(at: folder.store, options: StoreOptions(byteBudget: 4 << 20))
    let closing = Thread {
      Thread.sleep(forTimeInterval: 0.15)
      try? first.close()
    }
    closing.start()
    let second = try CacheStore.open(
      at: folder.store, options: StoreOptions(byteBudget: 4 << 20, waitForLockMilliseconds: 20_000))
    try second.put([1], for: "a")
    try second.close()
  }

  @Test func folderWithoutAStoreIsLeftAlone() throws {
    try FileManager.default.createDirectory(atPath: folder.store, withIntermediateDirectories: true)
    try Files.write([1, 2, 3], to: folder.store + "/holiday.jpg")
    for options in [StoreOptions(), StoreOptions(isReadOnly: true), StoreOptions(whenUnusable: .recreate)] {
      guard case .notAStore? = storeError({ _ = try world.open(folder.store, options) }) else {
        Issue.record("not refused")
        return
      }
    }
    #expect(try Files.below(folder.store) == ["holiday.jpg"])
    try Files.write([1], to: folder.path + "/file")
    #expect(
      storeError { _ = try world.open(folder.path + "/file") }
        == .notAStore(path: folder.path + "/file", reason: "it is not a folder"))
  }

  @Test func missingStoreIsMadeOnlyOnRequest() throws {
    let missing = StoreError.noSuchStore(path: folder.store)
    #expect(storeError { _ = try world.openReadOnly(folder.store) } == missing)
    #expect(storeError { _ = try world.open(folder.store, StoreOptions(createsIfMissing: false)) } == missing)
    #expect(!Files.exists(folder.store))
    let deep = folder.path + "/no/parents"
    // A missing parent folder is not made, and the error names it.
    guard case .system(let error)? = storeError({ _ = try world.open(deep) }) else {
      Issue.record("not refused")
      return
    }
    #expect(error.code == SystemError.missing && error.path == folder.path + "/no")
    #expect(storeError { _ = try world.openReadOnly(deep) } == .noSuchStore(path: deep))
    #expect(!Files.exists(folder.path + "/no"))
    try world.open(folder.store).close()
    try world.open(folder.store, StoreOptions(createsIfMissing: false)).close()
  }

  @Test func aLaterFormatIsNeverTouched() throws {
    try world.open(folder.store).close()
    var store = try Files.read(folder.store + "/STORE")
    guard case .valid(var identity) = store.withUnsafeBytes({ StoreIdentity.read($0) }) else {
      Issue.record("STORE is not whole")
      return
    }
    identity.version = 2
    store.replaceSubrange(0..<512, with: identity.encoded())
    store.replaceSubrange(4096..<4608, with: identity.encoded())
    try Files.write(store, to: folder.store + "/STORE")
    let names = try Files.below(folder.store)
    let before = try names.map { try Files.read("\(folder.store)/\($0)") }
    for options in [StoreOptions(), StoreOptions(isReadOnly: true), StoreOptions(whenUnusable: .recreate)] {
      let error = storeError { _ = try world.open(folder.store, options) }
      #expect(error == .unsupportedFormat(found: 2, supported: CacheFormat.version))
    }
    #expect(try Files.below(folder.store) == names)
    #expect(try names.map { try Files.read("\(folder.store)/\($0)") } == before)
  }

  @Test(arguments: ["wal", "checkpoints", "segments"], [true, false])
  func aFileOrALinkInAFoldersPlaceIsRefused(_ name: String, _ isLink: Bool) throws {
    try world.open(folder.store).close()
    let place = "\(folder.store)/\(name)"
    let elsewhere = folder.path + "/elsewhere"
    try FileManager.default.moveItem(atPath: place, toPath: elsewhere)
    if isLink {
      try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: elsewhere)
    } else {
      try Files.write([1], to: place)
    }
    let before = try Files.below(elsewhere)
    for isReadOnly in [true, false] {
      guard
        case .notAStore? = storeError({
          _ = try world.open(folder.store, StoreOptions(isReadOnly: isReadOnly))
        })
      else {
        Issue.record("not refused")
        continue
      }
    }
    #expect(try Files.below(elsewhere) == before)
  }

  @Test(arguments: ["STORE", "LOCK", "wal/0.wal", "checkpoints/0.checkpoint"])
  func aLinkInAFilesPlaceIsNotFollowed(_ name: String) throws {
    let made = try world.open(folder.store)
    try made.put([1], for: "a")
    try made.close()
    let elsewhere = folder.path + "/elsewhere"
    try FileManager.default.moveItem(atPath: "\(folder.store)/\(name)", toPath: elsewhere)
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder.store)/\(name)", withDestinationPath: elsewhere)
    let before = try Files.read(elsewhere)
    if let store = try? world.open(folder.store) {
      #expect(store["a"] == [1] || store["a"] == nil)
      try? store.put([2], for: "b")
      try? store.close()
    }
    #expect(try Files.read(elsewhere) == before)
  }

  @Test func storeWithoutIdentityIsRecreatedOnlyOnRequest() throws {
    let made = try world.open(folder.store)
    try made.put([1], for: "a")
    try made.close()
    try Files.write([UInt8](repeating: 7, count: 8192), to: folder.store + "/STORE")
    for index in 0..<2 { try Files.remove("\(folder.store)/checkpoints/\(index).checkpoint") }
    let others = ["wal/notes.wal", "checkpoints/2.checkpoint", "segments/a.segment"].map { "\(folder.store)/\($0)" }
    for other in others { try Files.write([7], to: other) }
    guard case .unreadable? = storeError({ _ = try world.open(folder.store) }) else {
      Issue.record("not refused")
      return
    }
    let store = try world.open(folder.store, StoreOptions(byteBudget: 2 << 20, whenUnusable: .recreate))
    #expect(store.count == 0 && store.byteBudget == 2 << 20)
    try store.put([2], for: "b")
    #expect(store["b"] == [2])
    // The files of others stay.
    for other in others { #expect(try Files.read(other) == [7]) }
    try store.close()
  }

  /// `isReplaced`: another store then has the folder's name.
  @Test(arguments: [false, true]) func aRemovedFolderEndsSyncedChanges(_ isReplaced: Bool) throws {
    let store = try world.open(folder.store)
    try store.put([1], for: "a")
    try FileManager.default.moveItem(atPath: folder.store, toPath: folder.path + "/gone")
    if isReplaced { try world.open(folder.store).close() }
    #expect(
      storeError { try store.put([2], for: "b", options: PutOptions(durability: .synced)) } == .storeRemoved)
    #expect(storeError { try store.put([2], for: "c") } == .storeRemoved)
    #expect(store["a"] == [1])
    try? store.close()
  }

  /// A file that cannot be made because the folder is gone is not a failure of the disk.
  @Test func putIntoARemovedFolderReportsIt() throws {
    let store = try world.open(folder.store)
    try store.put([1], for: "a")
    try Files.remove(folder.store)
    var number: UInt64 = 0
    var error: StoreError?
    while error == nil, number < 200 {
      error = storeError { try store.put(noise(20_000, number), for: "\(number)") }
      number += 1
    }
    #expect(error == .storeRemoved)
    try? store.close()
  }

  /// An interrupted creation leaves only files of a store; an empty lock may belong to another program.
  @Test(arguments: [[UInt8](), [UInt8](repeating: 0, count: 64), Array("their lock".utf8)])
  func foreignFolderWithALockIsNoStore(_ content: [UInt8]) throws {
    let isBlank = content.allSatisfy { $0 == 0 }
    for others in [[], ["a photo.jpg"]] {
      let path = "\(folder.path)/\(others.count)"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      try Files.write(content, to: path + "/LOCK")
      for name in others { try Files.write([1, 2, 3], to: "\(path)/\(name)") }
      let error = storeError { try world.open(path).close() }
      if others.isEmpty && isBlank {
        #expect(error == nil)
      } else {
        #expect({ if case .notAStore? = error { true } else { false } }(), "\(String(describing: error))")
        #expect(try Files.read(path + "/LOCK") == content && Set(Files.below(path)) == Set(others + ["LOCK"]))
      }
    }
  }

  /// In a folder with another `LOCK` another writer may be at work.
  @Test func upkeepWritesNoCheckpointBesideAnotherWriter() throws {
    let store = try world.open(folder.store)
    // A round that makes `USES` checks the names before it. Later rounds have this file open.
    world.background.run()
    #expect(Files.exists(folder.store + "/USES"))
    try store.put([1], for: "a")
    let paths = (0..<2).map { "\(folder.store)/checkpoints/\($0).checkpoint" }
    let before = try paths.map { try Files.read($0) }
    let lock = folder.store + "/LOCK"
    try FileManager.default.moveItem(atPath: lock, toPath: folder.path + "/old lock")
    try Files.write(try Files.read(folder.path + "/old lock"), to: lock)
    store.probe.requestCheckpoint()
    world.background.run()
    #expect(try paths.map { try Files.read($0) } == before)
    try? store.close()
  }

  /// An opening that locks the new one is a second writer.
  @Test func anotherLockFileInItsPlaceEndsSyncedChanges() throws {
    let store = try world.open(folder.store)
    try store.put([1], for: "a", options: PutOptions(durability: .synced))
    let lock = folder.store + "/LOCK"
    try FileManager.default.moveItem(atPath: lock, toPath: folder.path + "/old lock")
    try Files.write(try Files.read(folder.path + "/old lock"), to: lock)
    #expect(
      storeError { try store.put([2], for: "b", options: PutOptions(durability: .synced)) } == .storeRemoved)
    #expect(store["a"] == [1])
    try? store.close()
  }
}
