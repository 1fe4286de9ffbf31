import Foundation
import Testing

@testable import Vitrine

/// Requests and changes that meet a store at its end, or a checkpoint under way.
@Suite struct EndOfWritingTests {
  /// The image of the running checkpoint is older than the request.
  @Test func aRequestDuringACheckpointIsNotForgotten() throws {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store")
    try store.put([1], for: "a")
    store.probe.requestCheckpoint()
    let requests = Guarded(0)
    disk.onSync.withLock { handler in
      handler = { path throws(SystemError) in
        guard path.contains("checkpoints/") else { return }
        if requests.withLock({ $0 }) == 0 { store.probe.requestCheckpoint() }
        requests.withLock { $0 += 1 }
      }
    }
    try store.checkpoint()
    #expect(requests.withLock { $0 } > 0 && store.probe.wantsCheckpoint)
    try store.put([2], for: "a")
    try store.checkpoint()
    #expect(!store.probe.wantsCheckpoint)
    disk.onSync.withLock { $0 = nil }
    try store.close()
  }

  @Test(arguments: LostFolder.Loss.allCases) func aClosedStoreSaysThatItIsClosed(_ loss: LostFolder.Loss) throws {
    let lost = try LostFolder()
    let store = try lost.open(recreates: false)
    try store.put([1], for: "k")
    try store.close()
    try lost.strike(loss)
    #expect(storeError { try store.put([2], for: "k") } == .closed)
    #expect(storeError { try store.remove("k") } == .closed)
  }

  @Test func filesOfTheIndexDoNotGrowAfterTheEnd() throws {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store")
    try store.put([1], for: "a")
    let before = disk.image.filter { $0.key.contains("checkpoints/") }.mapValues(\.count)
    try store.close()
    #expect(storeError { try store.probe.steps.growCheckpoints(moreKeys: 20_000) } == .closed)
    #expect(disk.image.filter { $0.key.contains("checkpoints/") }.mapValues(\.count) == before)
  }

  /// The put has passed the gate and has its room, so only the log itself can refuse it.
  @Test func aPutIsRefusedIfASyncFailsWhileItWritesItsRecord() throws {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store")
    try store.put([1], for: "a")
    let failure = Guarded<StoreError?>(nil)
    disk.onWrite.withLock { handler in
      handler = { path, _ in
        guard path.contains("segments/"), failure.withLock({ $0 }) == nil else { return }
        disk.onSync.withLock { $0 = { path throws(SystemError) in throw Self.failure(path) } }
        let error = storeError { try store.flush() }
        failure.withLock { $0 = error }
        disk.onSync.withLock { $0 = nil }
      }
    }
    let image = disk.image["wal/0.wal"]
    let error = storeError { try store.put(noise(100), for: "b", options: PutOptions(durability: .synced)) }
    let first = failure.withLock { $0 }
    var isFailedWrite = false
    if case .writeFailed = first { isFailedWrite = true }
    #expect(isFailedWrite && error == first && store.bytes("b") == nil && disk.image["wal/0.wal"] == image)
    disk.onWrite.withLock { $0 = nil }
    try? store.close()
  }

  private static func failure(_ path: String) -> SystemError {
    SystemError(code: SystemError.ioError, operation: "sync", path: path)
  }
}
