import Testing
import Vitrine
import VitrineSimulation

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
    // Only what is written anew gets there.
    try file.write([2], at: 1)
    try file.sync()
    #expect(disk.crashStates().disk(.everythingLost).contents("/d/a") == [1, 2, 0])
    // The next process still reads the pages, unless they left memory.
    #expect(disk.crashStates().diskAfterProcessDeath().contents("/d/a") == [2, 2, 2])
    #expect(disk.crashStates().diskAfterProcessDeath(droppingCleanPages: true).contents("/d/a") == [1, 2, 0])
    let next = disk.crashStates().diskAfterProcessDeath()
    try next.openDirectory("/d", create: false).openFile("a", .readWrite).sync()
    #expect(next.crashStates().disk(.everythingKept).contents("/d/a") == [1, 2, 0])
  }

  @Test func aFullDiskTakesWhatFitsAndAllocatedRoomStaysUsable() throws {
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

  @Test func roomComesBackWithTheLastHandleAndMapping() throws {
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

  @Test func withoutAPromiseAllocatingOnlySetsTheLength() throws {
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
