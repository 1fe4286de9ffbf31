import Testing
import VitrineSimulation

@testable import Vitrine

/// The operations of these tests are recorded, and then checked in every state that a crash could leave.
typealias Workload = RecordedStore

extension RecordedStore {
  /// Cuts the power after every operation, in all requested ways, and checks the state.
  func explore(
    mixtures: Int = 3, maximumAlone: Int = 6, verification: Verification = .firstRead,
    at location: SourceLocation = #_sourceLocation
  ) {
    var count = 0
    var failures: [String] = []
    let crashes = crashes(mixtures: mixtures, seed: 7, maximumAlone: maximumAlone)
    for crash in crashes {
      count += 1
      guard Thoroughness.takes(count) else { continue }
      let inspection = Inspection(
        history: history, moment: crash.operationCount, powerLost: true, verification: verification)
      if let wrong = inspection.run(world.rebooted(crash.disk())) {
        failures.append("\(crash): \(wrong)")
        if failures.count >= 4 { break }
      }
    }
    #expect(failures.isEmpty, "\(failures.joined(separator: "\n"))", sourceLocation: location)
    #expect(count > 30, sourceLocation: location)
    #expect(world.disk.misuse.isEmpty, sourceLocation: location)
  }

  /// Puts values of 3,000 bytes under eight names until the log continues in its next file; `number` counts them.
  func turnLog(_ number: inout Int) throws {
    let use = store.probe.log.position.use
    while store.probe.log.position.use == use {
      try put("k\(number % 8)", Workload.bytes(3000, number), synced: true)
      number += 1
    }
  }

  // MARK: Damage

  /// The first file of the log.
  static let log = "\(Workload.path)/wal/0.wal"

  /// Opens a copy of the store, as the death of its process leaves it and with some damage.
  func reopened(_ damage: (SimulatedDisk) -> Void) throws -> CacheStore {
    let world = world.rebooted(world.disk.crashStates().diskAfterProcessDeath())
    damage(world.disk)
    return try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
  }

  /// The offset of the frame that `change` appends to the log's first file, or its beginning if a later file has
  /// the frame.
  func placeOfFrame(_ change: () throws -> Void) throws -> Int {
    let before = world.disk.contents(Workload.log)!
    try change()
    let after = world.disk.contents(Workload.log)!
    return (0..<after.count).first { before[$0] != after[$0] } ?? 0
  }

  /// The number of the checkpoint file that an opening takes.
  var newestCheckpoint: Int { generation(ofCheckpoint: 0) > generation(ofCheckpoint: 1) ? 0 : 1 }

  func generation(ofCheckpoint index: Int) -> UInt64 {
    let bytes = world.disk.contents("\(Workload.path)/checkpoints/\(index).checkpoint") ?? []
    return bytes.withUnsafeBytes { CheckpointHeader($0)?.generation } ?? 0
  }
}
