import Testing
import VitrineSimulation

@testable import Vitrine

/// Rule 4: a checkpoint is published only when the log is durable up to the newest change that it holds; else it names a
/// file of the log that may not be there.
@Suite struct CheckpointOrderTests {
  @Test func aCheckpointLeadsOnToALogThatIsThere() throws {
    let work = try Workload()
    let next = "\(Workload.path)/wal/1.wal"
    var number = 0
    // Up to the first frame of a file whose head no sync has reached.
    while try #require(work.world.disk.contents(next)).prefix(128).allSatisfy({ $0 == 0 }) {
      try work.put("k\(number % 40)", Workload.bytes(200, number))
      number += 1
    }
    let begun = work.world.disk.operationCount
    try work.checkpoint()
    var looked = 0
    for moment in begun...work.world.disk.operationCount {
      let states = work.world.disk.crashStates(after: moment)
      for policy in states.policies(mixtures: 2, seed: UInt64(moment), maximumAlone: 4) {
        looked += 1
        let wrong = Inspection(history: work.history, moment: moment, powerLost: true)
          .run(work.world.rebooted(states.disk(policy)))
        #expect(wrong == nil, "after \(moment), \(policy)")
      }
    }
    #expect(looked > 30)
  }
}
