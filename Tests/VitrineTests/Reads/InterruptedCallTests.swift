import Foundation
import Testing

/// Calls to the system that are interrupted or do a part, in a separate process.
@Suite struct InterruptedCallTests {
  /// One call of three does nothing, and of the reads and writes one of three does half.
  @Test(arguments: ["mapped", "copied"]) func interruptedCallsAreMadeAgain(_ reads: String) throws {
    let outcome = try runProgram("vitrine-interrupted", reads)
    #expect(outcome.reason == .exit && outcome.status == 0, "\(reads): \(outcome.status) \(outcome.text)")
  }
}
