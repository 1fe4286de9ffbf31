import Foundation
import Testing

@testable import Vitrine

/// Openings that make, lock or remove `LOCK` at the same time.
@Suite struct LockRaceTests {
  let folder: TemporaryFolder
  let watch = WatchedFileSystem()
  private let calls = Guarded<[WatchedFileSystem.Call]>([])

  init() throws { folder = try TemporaryFolder() }

  private var lock: String { folder.store + "/LOCK" }

  /// Runs `body` before the call of that kind and number on `LOCK`.
  private func before(_ call: WatchedFileSystem.Call, number: Int = 1, _ body: @escaping @Sendable () -> Void) {
    let left = Guarded(number)
    watch.beforeCall.withLock { handler in
      handler = { name, made in
        guard name == "LOCK", made == call,
          left.withLock({
            $0 -= 1
            return $0 == 0
          })
        else { return }
        body()
      }
    }
  }

  private func open(_ options: StoreOptions = StoreOptions(byteBudget: 4 << 20)) throws -> CacheStore {
    try TestWorld(fileSystem: watch, seed: 3).open(folder.store, options)
  }

  @Test func lockMadeByAnotherOpeningIsTaken() throws {
    let path = folder.store
    before(.open(.create)) {
      let other = try? TestWorld().open(path)
      try? other?.put([1], for: "a")
      try? other?.close()
    }
    let store = try open()
    #expect(store["a"] == [1])
    try store.close()
  }

  @Test func lockHeldByTheOpeningThatMadeItIsWaitedFor() throws {
    let path = folder.store
    let other = Guarded<CacheStore?>(nil)
    before(.open(.create)) { other.withLock { $0 = try? TestWorld().open(path) } }
    #expect(storeError { _ = try open() } == .locked(processID: getpid()))
    let holder = try #require(other.withLock { $0 })
    before(.lock, number: 2) { try? holder.close() }
    let store = try open(StoreOptions(waitForLockMilliseconds: 1000))
    try store.close()
  }

  @Test func lockRemovedBeforeItIsTakenIsMadeAgain() throws {
    try TestWorld().open(folder.store).close()
    let lock = lock
    before(.lock) { unlink(lock) }
    let store = try open()
    try store.put([1], for: "a", options: PutOptions(durability: .synced))
    #expect(storeError { _ = try TestWorld().open(folder.store) } == .locked(processID: getpid()))
    try store.close()
    #expect(Files.exists(lock))
  }

  @Test func endlesslyChangingLockIsAnError() throws {
    try TestWorld().open(folder.store).close()
    let lock = lock
    watch.beforeCall.withLock { handler in
      handler = { name, call in
        guard name == "LOCK" else { return }
        if call == .open(.create) { _ = FileManager.default.createFile(atPath: lock, contents: nil) }
        if call == .open(.readWrite) { unlink(lock) }
      }
    }
    guard case .system(let error)? = storeError({ _ = try open() }) else {
      Issue.record("not refused")
      return
    }
    #expect(error.code == SystemError.exists)
  }
}
