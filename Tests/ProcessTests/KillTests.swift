import Foundation
import Testing

/// The short form of `make kill`.
@Suite struct KillTests {
  @Test func whatKilledWritersHaveAcknowledgedIsThere() throws {
    let folder = try TestFolder()
    let process = Process()
    process.executableURL = StoreProcess.executable
    process.arguments = ["kill", "12", "\(UInt64.random(in: 0..<1_000_000))", folder.path + "/kill", "200"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let report = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(report)")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/kill"))
  }
}
