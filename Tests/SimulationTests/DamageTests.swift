import Testing
import Vitrine
import VitrineSimulation

@Suite struct DamageTests {
  @Test func exportedDiskIsImportedUnchanged() throws {
    let files: [String: [UInt8]] = [
      "/d/a": [1, 2], "/d/sub/b": filled(3, 10_000), "/d/empty/": [], "/c": [],
    ]
    let disk = SimulatedDisk(files: files)
    #expect(disk.export() == files)
    #expect(disk.filePaths == ["/c", "/d/a", "/d/sub/b"])
    #expect(disk.crashStates().disk(.everythingLost).export() == files)
  }

  @Test func damageFromOutsideIsDurableAndSeenThroughOpenMappings() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(1, 100), in: directory)
    let mapping = try file.map(byteCount: 100, writable: false)
    try file.write([9], at: 0)
    disk.damage("/d/a") { $0[50] ^= 0x80 }
    #expect(mapping.start.load(fromByteOffset: 50, as: UInt8.self) == 0x81)
    #expect(disk.crashStates().disk(.everythingLost).contents("/d/a")?[50] == 0x81)
    disk.setContents("/d/a", [5])
    #expect(try file.readAll() == [5])
    #expect(mapping.start.load(fromByteOffset: 50, as: UInt8.self) == 0)
    #expect(disk.unannouncedStores().isEmpty)
    #expect(!disk.damage("/d/none") { _ in })
    #expect(
      !disk.setContents("/d", [1]) && !disk.setContents("/d/a/x", [1]) && !disk.setContents("/d/a/", []))
  }

  @Test func fileRemovedFromOutsideNeverReturns() throws {
    let (disk, directory) = try diskWithFolder()
    _ = try durableFile("a", [1], in: directory)
    try directory.rename("a", to: "b")
    #expect(disk.remove("/d/b"))
    #expect(!disk.remove("/d/b"))
    for policy in [CrashPolicy.everythingKept, .everythingLost] {
      #expect(disk.crashStates().disk(policy).filePaths.isEmpty)
    }
  }

  @Test func fileMovedFromOutsideIsMovedAfterEveryCrash() throws {
    let (disk, directory) = try diskWithFolder()
    _ = try durableFile("a", [1], in: directory)
    let file = try directory.openFile("b", .create)
    try file.write([2], at: 0)
    try file.sync()
    #expect(disk.move("/d/a", to: "/d/c") && disk.move("/d/b", to: "/top") && disk.move("/d/c", to: "/d/e"))
    #expect(!disk.move("/d/none", to: "/x") && !disk.move("/d", to: "/d/x") && !disk.move("/top", to: "/d/e"))
    try directory.sync()
    for policy in [CrashPolicy.everythingKept, .everythingLost] {
      #expect(disk.crashStates().disk(policy).export() == ["/d/e": [1], "/top": [2]])
    }
  }

  @Test func copyOfADiskIsIndependent() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", [1], in: directory)
    try file.write([2], at: 0)
    let copy = disk.copy()
    try file.write([3], at: 0)
    copy.remove("/d/a")
    #expect(disk.contents("/d/a") == [3])
    #expect(disk.copy().crashStates().disk(.everythingLost).contents("/d/a") == [1])
  }
}
