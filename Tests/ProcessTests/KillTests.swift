import Foundation
import Testing

/// The short form of `make kill`; under a sanitizer, where a round takes half a minute, a shorter one.
@Suite struct KillTests {
  @Test func whatKilledWritersHaveAcknowledgedIsThere() throws {
    let folder = try TestFolder()
    let rounds = ProcessInfo.processInfo.environment["VITRINE_SANITIZED"] == nil ? "12" : "3"
    let process = Process()
    process.executableURL = StoreProcess.executable
    process.arguments = ["kill", rounds, "\(UInt64.random(in: 0..<1_000_000))", folder.path + "/kill", "200"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let report = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(report)")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/kill"))
  }
}
