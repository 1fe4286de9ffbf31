import Foundation
import Testing

/// Faults that end a process, or that all of it has a part in: each in a process of its own.
@Suite struct FaultTests {
  @Test(arguments: [
    "cut-copied", "cut-guarded", "guarded-late", "guarded-child", "guarded-zeros", "guarded-stores", "guarded-log",
    "foreign-fault-handled", "sent-ignored", "descriptors", "descriptors-copied",
  ])
  func aFaultGivesAMissAndTheProcessGoesOn(_ scene: String) throws {
    let outcome = try runProgram("vitrine-faults", scene)
    #expect(outcome.reason == .exit && outcome.status == 0, "\(scene): \(outcome.status) \(outcome.text)")
  }

  @Test func storeOfManySegmentsTakesAQuarterOfTheDescriptorLimit() throws {
    let outcome = try runProgram("vitrine-faults", "few-descriptors")
    #expect(outcome.reason == .exit && outcome.status == 0, "\(outcome.status) \(outcome.text)")
  }

  @Test func aNewStoresFoldersAreSyncedAndTheOneAboveIt() throws {
    let outcome = try runProgram("vitrine-faults", "synced-folders")
    #expect(outcome.reason == .exit && outcome.status == 0, "\(outcome.status) \(outcome.text)")
  }

  /// What is not guarded ends the process as ever; so the others have something to be kept from.
  @Test(arguments: ["cut-mapped", "foreign-fault", "sent"])
  func aBusErrorThatIsNotOursEndsTheProcess(_ scene: String) throws {
    let outcome = try runProgram("vitrine-faults", scene)
    #expect(
      outcome.reason == .uncaughtSignal && outcome.status == SIGBUS, "\(scene): \(outcome.status) \(outcome.text)")
  }
}
