import Testing
import Vitrine
import VitrineSimulation

@Suite struct DirectoryTests {
  @Test func namesAreMadeListedRenamedAndRemoved() throws {
    let (disk, directory) = try diskWithFolder()
    _ = try directory.openFile("a", .create)
    _ = try directory.openDirectory("sub", create: true)
    #expect(
      try directory.entries() == [
        DirectoryEntry(name: "a", kind: .file), DirectoryEntry(name: "sub", kind: .directory),
      ])
    #expect(code { _ = try directory.openFile("a", .create) } == ErrorCode.alreadyExists)
    #expect(code { _ = try directory.openFile("b", .readWrite) } == ErrorCode.notFound)
    #expect(code { _ = try directory.openFile("sub", .readOnly) } == ErrorCode.invalidArgument)
    #expect(code { _ = try directory.openDirectory("a", create: true) } == ErrorCode.notDirectory)
    #expect(code { _ = try directory.openDirectory("x", create: false) } == ErrorCode.notFound)
    #expect(code { try directory.remove("sub") } == ErrorCode.isDirectory)
    #expect(code { try directory.rename("a", to: "sub") } == ErrorCode.isDirectory)
    for name in ["", ".", "..", "a/b", "\0", String(repeating: "n", count: 256)] {
      #expect(code { _ = try directory.openFile(name, .create) } != nil)
    }
    try directory.rename("a", to: "b")
    #expect(disk.filePaths == ["/d/b"])
    try directory.remove("b")
    #expect(code { try directory.remove("b") } == ErrorCode.notFound)
    #expect(disk.export() == ["/d/sub/": []])
  }

  @Test func renameOverAFileFreesTheOldOnesSpace() throws {
    let (_, directory) = try diskWithFolder()
    let before = try directory.availableByteCount()
    _ = try durableFile("a", filled(1, 4096), in: directory)
    _ = try durableFile("b", filled(2, 8192), in: directory)
    try directory.rename("a", to: "b")
    #expect(try directory.openFile("b", .readOnly).readAll() == filled(1, 4096))
    #expect(try directory.availableByteCount() == before - 4096)
  }

  @Test func onlyTheLastComponentOfAPathIsMade() throws {
    let disk = SimulatedDisk()
    #expect(code { _ = try disk.openDirectory("/a/b", create: true) } == ErrorCode.notFound)
    let first = try disk.openDirectory("/a", create: true)
    _ = try disk.openDirectory("/a/b", create: true)
    _ = try first.openFile("file", .create)
    #expect(code { _ = try disk.openDirectory("/a/file", create: true) } == ErrorCode.notDirectory)
    #expect(code { _ = try disk.openDirectory("/a/file/x", create: true) } == ErrorCode.notDirectory)
    func durable() -> [String: [UInt8]] { disk.crashStates().disk(.everythingLost).export() }
    #expect(durable() == [:])
    try disk.syncName(ofFolder: "/a/b")
    #expect(durable() == [:])
    try disk.syncName(ofFolder: "/a")
    #expect(durable() == ["/a/b/": [], "/a/file": []])
  }

  @Test func aFolderThatWasRemovedOrReplacedIsNoLongerNamed() throws {
    let (disk, directory) = try diskWithFolder()
    let sub = try directory.openDirectory("sub", create: true)
    #expect(directory.isStillNamed() && sub.isStillNamed())
    disk.move("/d", to: "/elsewhere")
    #expect(!directory.isStillNamed() && !sub.isStillNamed())
    _ = try disk.openDirectory("/d", create: true)
    #expect(!directory.isStillNamed())
    disk.remove("/d")
    disk.move("/elsewhere", to: "/d")
    #expect(directory.isStillNamed() && sub.isStillNamed())
    disk.remove("/d")
    #expect(!directory.isStillNamed() && !sub.isStillNamed())
    #expect(code { _ = try sub.openFile("a", .create) } == ErrorCode.notFound)
    #expect(code { _ = try directory.entries() } == ErrorCode.notFound)
  }
}
