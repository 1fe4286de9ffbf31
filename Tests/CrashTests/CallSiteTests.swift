import Foundation
import Testing

@testable import Vitrine
@testable import VitrineSimulation

/// The table that `crashtest` prints has every call by which the engine changes the disk.
@Suite struct CallSiteTests {
  /// A line of the engine that changes the disk.
  private struct Line: Hashable, CustomStringConvertible {
    let site: String
    let code: String
    /// Without its line number, which changes.
    var name: String { "\(site.prefix { $0 != ":" }) \(code)" }
    var description: String { "\(site) \(code)" }
  }

  /// Calls through the seam, by name and receiver; a name with another meaning elsewhere is distinguished by its
  /// arguments.
  private static let calls = [
    #"\.(sync|syncName|truncate|rename|didStore|writeZeros)\("#,
    #"\.allocate\(byteCount: (byteCount|room|CacheFormat\.newWALFile|checkpointByteCount)\)"#,
    #"\.allocate\(byteCount: (Creation\.areaBlocks|blockCount) \* "#,
    #"\.allocate\(byteCount: Counters"#,
    #"\.openFile\(.*\.create\)"#, #"\.openDirectory\(.*create: (create|!)"#,
    #"(folders\.\w+|root|directory)\.remove\("#, #"([fF]ile|tag|counters|checkpoint|area)\.write\("#,
    #"active\.file\."#,
  ]

  /// Similar lines that change nothing on the disk, or only pass a call on.
  private static let others: Set<String> = [
    "try file.file.sync()", "try taken.sync()", "if isMoved { try wal?.sync() }",
    "try syncs.sync(unless: { state.withLock { $0.failure == nil } && durableSequence >= sequence }, syncFiles)",
  ]

  /// Lines that no workload reaches, and the tests that do.
  private static let elsewhere: [String: String] = [
    "CheckpointRoom.swift try file.allocate(byteCount: byteCount)":
      "takes 1,024 keys: CheckpointBlocksTests/checkpointFilesThatHaveGrownKeepTheirLength",
    "CheckpointRoom.swift try file.sync()": "the same",
    "UseHints.swift (try? file.write([UInt8](repeating: 0, count: byteCount), at: 0)) != nil":
      "takes a read-only opening: UseHintTests/entriesThatOnlyReadersUseStay",
    "UseHints.swift try? target.file.write(UseHints.encoded(zip(used, found).map { $0 == 0 ? $1 : $0 }), at: 0)":
      "the same",
    "CheckpointSet.swift try file.truncate(to: byteCount)":
      "the same: FootprintTests/checkpointFilesShrinkAfterEntriesAreGone",
    "LogSizer.swift if byteCount > file.byteCount { try? file.file.truncate(to: file.byteCount) }":
      "takes a full disk: RoomReleaseCrashTests/fullDiskLeavesTheLogAsItIs",
    "Adoption.swift if cut < byteCount, (try? file.truncate(to: cut)) != nil { byteCount = cut }":
      "takes a file without blocks: RoomReleaseCrashTests/logFileIsCutToTheBlocksThatACrashHasLeft",
    "Adoption.swift try file.allocate(byteCount: byteCount)": "the same",
    "Creation.swift try file.sync()":
      "takes a missing log file: MissingFileTests/fileRecreatedByAnOpeningIsDurable",
    "Creation.swift if isOwn { try directory.remove(entry.name) }":
      "MissingFileTests/interruptedRecreationIsCompletedByTheNextOpening",
    "Creation.swift try directory.remove(name)": "the same",
    "Creation.swift try folders.root.sync()": "the same",
    "Creation.swift try folders.checkpoints.remove(CheckpointHeader.fileName(index))": "the same",
    "Creation.swift try folders.checkpoints.sync()": "the same",
    "WALScan.swift try? found.file.write([UInt8](repeating: 0, count: WALFileHeader.byteCount), at: 0)":
      "takes a damaged log: DamagedLogTests/damagedHeaderIsNotTakenForAnUnusedFile",
    "PieceSet.swift try? area.truncate(to: self.blockCount * Piece.blockByteCount)":
      "takes a full disk: FormatOnFullDiskTests/aStoreWithoutRoomKeepsTheFirstFormat",
    "Adoption.swift try folders.checkpoints.remove(CacheFormat.areaFile)":
      "the same",
    "Adoption.swift if loaded.files.area != nil { try? folders.checkpoints.remove(CacheFormat.areaFile) }":
      "FormatConversionTests/anAreaOfAConversionThatWasCutOffIsRemoved",
    "Adoption.swift try? folders.checkpoints.remove(CacheFormat.usesListFile)":
      "takes a rebuild: SavedUsesTests/aRebuiltIndexForgetsEarlierUses",
    "Adoption.swift try? folders.checkpoints.sync()": "the same",
    "UseSaver.swift (try? folders.checkpoints.remove(CacheFormat.usesListFile)) != nil":
      "takes many keys: SavedUsesTests/longFileIsRemovedAfterItsEntries",
    "UseSaver.swift try? folders.checkpoints.remove(CacheFormat.usesListFile)":
      "takes a full disk: FormatOnFullDiskTests/aFullDiskDelaysTheSavingOfUses",
    "SegmentSupply.swift try folders.segments.remove(name)":
      "a coincidence: SegmentSupplyCrashTests/fullLogRemovesANewSegmentAndWritesACheckpoint",
  ]

  private static func lines() throws -> [Line] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Sources/Vitrine")
    let patterns = try calls.map { try Regex($0) }
    var found: [Line] = []
    let files = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
    for case let file as URL in files where file.pathExtension == "swift" && !file.path.contains("/Platform/") {
      let text = try String(contentsOf: file, encoding: .utf8)
      for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
        let code = line.trimmingCharacters(in: .whitespaces)
        guard !code.hasPrefix("//"), !code.contains("syncer.sync("), !code.contains("func "),
          patterns.contains(where: { line.contains($0) }),
          !others.contains(code)
        else { continue }
        found.append(Line(site: "\(file.lastPathComponent):\(number + 1)", code: code))
      }
    }
    return found
  }

  /// Returns the lines that one round of a workload reaches, also after process deaths and losses of power in it.
  private static func sites(of workload: CrashWorkload, round: Int) throws -> Set<String> {
    var sites: Set<String> = []
    func note(_ disk: SimulatedDisk) { for case let site? in disk.operations.map(\.site) { sites.insert("\(site)") } }
    let seed = workload.seed(1, round: round)
    let store = try workload.make(seed: seed)
    try workload.run(store, seed: seed)
    note(store.world.disk)
    for moment in stride(from: store.moments.lowerBound + round, through: store.moments.upperBound, by: 12) {
      let states = store.world.disk.crashStates(after: moment)
      for policy: CrashPolicy? in [nil, .everythingLost] {
        let cut = Cut(
          place: .init(operationCount: moment, policy: policy), description: "",
          disk: { policy.map(states.disk) ?? states.diskAfterProcessDeath() })
        note(try CutRecovery(store, cut, .firstRead).world.disk)
      }
    }
    return sites
  }

  /// Returns the lines that rounds of all workloads reach. Stops after 16 rounds, or once the only missing lines are in
  /// `elsewhere`.
  private static func sites(_ lines: [Line]) throws -> Set<String> {
    var counted: Set<String> = []
    for round in 0..<16 {
      for workload in CrashWorkload.all { counted.formUnion(try sites(of: workload, round: round)) }
      let missing = lines.filter { !counted.contains($0.site) }.map(\.name)
      if Set(missing).count == missing.count, missing.allSatisfy({ elsewhere[$0] != nil }) { break }
    }
    return counted
  }

  @Test(.enabled(if: !Thoroughness.isSanitized)) func everyCallSiteIsInTheTable() throws {
    let lines = try Self.lines()
    #expect(lines.count > 60)
    let counted = try Self.sites(lines)
    // The search for lines finds all lines of the table.
    let listed = Set(lines.map(\.site))
    #expect(counted.subtracting(listed).isEmpty, "\(counted.subtracting(listed))")
    // If lines have equal text, such as those that make and recreate a store, only one of them is listed.
    var named: Set<String> = []
    for line in lines where !counted.contains(line.site) {
      #expect(Self.elsewhere[line.name] != nil && named.insert(line.name).inserted, "no workload comes to \(line)")
    }
    let names = Set(lines.map(\.name))
    for name in Self.elsewhere.keys { #expect(names.contains(name), "\(name) is no more") }
  }
}
