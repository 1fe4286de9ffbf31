import Testing
import Vitrine
import VitrineSimulation

@Suite struct DurabilityTests {
  @Test func unsyncedBytesAreLostAndSyncedOnesAreNot() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(1, 2000), in: directory)
    try file.write(filled(2, 1000), at: 500)
    #expect(disk.crashStates().disk(.everythingLost).contents("/d/a") == filled(1, 2000))
    #expect(disk.crashStates().disk(.everythingKept).contents("/d/a")?[500] == 2)
    try file.sync()
    #expect(disk.crashStates().disk(.everythingLost).contents("/d/a")?[500] == 2)
  }

  @Test func syncedFileWithoutADurableNameIsLost() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try directory.openFile("a", .create)
    try file.write([1], at: 0)
    try file.sync()
    #expect(disk.crashStates().disk(.everythingLost).filePaths.isEmpty)
    try directory.sync()
    #expect(disk.crashStates().disk(.everythingLost).export() == ["/d/a": [1]])
  }

  @Test func aDurableNameAloneGivesAnEmptyFile() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try directory.openFile("a", .create)
    try file.write([1], at: 0)
    try directory.sync()
    #expect(disk.crashStates().disk(.everythingLost).export() == ["/d/a": []])
  }

  @Test func renamesAndRemovalsAreDoneOrNotUntilTheFolderIsSynced() throws {
    let (disk, directory) = try diskWithFolder()
    _ = try durableFile("old", [1], in: directory)
    _ = try durableFile("new", [2], in: directory)
    _ = try durableFile("other", [3], in: directory)
    try directory.rename("new", to: "old")
    let renamed = disk.operationCount - 1
    try directory.remove("other")
    let states = disk.crashStates()
    #expect(states.disk(.everythingLost).export() == ["/d/old": [1], "/d/new": [2], "/d/other": [3]])
    #expect(states.disk(.onlyKept(renamed)).export() == ["/d/old": [2], "/d/other": [3]])
    #expect(states.disk(.onlyLost(renamed)).export() == ["/d/old": [1], "/d/new": [2]])
    try directory.sync()
    #expect(disk.crashStates().disk(.everythingLost).export() == ["/d/old": [2]])
  }

  @Test func removalAffectsOnlyTheFileOfThatName() throws {
    let (disk, directory) = try diskWithFolder()
    _ = try durableFile("a", [1], in: directory)
    try directory.remove("a")
    _ = try directory.openFile("a", .create)
    try directory.remove("a")
    #expect(disk.crashStates().disk(.onlyKept(disk.operationCount - 1)).export() == ["/d/a": [1]])
  }

  @Test func aRenameMayArriveWithoutTheCreationBeforeIt() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try directory.openFile("a", .create)
    try file.write([1], at: 0)
    try file.sync()
    try directory.rename("a", to: "b")
    try directory.rename("b", to: "c")
    let last = disk.operationCount - 1
    #expect(disk.crashStates().disk(.onlyKept(last)).export() == ["/d/c": [1]])
    #expect(disk.crashStates().disk(.onlyLost(last - 1)).export() == ["/d/c": [1]])
    #expect(disk.crashStates().disk(.onlyLost(last)).export() == ["/d/b": [1]])
  }

  @Test func eachUnsyncedOperationCanBeLostOrKeptAlone() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(0, 3), in: directory)
    let first = disk.operationCount
    for position in 0..<3 { try file.write([UInt8(position + 1)], at: position) }
    let states = disk.crashStates()
    #expect(states.unsynced.map(\.index) == [first, first + 1, first + 2])
    #expect(states.disk(.onlyLost(first + 1)).contents("/d/a") == [1, 0, 3])
    #expect(states.disk(.onlyKept(first + 1)).contents("/d/a") == [0, 2, 0])
  }

  @Test func storesIntoAMappingAreUnsyncedUntilTheFileIsSynced() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(0, 4096), in: directory)
    let mapping = try file.map(byteCount: 4096, writable: true)
    store(filled(5, 64), at: 64, mapping, file)
    #expect(disk.crashStates().disk(.everythingLost).contents("/d/a") == filled(0, 4096))
    #expect(disk.crashStates().disk(.everythingKept).contents("/d/a")?[127] == 5)
    try file.sync()
    #expect(disk.crashStates().disk(.everythingLost).contents("/d/a")?[127] == 5)
  }

  @Test func everyMomentOfARunCanBeVisitedAfterwards() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try directory.openFile("a", .create)
    try directory.sync()
    let begin = disk.operationCount
    for number in 1...5 {
      try file.write([UInt8(number)], at: 0)
      try file.sync()
    }
    for number in 1...5 {
      let written = disk.crashStates(after: begin + 2 * number - 1)
      let before: [UInt8] = number == 1 ? [] : [UInt8(number - 1)]
      #expect(written.disk(.everythingLost).contents("/d/a") == before)
      #expect(written.disk(.everythingKept).contents("/d/a") == [UInt8(number)])
      #expect(
        disk.crashStates(after: begin + 2 * number).disk(.everythingLost).contents("/d/a") == [UInt8(number)])
    }
  }

  @Test func aCrashImageIsIndependentOfItsDisk() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(1, 5000), in: directory)
    let states = disk.crashStates()
    let image = states.disk(.everythingKept)
    try file.write(filled(9, 5000), at: 0)
    let copy = try image.openDirectory("/d", create: false).openFile("a", .readWrite)
    #expect(try copy.readAll() == filled(1, 5000))
    try copy.write([4], at: 4999)
    try copy.sync()
    #expect(disk.contents("/d/a") == filled(9, 5000))
    #expect(states.disk(.everythingKept).contents("/d/a") == filled(1, 5000))
    #expect(image.crashStates().disk(.everythingLost).contents("/d/a")?.last == 4)
  }

  @Test func changesOfADeadProcessAreStillUnsynced() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", [1], in: directory)
    try file.write([2], at: 0)
    let next = disk.crashStates().diskAfterProcessDeath()
    #expect(next.contents("/d/a") == [2])
    #expect(next.operationCount == disk.operationCount)
    #expect(next.crashStates().disk(.everythingLost).contents("/d/a") == [1])
    try next.openDirectory("/d", create: false).openFile("a", .readWrite).sync()
    #expect(next.crashStates().disk(.everythingLost).contents("/d/a") == [2])
  }

  @Test func aStoppedDiskChangesNoMore() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(0, 4096), in: directory)
    let mapping = try file.map(byteCount: 4096, writable: true)
    disk.stop(afterOperations: disk.operationCount + 1)
    try file.write([1], at: 0)
    #expect(disk.isStopped)
    #expect(code { try file.write([2], at: 1) } == ErrorCode.inputOutput)
    #expect(code { try file.sync() } == ErrorCode.inputOutput)
    #expect(code { _ = try file.read(0..<1) } == ErrorCode.inputOutput)
    #expect(code { _ = try directory.openFile("b", .create) } == ErrorCode.inputOutput)
    store([3], at: 2, mapping, file)
    let kept = disk.crashStates().disk(.everythingKept).contents("/d/a")
    #expect(kept?.prefix(3) == [1, 0, 0])
    #expect(disk.crashStates().disk(.everythingLost).contents("/d/a") == filled(0, 4096))
    disk.stop(afterOperations: nil)
    try file.write([2], at: 1)
  }

  @Test func foldedHistoryKeepsUnsyncedChanges() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", [1], in: directory)
    try file.write([2], at: 0)
    disk.foldHistory()
    #expect(disk.operations.isEmpty)
    #expect(disk.crashStates().disk(.everythingLost).contents("/d/a") == [1])
    #expect(disk.crashStates().disk(.everythingKept).contents("/d/a") == [2])
    try file.sync()
    #expect(disk.crashStates().disk(.everythingLost).contents("/d/a") == [2])
  }
}
