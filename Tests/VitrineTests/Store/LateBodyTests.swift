import Testing

@testable import Vitrine

/// Bodies that end after their store.
@Suite struct LateBodyTests {
  /// A close removes the file of an unfinished body. If its checkpoint fails, the next opening does not know the number
  /// of that file, and gives it to a file of its own.
  @Test func bodyThatEndsAfterAFailedCloseRemovesNoFileOfTheNextOpening() throws {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store")
    try store.put([1], for: "a", options: PutOptions(durability: .synced))
    let writer = try store.writer(for: "late")
    try writer.write(noise(100_000, 1))
    let before = Set(disk.image.keys)
    disk.onSync.withLock { handler in
      handler = { path throws(SystemError) in
        throw SystemError(code: SystemError.ioError, operation: "sync", path: path)
      }
    }
    #expect(storeError { try store.close() } != nil)
    disk.onSync.withLock { $0 = nil }
    let removed = before.subtracting(disk.image.keys).filter { $0.hasPrefix("segments/") }
    #expect(removed.count == 1)
    let next = try TestWorld(fileSystem: disk, seed: 2).open("store")
    for number in UInt64(0)..<30 { try next.put(noise(50_000, number), for: "\(number)") }
    #expect(removed.isSubset(of: disk.image.keys), "the next opening uses the name")
    writer.abandon()
    #expect(removed.isSubset(of: disk.image.keys))
    #expect(try next.verify().isOK)
    for number in UInt64(0)..<30 { #expect(next.bytes("\(number)") == noise(50_000, number)) }
    try next.close()
  }
}
