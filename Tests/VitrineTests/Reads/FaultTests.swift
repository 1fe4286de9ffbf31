import Foundation
import Testing

/// Faults that end a process or affect all of it: each in a separate process.
@Suite struct FaultTests {
  @Test(arguments: [
    "cut-copied", "cut-guarded", "guarded-late", "guarded-child", "guarded-zeros", "guarded-stores", "guarded-log",
    "foreign-fault-handled", "sent-ignored", "descriptors", "descriptors-copied",
  ])
  func faultIsAMissAndTheProcessContinues(_ scene: String) throws {
    let outcome = try runProgram("vitrine-faults", scene)
    #expect(outcome.reason == .exit && outcome.status == 0, "\(scene): \(outcome.status) \(outcome.text)")
  }

  @Test func storeOfManySegmentsTakesAQuarterOfTheDescriptorLimit() throws {
    let outcome = try runProgram("vitrine-faults", "few-descriptors")
    #expect(outcome.reason == .exit && outcome.status == 0, "\(outcome.status) \(outcome.text)")
  }

  @Test func forkedChildWritesAStoreOfItsOwn() throws {
    let outcome = try runProgram("vitrine-faults", "child-writes")
    #expect(outcome.reason == .exit && outcome.status == 0, "\(outcome.status) \(outcome.text)")
  }

  @Test func aNewStoresFoldersAreSyncedAndTheOneAboveIt() throws {
    let outcome = try runProgram("vitrine-faults", "synced-folders")
    #expect(outcome.reason == .exit && outcome.status == 0, "\(outcome.status) \(outcome.text)")
  }

  /// An unguarded fault ends the process as usual; so the other tests have a danger to be protected from.
  @Test(arguments: ["cut-mapped", "foreign-fault", "sent"])
  func foreignBusErrorEndsTheProcess(_ scene: String) throws {
    let outcome = try runProgram("vitrine-faults", scene)
    #expect(
      outcome.reason == .uncaughtSignal && outcome.status == SIGBUS, "\(scene): \(outcome.status) \(outcome.text)")
  }
}
