import Foundation
import Testing

/// Faults that end a process, or that all of it has a part in: each in a process of its own.
@Suite struct FaultTests {
  private func run(
    _ scene: String, of program: String = "vitrine-faults"
  ) throws -> (reason: Process.TerminationReason, status: Int32, text: String) {
    let folder = try TemporaryFolder()
    let process = Process()
    // The tests' own executable lies beside it.
    let tests = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    process.executableURL = tests.deletingLastPathComponent().appendingPathComponent(program)
    process.arguments = [scene, folder.store]
    process.environment = ProcessInfo.processInfo.environment.merging([
      "SWIFT_BACKTRACE": "enable=no", "TSAN_OPTIONS": options("TSAN_OPTIONS"), "ASAN_OPTIONS": options("ASAN_OPTIONS"),
    ]) { $1 }
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationReason, process.terminationStatus, text)
  }

  /// A sanitizer leaves the signal to the program.
  private func options(_ variable: String) -> String {
    (ProcessInfo.processInfo.environment[variable].map { $0 + ":" } ?? "") + "handle_sigbus=0"
  }

  @Test(arguments: [
    "cut-copied", "cut-guarded", "guarded-late", "guarded-child", "guarded-zeros", "guarded-stores", "guarded-log",
    "foreign-fault-handled", "sent-ignored", "descriptors", "descriptors-copied",
  ])
  func aFaultGivesAMissAndTheProcessGoesOn(_ scene: String) throws {
    let outcome = try run(scene)
    #expect(outcome.reason == .exit && outcome.status == 0, "\(scene): \(outcome.status) \(outcome.text)")
  }

  /// One call to the system of three does nothing at all, and of the reads and writes one of three does half.
  @Test(arguments: ["mapped", "copied"]) func interruptedCallsAreMadeAgain(_ scene: String) throws {
    let outcome = try run(scene, of: "vitrine-interrupted")
    #expect(outcome.reason == .exit && outcome.status == 0, "\(scene): \(outcome.status) \(outcome.text)")
  }

  @Test func aNewStoresFoldersAreSyncedAndTheOneAboveIt() throws {
    let outcome = try run("synced-folders")
    #expect(outcome.reason == .exit && outcome.status == 0, "\(outcome.status) \(outcome.text)")
  }

  /// What is not guarded ends the process as ever; so the others have something to be kept from.
  @Test(arguments: ["cut-mapped", "foreign-fault", "sent"])
  func aBusErrorThatIsNotOursEndsTheProcess(_ scene: String) throws {
    let outcome = try run(scene)
    #expect(
      outcome.reason == .uncaughtSignal && outcome.status == SIGBUS, "\(scene): \(outcome.status) \(outcome.text)")
  }
}
