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
}
