import Foundation
import Testing

@testable import CacheCtlTool

/// An import of a file that the budget can never hold.
@Suite struct RefusedFileTests {
  private let tool: Tool

  init() throws {
    tool = try Tool()
    try FileManager.default.createDirectory(at: tool.folder.appending(path: "in"), withIntermediateDirectories: true)
    try tool.write(Data(count: 5000), to: "in/a")
    var noise = SystemRandomNumberGenerator()
    let large = Data((0..<375_000).flatMap { _ in withUnsafeBytes(of: noise.next()) { Array($0) } })
    try tool.write(large, to: "in/b")
  }

  @Test func exitStatusAndTextTellThatAFileWasRefused() throws {
    let outcome = try tool.run("import", "s", "in", "--budget", "2MiB")
    #expect(outcome.status == 4)
    #expect(outcome.text.contains("imported 1 file, 5.0 kB"), "\(outcome.text)")
    let line = "not kept: 1 file, 3.0 MB, larger than the budget, or the budget of a style, can hold"
    #expect(outcome.text.contains(line), "\(outcome.text)")
    #expect(outcome.diagnostics.contains("not kept: b: "), "\(outcome.diagnostics)")
    #expect(try tool.run("get", "s", "a").status == 0)
    #expect(try tool.run("get", "s", "b").status == 1)
  }

  @Test func jsonHasALineForARefusedFile() throws {
    let outcome = try tool.run("import", "s", "in", "--budget", "2MiB", "--json")
    #expect(outcome.status == 4)
    let lines = outcome.text.split(separator: "\n").compactMap {
      try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
    }
    let refused = lines.filter { $0["refused"] as? Bool == true }
    #expect(lines.count == 2 && refused.count == 1)
    #expect(refused.first?["url"] as? String == "b" && refused.first?["bytes"] as? Int == 3_000_000)
  }
}
