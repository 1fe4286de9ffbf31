import Foundation
import Testing
import Vitrine
import VitrineSimulation

/// Random runs, in which the disk is compared with plain models of it.
@Suite struct RandomRunTests {
  /// Makes a random change of a random file of four.
  private func step(
    _ random: inout SplitMix64, _ directory: any Directory, _ mappings: inout [(any File, Mapping)]
  ) throws {
    let name = "f\(random.next(below: 4))"
    let exists = try directory.entries().contains { $0.name == name }
    guard exists else {
      _ = try directory.openFile(name, .create)
      return
    }
    let file = try directory.openFile(name, .readWrite)
    let bytes = filled(UInt8(random.next(below: 255) + 1), random.next(below: 6000) + 1)
    switch random.next(below: 12) {
    case 0...3: try file.write(bytes, at: random.next(below: 9000))
    case 4: try file.truncate(to: random.next(below: 12_000))
    case 5: try file.allocate(byteCount: random.next(below: 20_000) + 1)
    case 6: try file.sync()
    case 7: try directory.sync()
    case 8: if random.next(below: 4) == 0 { try directory.remove(name) }
    case 9: try directory.rename(name, to: "f\(random.next(below: 4))")
    default:
      let count = try file.status().byteCount
      if count < 2 { return }
      let mapping = try file.map(byteCount: count, writable: true)
      let offset = random.next(below: count - 1)
      try file.allocate(byteCount: count)
      store(Array(bytes.prefix(count - offset)), at: offset, mapping, file)
      mappings.append((file, mapping))
    }
  }

  @Test(arguments: 0..<20 as Range<UInt64>) func journalMatchesTheFiles(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let (disk, directory) = try diskWithFolder()
    var mappings: [(any File, Mapping)] = []
    for _ in 0..<300 { try step(&random, directory, &mappings) }
    let states = disk.crashStates()
    #expect(states.disk(.everythingKept).export() == disk.export())
    #expect(states.diskAfterProcessDeath().export() == disk.export())
    #expect(disk.misuse.isEmpty && disk.unannouncedStores().isEmpty)
    // A copy of the disk counts the same blocks.
    mappings = []
    #expect(
      try disk.copy().openDirectory("/d", create: false).availableByteCount()
        == directory.availableByteCount())
    // After a sync of all files, every policy leaves the same disk.
    for entry in try directory.entries() { try directory.openFile(entry.name, .readWrite).sync() }
    try directory.sync()
    for seed in 0..<20 as Range<UInt64> {
      #expect(disk.crashStates().disk(.mixture(seed: seed)).export() == disk.export())
    }
    #expect(disk.crashStates().unsynced.isEmpty)
  }

  private static let isSanitized = ProcessInfo.processInfo.environment["VITRINE_SANITIZED"] != nil
  private static let seeds: Range<UInt64> = 0..<(isSanitized ? 1 : 6)

  @Test(arguments: seeds) func noCrashShowsUnwrittenBytes(seed: UInt64) throws {
    var random = SplitMix64(seed: seed &+ 100)
    let (disk, directory) = try diskWithFolder()
    var mappings: [(any File, Mapping)] = []
    for _ in 0..<60 { try step(&random, directory, &mappings) }
    var written: Set<UInt8> = [0]
    for operation in disk.operations where operation.byteRange != nil {
      for (_, bytes) in disk.crashStates(after: operation.index + 1).disk(.everythingKept).export() {
        written.formUnion(bytes)
      }
    }
    var count = 0
    for crash in disk.crashes(mixtures: 6, seed: seed, maximumAlone: 6) {
      count += 1
      for (path, bytes) in crash.disk().export() {
        #expect(bytes.count <= 20_000 && written.isSuperset(of: bytes), "\(path) at \(crash)")
      }
    }
    #expect(count > 100)
  }
}
