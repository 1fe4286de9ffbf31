import Foundation
import Testing
import VitrineSimulation

/// A budget given to the tool holds when the tool exits, measured by `du`.
@Suite struct BudgetTests {
  private let tool: Tool

  init() throws { tool = try Tool() }

  private func diskUsage(_ path: String) throws -> Int {
    func blocks(_ path: String) -> Int {
      var status = stat()
      return lstat(path, &status) == 0 ? Int(status.st_blocks) * 512 : 0
    }
    let names = try FileManager.default.subpathsOfDirectory(atPath: path)
    return names.reduce(blocks(path)) { $0 + blocks("\(path)/\($1)") }
  }

  private func importFolder(_ name: String, _ budget: String) throws {
    let outcome = try tool.run("import", "s", name, "--budget", budget)
    #expect(outcome.status == 0, "\(outcome.diagnostics)")
  }

  @Test func importWithSmallerBudgetShrinksTheFolder() throws {
    let files = tool.folder.appendingPathComponent("files")
    let none = tool.folder.appendingPathComponent("none")
    let store = tool.folder.path + "/s"
    for folder in [files, none] {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }
    var generator = SplitMix64(seed: 3)
    for number in 0..<150 {
      let bytes = (0..<11_000).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } }
      try Data(bytes).write(to: files.appendingPathComponent("\(number)"))
    }
    try importFolder("files", "20MB")
    #expect(try diskUsage(store) > 13_000_000)
    try importFolder("none", "4MB")
    #expect(try diskUsage(store) <= 4_000_000)
    for number in 0..<10 {
      #expect(try tool.run("put", "s", "small\(number)", "files/\(number)").status == 0)
      #expect(try diskUsage(store) <= 4_000_000)
    }
    #expect(try tool.run("compact", "s").status == 0)
    #expect(try diskUsage(store) <= 4_000_000)
    #expect(try tool.run("verify", "s").status == 0)
    let stat = try #require(try tool.run("stat", "s", "--json").json)
    #expect(stat["entries"] as? Int ?? 0 > 15)
  }
}
