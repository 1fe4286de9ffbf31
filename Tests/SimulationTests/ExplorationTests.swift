import Testing
import Vitrine
import VitrineSimulation

@Suite struct ExplorationTests {
  /// Replaces `/d/value` as programs do, by a new file and a rename, optionally without the sync of the file.
  private func replaceByRename(_ disk: SimulatedDisk, _ value: [UInt8], syncingFile: Bool = true) throws {
    let directory = try disk.openDirectory("/d", create: true)
    try disk.syncName(ofFolder: "/d")
    if disk.contents("/d/new") != nil { try directory.remove("new") }
    let file = try directory.openFile("new", .create)
    try file.write(value, at: 0)
    if syncingFile { try file.sync() }
    try directory.rename("new", to: "value")
    try directory.sync()
  }

  /// Runs five replacements. Returns the crashes after which the disk shows neither the last acknowledged value nor the
  /// value being written.
  private func violations(syncingFile: Bool, mixtures: Int = 4) throws -> [Crash] {
    let disk = SimulatedDisk()
    let values = (1...5).map { filled(UInt8($0), 1000) }
    var acknowledged: [Int] = []
    for value in values {
      try replaceByRename(disk, value, syncingFile: syncingFile)
      acknowledged.append(disk.operationCount)
    }
    return disk.crashes(mixtures: mixtures, seed: 1).filter { crash in
      let count = acknowledged.prefix { $0 <= crash.operationCount }.count
      let found = crash.disk().contents("/d/value")
      return
        !(count > 0 && found == values[count - 1] || count < 5 && found == values[count]
        || count == 0 && found == nil)
    }
  }

  @Test func safeProtocolSurvivesEveryCrash() throws {
    let found = try violations(syncingFile: true)
    #expect(found.isEmpty, "\(found.first?.description ?? "")")
  }

  @Test func aSyncLeftOutIsFound() throws {
    let found = try violations(syncingFile: false)
    #expect(!found.isEmpty)
    // The exploration finds violations without random mixtures, too.
    #expect(try !violations(syncingFile: false, mixtures: 0).isEmpty)
  }

  @Test func aSyncThatPretendsIsFound() throws {
    let disk = SimulatedDisk()
    disk.plan(Fault(.syncFile, on: .suffix("/new"), occurrence: 2, .pretend))
    try replaceByRename(disk, [1])
    try replaceByRename(disk, [2])
    #expect(disk.strikeCount == 1)
    #expect(disk.crashStates().disk(.everythingLost).contents("/d/value") == [])
  }

  @Test func everyMomentIsVisitedAndNoDiskTwice() throws {
    let disk = SimulatedDisk()
    try replaceByRename(disk, filled(1, 3000), syncingFile: false)
    var moments: Set<Int> = []
    var seen: Set<[Int]> = []
    for crash in disk.crashes(mixtures: 10, seed: 3) {
      moments.insert(crash.operationCount)
      #expect(seen.insert([crash.operationCount, Int(truncatingIfNeeded: crash.fingerprint)]).inserted)
      // A description is enough to make the disk again.
      #expect(
        disk.crashStates(after: crash.operationCount).disk(crash.policy).export() == crash.disk().export())
    }
    #expect(moments == Set(0...disk.operationCount))
    let one = disk.crashes(mixtures: 10, seed: 3, after: [4, 2, 4, 99, -1])
    #expect(Set(one.map(\.operationCount)) == [2, 4])
  }

  @Test func disksAreDistinguishedByNamesBytesAndBlocks() throws {
    func fingerprint(_ body: (any Directory) throws -> Void) throws -> UInt64 {
      let (disk, directory) = try diskWithFolder()
      try body(directory)
      return try #require(
        disk.crashes(mixtures: 0, seed: 0, after: [disk.operationCount]).first { _ in true }
      ).fingerprint
    }
    let all = try [
      fingerprint { _ in },
      fingerprint { _ = try durableFile("a", [], in: $0) },
      fingerprint { _ = try durableFile("b", [], in: $0) },
      fingerprint { _ = try durableFile("a", [0], in: $0) },
      fingerprint { _ = try durableFile("a", [1], in: $0) },
      fingerprint { _ = try durableFile("a", [1, 0], in: $0) },
      fingerprint { try durableFile("a", [1], in: $0).allocate(byteCount: 8192) },
      fingerprint { try durableFile("a", [1], in: $0).truncate(to: 8192) },
      fingerprint { _ = try $0.openDirectory("a", create: true) },
    ]
    #expect(Set(all).count == all.count)
    let again = try fingerprint {
      let file = try durableFile("a", [5, 0], in: $0)
      try file.write([1], at: 0)
    }
    #expect(again == all[5])
  }

  @Test func equalDisksAreLeftOutOnlyWhereTheSameMustHold() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", [0], in: directory)
    let begin = disk.operationCount
    for _ in 0..<10 { try file.write([0], at: 0) }
    let moments = Array(begin...disk.operationCount)
    #expect(Array(disk.crashes(mixtures: 0, seed: 0, after: moments)).count == 11)
    #expect(Array(disk.crashes(mixtures: 0, seed: 0, after: moments) { _ in 0 }).count == 1)
    #expect(Array(disk.crashes(mixtures: 0, seed: 0, after: moments) { $0 / 2 }).count == 6)
  }

  @Test func theNumberOfChangesTakenAloneCanBeBounded() throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(0, 100), in: directory)
    for position in 0..<100 { try file.write([1], at: position) }
    let states = disk.crashStates()
    func alone(_ maximum: Int) -> [Int] {
      states.policies(mixtures: 0, seed: 1, maximumAlone: maximum).compactMap {
        if case .onlyLost(let index) = $0 { index } else { nil }
      }
    }
    #expect(alone(.max).count == 100)
    #expect(alone(10).count == 10 && alone(10) == alone(10))
    #expect(Set(alone(10).suffix(5)) == Set(states.unsynced.suffix(5).map(\.index)))
    #expect(alone(0).isEmpty)
  }

  @Test func aCrashDuringRecoveryFromACrashCanBeExplored() throws {
    let disk = SimulatedDisk()
    try replaceByRename(disk, [1])
    try replaceByRename(disk, [2])
    var visited = 0
    for crash in disk.crashes(mixtures: 1, seed: 5) {
      let recovered = crash.disk()
      try replaceByRename(recovered, [3])
      for second in recovered.crashes(mixtures: 1, seed: 6) {
        visited += 1
        let allowed: [[UInt8]?] = [crash.disk().contents("/d/value"), [3]]
        #expect(allowed.contains(second.disk().contents("/d/value")), "\(crash), then \(second)")
      }
    }
    #expect(visited > 100)
  }
}
