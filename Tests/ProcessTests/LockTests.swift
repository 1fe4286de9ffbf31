import FolderRemoval
import Foundation
import Testing
import Vitrine

/// The lock of a store, and its fate when its process dies or forks.
@Suite struct LockTests {
  let folder: TestFolder

  /// The threads of a killed process end one after another.
  let survivor = StoreOptions(waitForLockMilliseconds: 5000)

  init() throws { folder = try TestFolder() }

  /// A program that another test starts has the lock of this process until it begins, so a free lock may take a moment.
  private func opening(_ path: String, waiting milliseconds: Int = 0) -> StoreError? {
    do {
      try CacheStore.open(
        at: path, options: StoreOptions(byteBudget: 4 << 20, waitForLockMilliseconds: milliseconds)
      ).close()
      return nil
    } catch { return error }
  }

  @Test func secondWriterUnderAnyNameGetsTheProcessID() throws {
    try FileManager.default.createSymbolicLink(atPath: folder.path + "/alias", withDestinationPath: folder.path)
    let writer = try StoreProcess()
    #expect(try writer.ask("open \(folder.store)") == "done")
    let names = [
      folder.store, folder.store + "/", folder.path + "/./store", folder.path + "/alias/store",
      folder.store + "/../store",
    ]
    for name in names { #expect(opening(name) == .locked(processID: writer.id)) }
    try writer.ask("put a 1")
    let reader = try CacheStore.open(at: folder.path + "/alias/store", options: StoreOptions(isReadOnly: true))
    #expect(reader.bytes("a") == [UInt8(ascii: "1")])
    #expect(try writer.ask("close") == "done")
    // Now with the roles exchanged.
    let mine = try CacheStore.open(at: folder.path + "/alias/store")
    #expect(try writer.ask("open \(folder.store)") == "error locked \(getpid())")
    #expect(opening(folder.store) == .locked(processID: getpid()))
    try mine.close()
  }

  @Test func waitingOpeningGetsTheStoreAtCloseOrDeathOfTheOther() throws {
    for lettingGo in ["close", ""] {
      let writer = try StoreProcess()
      #expect(try writer.ask("open \(folder.store)") == "done")
      #expect(opening(folder.store, waiting: 50) == .locked(processID: writer.id))
      let waiting = try StoreProcess()
      try waiting.send("open \(folder.store) wait=60000")
      usleep(100_000)
      if lettingGo.isEmpty { writer.kill() } else { #expect(try writer.ask(lettingGo) == "done") }
      #expect(waiting.line() == "done")
      #expect(opening(folder.store) == .locked(processID: waiting.id))
    }
  }

  @Test func lockOfADeadProcessBlocksNoOpening() throws {
    let writer = try StoreProcess()
    try writer.ask("open \(folder.store)")
    #expect(try writer.ask("put a last") == "done")
    writer.kill()
    let store = try CacheStore.open(at: folder.store, options: survivor)
    #expect(store.statistics().lastOpen.kind == .recovered)
    #expect(store.bytes("a") == Array("last".utf8))
    try store.close()
  }

  /// Process ids are reused: only the lock counts.
  @Test func processIDInTheLockFileBlocksNoOpening() throws {
    try CacheStore.open(at: folder.store, options: StoreOptions(byteBudget: 4 << 20)).close()
    let line = "vitrine \(getppid())\n"
    let rest = String(repeating: " ", count: 63 - line.utf8.count) + "\n"
    try Data((line + rest).utf8).write(to: URL(fileURLWithPath: folder.store + "/LOCK"))
    #expect(opening(folder.store, waiting: 10_000) == nil)
  }

  /// The child of a fork has the parent's memory and descriptors. It must have neither its lock nor a way to write.
  @Test func forkedChildCannotChangeTheStoreAndBlocksNoOpening() throws {
    let writer = try StoreProcess()
    try writer.ask("open \(folder.store)")
    #expect(try writer.ask("put before 1") == "done")
    try writer.send("fork")
    let lines = [writer.line(), writer.line()].sorted()
    let words = lines[0].split(separator: " ").map(String.init)
    let child = try #require(words.count == 4 && words[0] == "child" ? Int32(words[1]) : nil, "\(lines)")
    defer { kill(child, SIGKILL) }
    #expect(lines[1] == "forked \(child)")
    #expect(words[2] == Array(repeating: "closed", count: 8).joined(separator: ","))
    #expect(words[3] == "closed")
    // The parent continues, and still has the lock.
    #expect(try writer.ask("put after 2 synced") == "done")
    #expect(opening(folder.store) == .locked(processID: writer.id))
    #expect(writableMappings(of: writer.id) != [])
    #expect(writableMappings(of: child) == [])
    let held = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(child)/fd").compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(child)/fd/\($0)")
    }
    #expect(!held.contains { $0.hasSuffix("/LOCK") })
    // The parent dies, the child lives, and the store opens.
    writer.kill()
    let store = try CacheStore.open(at: folder.store, options: survivor)
    #expect(kill(child, 0) == 0)
    #expect(store.bytes("before") == [UInt8(ascii: "1")] && store.bytes("after") == [UInt8(ascii: "2")])
    #expect(store.bytes("child") == nil)
    try store.put([3], for: "now")
    try store.close()
  }

  private func writableMappings(of process: Int32) -> [String] {
    let maps = FileHandle(forReadingAtPath: "/proc/\(process)/maps")?.readDataToEndOfFile() ?? Data()
    return String(decoding: maps, as: UTF8.self).split(separator: "\n").map(String.init).filter {
      $0.contains(folder.path) && $0.contains(" rw")
    }
  }

  @Test func writerLosesAReplacedFolder() throws {
    for isEmptied in [false, true] {
      let writer = try StoreProcess()
      try writer.ask("open \(folder.store)")
      #expect(try writer.ask("put a old") == "done")
      if isEmptied {
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.store) {
          try FileManager.default.removeFolderInUse(atPath: "\(folder.store)/\(name)")
        }
      } else {
        try FileManager.default.removeFolderInUse(atPath: folder.store)
      }
      let other = try CacheStore.open(at: folder.store, options: StoreOptions(byteBudget: 4 << 20))
      try other.put([1], for: "b", options: PutOptions(durability: .synced))
      #expect(try writer.ask("put c late synced") == "error storeRemoved")
      #expect(try writer.ask("put c late") == "error storeRemoved")
      #expect(try writer.ask("get a") == "old")
      #expect(try writer.ask("get b") == "none")
      _ = try writer.ask("close")
      #expect(other.bytes("b") == [1] && other.bytes("c") == nil && other.bytes("a") == nil)
      #expect(try other.verify().isOK)
      #expect(opening(folder.store) == .locked(processID: getpid()))
      try other.close()
      #expect(opening(folder.store, waiting: 10_000) == nil)
      try FileManager.default.removeItem(atPath: folder.store)
    }
  }

  @Test func writerStopsWithoutItsLockFile() throws {
    let writer = try StoreProcess()
    try writer.ask("open \(folder.store)")
    try FileManager.default.removeItem(atPath: folder.store + "/LOCK")
    #expect(try writer.ask("put a 1 synced") == "error storeRemoved")
  }
}
