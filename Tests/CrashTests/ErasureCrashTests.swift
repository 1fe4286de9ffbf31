import Foundation
import Testing

@testable import Vitrine
@testable import VitrineSimulation

/// The power is cut while removed bytes are erased, and after that.
@Suite struct ErasureCrashTests {
  /// The files of a disk's store that hold the first bytes of `bytes`.
  private static func holders(of bytes: [UInt8], on disk: SimulatedDisk) throws -> [String] {
    let needle = Data(bytes.prefix(24))
    var holders: [String] = []
    for folder in ["wal", "checkpoints", "segments"] {
      let directory = try disk.openDirectory(Workload.path, create: false).openDirectory(folder, create: false)
      for entry in try directory.entries() {
        let content = Data(try directory.openFile(entry.name, .readOnly).readAll())
        if content.range(of: needle) != nil { holders.append("\(folder)/\(entry.name)") }
      }
    }
    return holders
  }

  @Test func erasureCanBeCutAnywhereAndIsDurableWhenItReturns() throws {
    let work = try Workload()
    for number in 0..<16 { try work.put("k\(number)", Workload.bytes(700, number), synced: number % 2 == 0) }
    for number in 0..<16 where number % 3 != 1 { try work.remove("k\(number)", synced: true) }
    let before = try Self.holders(of: Workload.bytes(700, 0), on: work.world.disk)
    #expect(before.contains { $0.hasPrefix("wal/") } && before.contains { $0.hasPrefix("segments/") })
    try work.begin()
    #expect(try work.compact().isErased)
    for policy in [CrashPolicy.everythingLost, .everythingKept] {
      let disk = work.world.disk.crashStates().disk(policy)
      for number in 0..<16 where number % 3 != 1 {
        #expect(try Self.holders(of: Workload.bytes(700, number), on: disk) == [], "\(policy), \(number)")
      }
    }
    try work.put("after", Workload.bytes(500, 1000), synced: true)
    work.explore(mixtures: 2, maximumAlone: 3)
  }

  /// Rule 8: changes may fill files of the log while others are erased. A recovery needs a file for its own frames.
  @Test func erasureLeavesALogFileForTheNextRecovery() throws {
    let work = try Workload()
    let keys = (0..<1500).map { CacheKey("k\($0)") }
    for key in keys { try work.store.put([1], for: key) }
    let changes = ChangesDuringSyncs(work, keys)
    changes.begin()
    _ = try work.store.compact()
    #expect(changes.count > 500 && changes.leastFree >= 1)
    try work.close()
  }
}

/// Removes keys in the middle of each sync, as long as the log has room for it without a checkpoint.
///
/// Invariant: one thread syncs, and the changes run in its syncs.
private final class ChangesDuringSyncs: @unchecked Sendable {
  private let work: Workload
  private var keys: [CacheKey]
  /// The number of changes.
  private(set) var count = 0
  /// The least number of log files that hold no frames of the log, in the middle of the syncs.
  private(set) var leastFree = Int.max

  init(_ work: Workload, _ keys: [CacheKey]) {
    self.work = work
    self.keys = keys
  }

  /// Begins with the next sync, and continues with those that follow.
  func begin() {
    work.world.disk.planDuringSync(1, isDurable: true) { [self] in
      let log = work.store.probe.log
      leastFree = min(leastFree, log.files.count { $0.state == .free || $0.state == .taken })
      while work.store.probe.log.freeCount > 1 || work.store.probe.log.room > 2000, let key = keys.popLast() {
        #expect(throws: Never.self) { try work.store.remove(key) }
        count += 1
      }
      begin()
    }
  }
}
