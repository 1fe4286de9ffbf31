import Testing
import Vitrine
import VitrineSimulation

@Suite struct FileTests {
  @Test func writtenBytesAreReadBackUpToTheFilesEnd() throws {
    let (_, directory) = try diskWithFolder()
    let file = try directory.openFile("a", .create)
    let first = filled(1, 5000)
    let second = filled(2, 300)
    try first.withUnsafeBytes { first throws in
      try second.withUnsafeBytes { second throws in try file.write(first, second, at: 100) }
    }
    #expect(try file.readAll() == filled(0, 100) + filled(1, 5000) + filled(2, 300))
    #expect(try file.read(5399..<6000) == [2])
    #expect(try file.read(6000..<6001) == [])
  }

  @Test func aMappingAndTheHandleShowTheSameBytes() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(1, 10_000), in: directory)
    let mapping = try file.map(byteCount: 65_536, writable: true)
    let other = try directory.openFile("a", .readOnly).map(byteCount: 4096, writable: false)
    #expect(mapping.start.load(fromByteOffset: 9999, as: UInt8.self) == 1)
    #expect(mapping.start.load(fromByteOffset: 10_000, as: UInt8.self) == 0)
    store([7, 8], at: 4000, mapping, file)
    #expect(try file.read(3999..<4003) == [1, 7, 8, 1])
    #expect(other.start.load(fromByteOffset: 4001, as: UInt8.self) == 8)
    try file.write([9], at: 20_000)
    #expect(mapping.start.load(fromByteOffset: 20_000, as: UInt8.self) == 9)
    #expect(disk.contents("/d/a")?.count == 20_001)
    #expect(disk.misuse.isEmpty && disk.unannouncedStores().isEmpty)
  }

  @Test func aMappingOutlivesHandleNameAndDisk() throws {
    var mapping: Mapping?
    do {
      let (_, directory) = try diskWithFolder()
      mapping = try durableFile("a", filled(3, 100), in: directory).map(byteCount: 100, writable: false)
      try directory.remove("a")
    }
    #expect(try #require(mapping).start.load(fromByteOffset: 99, as: UInt8.self) == 3)
  }

  @Test func bytesPastACutAreZeroAfterTheFileGrowsAgain() throws {
    for mapped in [false, true] {
      let (disk, directory) = try diskWithFolder()
      let file = try durableFile("a", filled(1, 9000), in: directory)
      let mapping = mapped ? try file.map(byteCount: 9000, writable: true) : nil
      try file.truncate(to: 10)
      try file.truncate(to: 9000)
      let expected = filled(1, 10) + filled(0, 8990)
      #expect(try file.readAll() == expected)
      #expect(disk.crashStates().disk(.everythingKept).contents("/d/a") == expected)
      withExtendedLifetime(mapping) {}
    }
  }

  @Test func allocatedBlocksAreCountedAndHolesAreNot() throws {
    let (_, directory) = try diskWithFolder()
    let file = try directory.openFile("a", .create)
    try file.truncate(to: 100_000)
    #expect(try file.status() == FileStatus(byteCount: 100_000, allocatedByteCount: 0))
    try file.write([1], at: 50_000)
    #expect(try file.status().allocatedByteCount == 4096)
    try file.allocate(byteCount: 8193)
    #expect(try file.status() == FileStatus(byteCount: 100_000, allocatedByteCount: 4 * 4096))
    try file.truncate(to: 1)
    #expect(try file.status() == FileStatus(byteCount: 1, allocatedByteCount: 4096))
  }

  @Test func lockHasOneOwnerAndEndsWithItsHandle() throws {
    let (disk, directory) = try diskWithFolder()
    var first: (any File)? = try directory.openFile("LOCK", .create)
    let second = try directory.openFile("LOCK", .readWrite)
    #expect(try first?.tryLock() == true)
    #expect(try first?.tryLock() == true)
    #expect(try second.tryLock() == false)
    let afterwards = try disk.crashStates().diskAfterProcessDeath().openDirectory("/d", create: false)
    #expect(try afterwards.openFile("LOCK", .readWrite).tryLock())
    first = nil
    #expect(try second.tryLock())
  }

  @Test func mistakenArgumentsAreErrorsAndNeverTraps() throws {
    let (_, directory) = try diskWithFolder()
    let file = try directory.openFile("a", .create)
    let reader = try directory.openFile("a", .readOnly)
    #expect(code { try file.write([1], at: -1) } == ErrorCode.invalidArgument)
    #expect(code { try file.write([1], at: .max) } == ErrorCode.fileTooLarge)
    #expect(code { try file.truncate(to: -1) } == ErrorCode.invalidArgument)
    #expect(code { try file.truncate(to: .max) } == ErrorCode.fileTooLarge)
    #expect(code { try file.allocate(byteCount: .max) } == ErrorCode.fileTooLarge)
    #expect(code { try file.allocate(byteCount: 0) } == ErrorCode.invalidArgument)
    #expect(code { _ = try file.map(byteCount: 0, writable: false) } == ErrorCode.invalidArgument)
    #expect(code { _ = try file.map(byteCount: .max, writable: false) } == ErrorCode.invalidArgument)
    #expect(code { _ = try reader.map(byteCount: 1, writable: true) } == ErrorCode.permissionDenied)
    #expect(code { try reader.write([1], at: 0) } == ErrorCode.badDescriptor)
    var byte: UInt8 = 0
    withUnsafeMutableBytes(of: &byte) { buffer in
      #expect(code { _ = try file.read(into: buffer, at: -5) } == ErrorCode.invalidArgument)
      #expect((try? file.read(into: buffer, at: .max)) == 0)
    }
    file.willStore(-3 ..< -1)
    file.didStore(-3 ..< -1)
    file.didStore(0..<Int.max)
  }

  @Test func storesThatWouldKillTheProcessAreReported() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try directory.openFile("a", .create)
    try file.allocate(byteCount: 4096)
    try file.truncate(to: 16_384)
    let mapping = try file.map(byteCount: 32_768, writable: true)
    store([1], at: 4095, mapping, file)
    #expect(disk.misuse.isEmpty)
    store([1], at: 4096, mapping, file)
    #expect(disk.misuse.count == 1)
    store([1], at: 16_384, mapping, file)
    #expect(disk.misuse.count == 2)
  }

  @Test func unannouncedStoreIsFound() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(0, 4096), in: directory)
    let mapping = try file.map(byteCount: 4096, writable: true)
    store([1], at: 5, mapping, file)
    #expect(disk.unannouncedStores().isEmpty)
    mapping.start.storeBytes(of: 2, toByteOffset: 6, as: UInt8.self)
    #expect(disk.unannouncedStores() == ["/d/a"])
  }
}
