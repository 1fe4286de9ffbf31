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
      guard count % Thoroughness.stride == 0 else { continue }
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
}
