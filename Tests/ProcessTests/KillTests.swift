import Foundation
import Testing

/// The short form of `make kill`. It runs fewer rounds under a sanitizer, where a round takes half a minute.
@Suite struct KillTests {
  @Test func acknowledgedPutsOfKilledWritersSurvive() throws {
    let folder = try TestFolder()
    let rounds = ProcessInfo.processInfo.environment["VITRINE_SANITIZED"] == nil ? "12" : "3"
    let seed = UInt64.random(in: 0..<1_000_000)
    let (status, report) = try StoreProcess.run(["kill", rounds, "\(seed)", folder.path + "/kill", "200"])
    #expect(status == 0, "\(report)")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/kill"))
  }
}
