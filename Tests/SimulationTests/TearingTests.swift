import Testing
import Vitrine
import VitrineSimulation

@Suite struct TearingTests {
  /// The contents that many seeds leave of one unsynced change.
  private func outcomes(_ states: CrashStates, _ index: Int, path: String) -> Set<[UInt8]> {
    Set((0..<200).compactMap { states.disk(.onlyTorn(index, seed: $0)).contents(path) })
  }

  @Test func aTornWriteKeepsWholeSectorsOnly() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(0, 4096), in: directory)
    try file.write(filled(1, 2000), at: 300)
    let outcomes = outcomes(disk.crashStates(), disk.operationCount - 1, path: "/d/a")
    #expect(outcomes.count > 10)
    for outcome in outcomes {
      for sector in 0..<8 {
        let written = (sector * 512..<(sector + 1) * 512).clamped(to: 300..<2300)
        if !written.isEmpty {
          #expect(Set(outcome[written]).count == 1)
        }
      }
      #expect(outcome[..<300].allSatisfy { $0 == 0 } && outcome[2300...].allSatisfy { $0 == 0 })
    }
    // Its middle without its beginning, and the reverse.
    #expect(outcomes.contains { $0[300] == 0 && $0[1100] == 1 })
    #expect(outcomes.contains { $0[300] == 1 && $0[1100] == 0 })
  }

  @Test func aTornStoreKeepsWholeWordsOnly() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(0, 4096), in: directory)
    let mapping = try file.map(byteCount: 4096, writable: true)
    store(filled(1, 64), at: 100, mapping, file)
    let outcomes = outcomes(disk.crashStates(), disk.operationCount - 1, path: "/d/a")
    #expect(outcomes.count > 10)
    var cutsInsideASector = false
    for outcome in outcomes {
      for word in 12..<21 {
        let written = (word * 8..<(word + 1) * 8).clamped(to: 100..<164)
        #expect(Set(outcome[written]).count == 1)
      }
      cutsInsideASector = cutsInsideASector || Set(outcome[100..<164]).count == 2
    }
    #expect(cutsInsideASector)
  }

  @Test func aWriteInsideOneSectorNeverTears() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(0, 4096), in: directory)
    try file.write(filled(1, 500), at: 512)
    let states = disk.crashStates()
    #expect(states.unsynced.map(\.canTear) == [false])
    #expect(
      outcomes(states, disk.operationCount - 1, path: "/d/a").allSatisfy { Set($0[512..<1012]).count == 1 })
  }

  @Test func lengthDataAndBlocksOfAGrowingFileSurviveIndependently() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(1, 512), in: directory)
    try file.write(filled(2, 512), at: 512)
    let states = disk.crashStates()
    let outcomes = (0..<300).map { states.disk(.mixture(seed: $0)).contents("/d/a") }
    #expect(outcomes.contains(filled(1, 512)))
    #expect(outcomes.contains(filled(1, 512) + filled(2, 512)))
    #expect(outcomes.contains(filled(1, 512) + filled(0, 512)))

    // Data without a length shows once a later length arrives.
    try file.write(filled(3, 512), at: 1024)
    let later = disk.crashStates()
    let grown = Set((0..<2000).compactMap { later.disk(.mixture(seed: $0)).contents("/d/a") })
    #expect(grown.contains(filled(1, 512) + filled(2, 512) + filled(0, 512)))
    #expect(grown.contains(filled(1, 512) + filled(0, 512) + filled(3, 512)))
    #expect(grown.allSatisfy { $0.starts(with: filled(1, 512)) && $0.count % 512 == 0 && $0.count <= 1536 })
  }

  @Test func blocksMayBeLostWithoutTheLength() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", [1], in: directory)
    try file.allocate(byteCount: 65_536)
    let states = disk.crashStates()
    var found: Set<[Int]> = []
    for seed in 0..<200 {
      let image = states.disk(.mixture(seed: UInt64(seed)))
      let status = try image.openDirectory("/d", create: false).openFile("a", .readOnly).status()
      found.insert([status.byteCount, status.allocatedByteCount])
    }
    #expect(found.isSuperset(of: [[1, 4096], [65_536, 4096], [65_536, 65_536]]))
    try file.sync()
    let image = disk.crashStates().disk(.everythingLost)
    let status = try image.openDirectory("/d", create: false).openFile("a", .readOnly).status()
    #expect(status == FileStatus(byteCount: 65_536, allocatedByteCount: 65_536))
  }

  @Test func policyOfMomentsKeepsASectorOfSomeMoment() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(0, 1024), in: directory)
    // Appends within a sector: a later one never arrives without the earlier ones in the same sector.
    for position in 0..<1024 where position % 100 == 0 { try file.write([1], at: position) }
    let states = disk.crashStates()
    var seen: Set<[UInt8]> = []
    for seed in 0..<200 {
      let bytes = try #require(states.disk(.moments(seed: UInt64(seed))).contents("/d/a"))
      seen.insert(bytes)
      for sector in 0..<2 {
        let marks = stride(from: 0, to: 1024, by: 100).filter { $0 / 512 == sector }.map { bytes[$0] }
        #expect(marks == marks.sorted(by: >))
      }
    }
    // The second sector may be newer than the first.
    #expect(seen.contains { $0[0] == 0 && $0[600] == 1 })
  }

  @Test func aPolicyLeavesTheSameDiskEachTime() throws {
    let (disk, directory) = try diskWithFolder()
    for number in 0..<6 {
      let file = try directory.openFile("f\(number)", .create)
      try file.write(filled(UInt8(number), 3000), at: 0)
      if number == 3 { try directory.sync() }
    }
    for policy in disk.crashStates().policies(mixtures: 30, seed: 7) {
      #expect(disk.crashStates().disk(policy).export() == disk.crashStates().disk(policy).export())
    }
  }
}
