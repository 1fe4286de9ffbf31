import Foundation
import Testing
import Vitrine

@testable import CacheCtlKit

/// Files of a store that another program truncates under the running tool.
@Suite struct CutStoreTests {
  private let tool: Tool

  init() throws { tool = try Tool() }

  private func fillFolder() throws {
    for number in 0..<300 { try tool.write(noise(700), to: "in/\(number)") }
  }

  private func noise(_ count: Int) -> Data { Data((0..<count).map { _ in UInt8.random(in: 0...255) }) }

  /// Truncates every file of the store but `STORE` and `LOCK` to 0 bytes.
  private func cut() throws {
    for folder in ["segments", "wal", "checkpoints"] {
      let path = tool.folder.path + "/s/" + folder
      for name in try FileManager.default.contentsOfDirectory(atPath: path) {
        #expect(truncate("\(path)/\(name)", 0) == 0)
      }
    }
  }

  /// Each line names a URL of 3 KB, so the pipe is full long before the last file.
  @Test(arguments: [["--reads", "mapped"], ["--reads", "copied"], ["--sync"], []])
  func importIntoTruncatedFilesEndsWithAStatus(_ options: [String]) throws {
    try fillFolder()
    let prefix = String(repeating: "u", count: 3000)
    let outcome = try tool.runStalled(
      ["import", "s", "in", "--url-prefix", prefix, "--budget", "4MiB", "--json"] + options, meanwhile: cut)
    #expect([0, 1, 3].contains(outcome.status), "\(outcome.status) \(outcome.diagnostics)")
    #expect((outcome.status == 3) == outcome.diagnostics.contains("cachectl import: the disk refused a write"))
  }

  /// Export reads every value, and its folder is not the store's.
  @Test(arguments: ["mapped", "copied"])
  func exportOfTruncatedFilesNamesDamagedEntries(_ reads: String) throws {
    try fillFolder()
    let prefix = String(repeating: "u", count: 3000)
    #expect(try tool.run("import", "s", "in", "--url-prefix", prefix, "--budget", "4MiB").status == 0)
    let outcome = try tool.runStalled(["export", "s", "out", "--json", "--reads", reads], meanwhile: cut)
    #expect(outcome.status == 1, "\(outcome.status) \(outcome.diagnostics)")
    #expect(outcome.diagnostics.contains("damaged: "))
    // A value that was exported before the cut is intact.
    for line in outcome.lines {
      let name = try #require(line["url"] as? String).dropFirst(prefix.count)
      let file = try #require(line["file"] as? String)
      #expect(tool.read("out/" + file) == tool.read("in/\(name)"))
    }
  }

  @Test func everyReadModeReturnsTheSame() throws {
    let value = noise(5000)
    #expect(try tool.run(["put", "s", "u", "--reads", "copied"], input: value).status == 0)
    for reads in ["mapped", "copied"] {
      #expect(try tool.run("get", "s", "u", "--reads", reads).output == value)
      for command in [["verify", "s"], ["stat", "s"], ["ls", "s"], ["compact", "s"]] {
        let outcome = try tool.run(command + ["--json", "--reads", reads])
        #expect(outcome.status == 0, "\(command) \(outcome.diagnostics)")
      }
    }
    #expect(try tool.run("get", "s", "u", "--reads", "quickly").status == 2)
    #expect(try tool.run("rm", "s", "u", "--reads", "copied").status == 0)
  }

  @Test func onlyARefusedMappingSuggestsCopiedReads() {
    let refused = SystemError(code: ENODEV, operation: "map", path: "s/segments/1")
    #expect(ReadMode.hint(for: .system(refused))?.contains("--reads copied") == true)
    #expect(ReadMode.hint(for: .writeFailed(refused))?.contains("--reads copied") == true)
    #expect(ReadMode.hint(for: .system(SystemError(code: ENODEV, operation: "open", path: "s"))) == nil)
    #expect(ReadMode.hint(for: .noSpace) == nil)
  }
}
