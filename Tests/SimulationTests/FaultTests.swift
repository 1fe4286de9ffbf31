import Testing
import Vitrine

@testable import VitrineSimulation

@Suite struct FaultTests {
  @Test func aFaultStrikesTheCallItWasPlannedForAndNoOther() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", [1], in: directory)
    let other = try durableFile("b", [1], in: directory)
    disk.plan(Fault(.write, on: .suffix("/a"), occurrence: 2, .fail(ErrorCode.inputOutput)))
    try other.write([2], at: 0)
    try file.write([2], at: 0)
    try other.write([3], at: 0)
    let before = disk.operationCount
    #expect(code { try file.write([3], at: 0) } == ErrorCode.inputOutput)
    #expect(disk.operationCount == before && disk.contents("/d/a") == [2])
    try file.write([4], at: 0)
    #expect(disk.strikeCount == 1)
  }

  @Test func aLastingFaultStrikesUntilItIsRemoved() throws {
    let (disk, directory) = try diskWithFolder()
    disk.plan(
      Fault(
        .createFile, on: .containing("/d/"), occurrence: 2, isLasting: true, .fail(ErrorCode.tooManyFiles)))
    _ = try directory.openFile("a", .create)
    #expect(code { _ = try directory.openFile("b", .create) } == ErrorCode.tooManyFiles)
    #expect(code { _ = try directory.openFile("c", .create) } == ErrorCode.tooManyFiles)
    disk.removeFaults()
    _ = try directory.openFile("b", .create)
  }

  @Test func aWriteCanFailHalfway() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(0, 10), in: directory)
    disk.plan(Fault(.write, .failAfterWriting(byteCount: 4, ErrorCode.inputOutput)))
    #expect(code { try file.write(filled(1, 10), at: 0) } == ErrorCode.inputOutput)
    #expect(disk.contents("/d/a") == filled(1, 4) + filled(0, 6))
    #expect(disk.crashStates().disk(.everythingKept).contents("/d/a") == filled(1, 4) + filled(0, 6))
  }

  @Test func readsCanEndEarlyOrLie() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(0, 10), in: directory)
    disk.plan(Fault(.read, .readShort(byteCount: 3)))
    #expect(try file.readAll() == filled(0, 3))
    disk.plan(Fault(.read, .flipBit(byte: 4, bit: 6)))
    #expect(try file.readAll() == filled(0, 4) + [64] + filled(0, 5))
    #expect(try file.readAll() == filled(0, 10))
  }

  @Test func readsCanReturnStaleOrMisplacedBytes() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(1, 600) + filled(2, 600), in: directory)
    let before = disk.operationCount
    try file.write(filled(3, 600), at: 0)
    disk.plan(Fault(.read, .readStale(part: 256 * before / (before + 1) + 1)))
    #expect(try file.read(0..<600) == filled(1, 600))
    disk.plan(Fault(.read, .readStale(part: 0)))
    #expect(try file.read(0..<600) == filled(0, 600))
    disk.plan(Fault(.read, .misdirect(byteCount: 600)))
    #expect(try file.read(0..<600) == filled(2, 600))
    #expect(try file.read(0..<600) == filled(3, 600))
  }

  @Test func aWriteCanGoToAnotherPlaceOfTheFile() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(0, 30), in: directory)
    disk.plan(Fault(.write, .misdirect(byteCount: 10)))
    try file.write(filled(1, 5), at: 5)
    #expect(disk.contents("/d/a") == filled(0, 15) + filled(1, 5) + filled(0, 10))
    disk.plan(Fault(.write, .misdirect(byteCount: 100)))
    try file.write(filled(2, 5), at: 5)
    #expect(disk.contents("/d/a")?.prefix(5) == filled(2, 5)[...])
  }

  @Test func diskIsFilledAndFreedBeforeThePlannedCall() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", [1], in: directory)
    disk.plan(before: disk.callCount + 2) { $0.space.fillUp(refusingNewNames: true) }
    try file.write(filled(1, 5000), at: 0)
    #expect(code { try file.write(filled(1, 9000), at: 0) } == ErrorCode.noSpace)
    #expect(code { _ = try directory.openFile("b", .create) } == ErrorCode.noSpace)
    disk.plan(before: disk.callCount + 1) { $0.space.giveRoom() }
    _ = try directory.openFile("b", .create)
    #expect(disk.strikeCount == 2)
  }

  @Test func readOnlyFileSystemRefusesChangesAndAllowsReads() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", [7], in: directory)
    disk.plan(before: disk.callCount + 1) { $0.faults.refuseChanges() }
    let changes: [() throws -> Void] = [
      { try file.write([1], at: 0) }, { try file.sync() }, { try file.truncate(to: 0) },
      { try file.allocate(byteCount: 9000) }, { _ = try directory.openFile("b", .create) },
      { try directory.remove("a") }, { try directory.rename("a", to: "c") }, { try directory.sync() },
    ]
    for change in changes { #expect(code(change) == ErrorCode.readOnlyFileSystem) }
    #expect(try file.readAll() == [7])
    disk.removeFaults()
    try file.write([1], at: 0)
  }

  @Test func aFolderCanBeTakenAwayOrReplaced() throws {
    for isReplaced in [false, true] {
      let (disk, directory) = try diskWithFolder()
      let file = try durableFile("a", [7], in: directory)
      disk.plan(before: disk.callCount + 1) {
        if isReplaced { $0.replaceFolder("d", movingTo: "e") } else { $0.removeFolder("d") }
      }
      #expect(try file.readAll() == [7])
      #expect(!directory.isStillNamed() && disk.folderLost != nil)
      #expect(disk.contents("/e/a") == (isReplaced ? [7] : nil))
      #expect(code { _ = try disk.openDirectory("/d", create: false) } == (isReplaced ? nil : ErrorCode.notFound))
    }
  }

  @Test(arguments: [true, false]) func bodyRunsInTheMiddleOfASync(_ isDurable: Bool) throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", [1], in: directory)
    try file.write([2], at: 0)
    disk.planDuringSync(2, isDurable: isDurable) {
      try? file.write([3], at: 0)
      #expect(disk.crashStates().disk(.everythingLost).contents("/d/a") == [isDurable ? 4 : 2])
    }
    try directory.sync()
    try file.sync()
    #expect(disk.contents("/d/a") == [2])
    try file.write([4], at: 0)
    try file.sync()
    // The write in the middle is not part of the sync.
    #expect(disk.contents("/d/a") == [3])
    #expect(disk.crashStates().disk(.everythingLost).contents("/d/a") == [4])
    try file.sync()
    #expect(disk.crashStates().disk(.everythingLost).contents("/d/a") == [3])
  }

  @Test func aSyncThatFailedMayBeRepeatedWhenTheKernelKeptThePages() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", [1], in: directory)
    try file.write([2], at: 0)
    disk.plan(Fault(.syncFile, .fail(ErrorCode.inputOutput)))
    #expect(code { try file.sync() } == ErrorCode.inputOutput)
    #expect(disk.crashStates().disk(.everythingLost).contents("/d/a") == [1])
    try file.sync()
    #expect(disk.crashStates().disk(.everythingLost).contents("/d/a") == [2])
  }

  @Test func pagesBehindAFailedSyncLookWrittenAndAreNot() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", [1, 1], in: directory)
    try file.write([2, 2, 2], at: 0)
    disk.plan(Fault(.syncFile, .loseUnsyncedPages(ErrorCode.inputOutput)))
    #expect(code { try file.sync() } == ErrorCode.inputOutput)
    #expect(disk.contents("/d/a") == [2, 2, 2])
    try file.sync()
    #expect(disk.crashStates().disk(.everythingKept).contents("/d/a") == [1, 1, 0])
    // After a failed sync, later syncs write only bytes that were written again.
    try file.write([2], at: 1)
    try file.sync()
    #expect(disk.crashStates().disk(.everythingLost).contents("/d/a") == [1, 2, 0])
    // The next process still reads the pages, unless they were dropped from memory.
    #expect(disk.crashStates().diskAfterProcessDeath().contents("/d/a") == [2, 2, 2])
    #expect(disk.crashStates().diskAfterProcessDeath(droppingCleanPages: true).contents("/d/a") == [1, 2, 0])
    let next = disk.crashStates().diskAfterProcessDeath()
    try next.openDirectory("/d", create: false).openFile("a", .readWrite).sync()
    #expect(next.crashStates().disk(.everythingKept).contents("/d/a") == [1, 2, 0])
  }

  @Test func fullDiskWritesFittingBytesAndKeepsAllocatedSpaceUsable() throws {
    var options = SimulatedDisk.Options()
    options.capacityByteCount = 10 * 4096
    let (disk, directory) = try diskWithFolder(options)
    let file = try directory.openFile("a", .create)
    try file.allocate(byteCount: 6 * 4096)
    #expect(try directory.availableByteCount() == 4 * 4096)
    #expect(code { try file.allocate(byteCount: 11 * 4096) } == ErrorCode.noSpace)
    #expect(try file.status().byteCount == 6 * 4096)
    let other = try directory.openFile("b", .create)
    #expect(code { try other.write(filled(1, 5 * 4096), at: 100) } == ErrorCode.noSpace)
    #expect(disk.contents("/d/b") == filled(0, 100) + filled(1, 4 * 4096 - 100))
    #expect(try directory.availableByteCount() == 0)
    try file.write(filled(2, 6 * 4096), at: 0)
    let mapping = try file.map(byteCount: 6 * 4096, writable: true)
    store(filled(3, 4096), at: 5000, mapping, file)
    #expect(disk.misuse.isEmpty)
    #expect(disk.crashStates().disk(.everythingKept).contents("/d/b")?.count == 4 * 4096)
    try directory.remove("b")
    #expect(try directory.availableByteCount() == 0, "the handle holds the blocks")
    withExtendedLifetime(other) {}
  }

  @Test func lastHandleAndMappingFreeTheSpace() throws {
    let (_, directory) = try diskWithFolder()
    let all = try directory.availableByteCount()
    var file: (any File)? = try durableFile("a", filled(1, 8192), in: directory)
    var mapping = try file?.map(byteCount: 8192, writable: false)
    try directory.remove("a")
    file = nil
    #expect(try directory.availableByteCount() == all - 8192)
    #expect(mapping != nil)
    mapping = nil
    #expect(try directory.availableByteCount() == all)
  }

  @Test func aDiskThatFillsUpHasRoomAgainAfterRemovals() throws {
    let (disk, directory) = try diskWithFolder()
    _ = try durableFile("a", filled(1, 8192), in: directory)
    let file = try durableFile("b", [], in: directory)
    disk.fillUp(refusingNewNames: true)
    #expect(code { try file.write([1], at: 0) } == ErrorCode.noSpace)
    #expect(code { _ = try directory.openFile("c", .create) } == ErrorCode.noSpace)
    #expect(code { _ = try directory.openDirectory("s", create: true) } == ErrorCode.noSpace)
    try directory.remove("a")
    try file.write(filled(1, 8192), at: 0)
    #expect(code { try file.write([1], at: 8192) } == ErrorCode.noSpace)
    disk.setCapacity(1 << 20)
    try file.write([1], at: 8192)
    _ = try directory.openFile("c", .create)
  }

  @Test func allocationWithoutAPromiseOnlySetsTheLength() throws {
    var options = SimulatedDisk.Options()
    options.promisesAllocation = false
    let (disk, directory) = try diskWithFolder(options)
    #expect(!directory.promisesAllocation)
    let file = try directory.openFile("a", .create)
    try file.allocate(byteCount: 8192)
    #expect(try file.status() == FileStatus(byteCount: 8192, allocatedByteCount: 0))
    try file.write(filled(1, 8192), at: 0)
    disk.fillUp()
    #expect(code { try file.write([1], at: 0) } == ErrorCode.noSpace)
  }

  @Test func callsAreCounted() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", [1], in: directory)
    let before = disk.callCount(.syncFile)
    try file.sync()
    disk.plan(Fault(.syncFile, .fail(ErrorCode.inputOutput)))
    _ = code { try file.sync() }
    #expect(disk.callCount(.syncFile) == before + 2)
  }
}
