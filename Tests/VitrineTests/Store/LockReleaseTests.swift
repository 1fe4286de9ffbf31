import Foundation
import Testing

@testable import Vitrine

/// A store that ends releases its lock at once, whatever else refers to the locked file.
@Suite struct LockReleaseTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Copies of the descriptors that lead to the file, as a new process has them between `fork` and `exec`.
  private func copyDescriptors(of path: String) throws -> [Int32] {
    var named = stat()
    #expect(lstat(path, &named) == 0)
    let descriptors = (Int32(0)..<4096).filter { descriptor in
      var status = stat()
      return fstat(descriptor, &status) == 0 && status.st_ino == named.st_ino && status.st_dev == named.st_dev
    }
    return descriptors.map { fcntl($0, F_DUPFD_CLOEXEC, 0) }
  }

  @Test func aCopyOfTheDescriptorDoesNotKeepTheLock() throws {
    let store = try TestWorld().open(folder.store)
    let copies = try copyDescriptors(of: folder.store + "/LOCK")
    defer { for copy in copies { close(copy) } }
    #expect(copies.count == 1)
    #expect(storeError { _ = try TestWorld().open(folder.store) } == .locked(processID: getpid()))
    try store.put([1], for: "k")
    try store.close()
    let next = try TestWorld().open(folder.store)
    #expect(next["k"] == [1])
    try next.close()
  }

  @Test func aStoreWithoutACloseReleasesItsLockWithItsLastReference() throws {
    var store: CacheStore? = try TestWorld().open(folder.store)
    let copies = try copyDescriptors(of: folder.store + "/LOCK")
    defer { for copy in copies { close(copy) } }
    try store?.put([1], for: "k", options: PutOptions(durability: .synced))
    store = nil
    let next = try TestWorld().open(folder.store)
    #expect(next["k"] == [1])
    try next.close()
  }

  /// One thread finds that a part of the store is gone and recreates the store, while another checks the name of
  /// `LOCK`. The other thread must neither keep the lock nor make the first one rely on its unfinished check.
  @Test func aCheckOfTheNamesKeepsNeitherTheLockNorOtherChecks() throws {
    let files = FilesWithHeldChecks()
    let world = TestWorld(fileSystem: files)
    let store = try world.open(folder.store, StoreOptions(byteBudget: 4 << 20, recreatesIfRemoved: true))
    try store.put([1], for: "k")
    try Files.remove(folder.store + "/checkpoints")
    world.clock.advance(Int64(WriteGate.nameCheckMilliseconds))
    let isFirst = Guarded(true)
    let error = Guarded<StoreError?>(nil)
    files.beforeCheck.withLock { handler in
      handler = {
        let turns = isFirst.withLock { isFirst in
          defer { isFirst = false }
          return isFirst
        }
        guard turns else { return }
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          let thrown = storeError { try store.put([2], for: "k") }
          error.withLock { $0 = thrown }
          done.signal()
        }
        done.wait()
      }
    }
    #expect(storeError { try store.put([3], for: "other") } == nil)
    #expect(error.withLock { $0 } == nil && !isFirst.withLock { $0 })
    #expect(store["k"] == [2] && store["other"] == [3])
    try? store.flush()
    try store.close()
    let next = try TestWorld().open(folder.store)
    #expect(next["k"] == [2] && next["other"] == [3])
    try next.close()
  }
}

/// A file system that notifies a test before each check of a file's name.
private final class FilesWithHeldChecks: FileSystem {
  private let base = POSIXFileSystem()
  let beforeCheck = Guarded<(@Sendable () -> Void)?>(nil)

  func openDirectory(_ path: String, create: Bool, from site: CallSite) throws(SystemError) -> any Directory {
    FolderWithHeldChecks(try base.openDirectory(path, create: create, from: site), self)
  }
  func syncName(ofFolder path: String, from site: CallSite) throws(SystemError) {
    try base.syncName(ofFolder: path, from: site)
  }
}

private final class FolderWithHeldChecks: Directory {
  private let base: any Directory
  private let files: FilesWithHeldChecks

  init(_ base: any Directory, _ files: FilesWithHeldChecks) {
    self.base = base
    self.files = files
  }

  var path: String { base.path }
  var promisesAllocation: Bool { base.promisesAllocation }

  func openDirectory(_ name: String, create: Bool, from site: CallSite) throws(SystemError) -> any Directory {
    FolderWithHeldChecks(try base.openDirectory(name, create: create, from: site), files)
  }
  func openFile(_ name: String, _ access: FileAccess, from site: CallSite) throws(SystemError) -> any File {
    try base.openFile(name, access, from: site)
  }
  func entries() throws(SystemError) -> [DirectoryEntry] { try base.entries() }
  func remove(_ name: String, from site: CallSite) throws(SystemError) { try base.remove(name, from: site) }
  func rename(_ name: String, to newName: String, from site: CallSite) throws(SystemError) {
    try base.rename(name, to: newName, from: site)
  }
  func sync(from site: CallSite) throws(SystemError) { try base.sync(from: site) }
  func status() throws(SystemError) -> FileStatus { try base.status() }
  func availableByteCount() throws(SystemError) -> Int { try base.availableByteCount() }
  func isStillNamed() -> Bool { base.isStillNamed() }
  func holds(_ file: any File, _ name: String) -> Bool {
    files.beforeCheck.withLock { $0 }?()
    return base.holds(file, name)
  }
}
