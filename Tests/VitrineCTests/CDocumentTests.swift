import Foundation
import Testing

/// The examples of Docs/C.md are word for word in programs that `LibraryTests` compiles and runs.
@Suite struct CDocumentTests {
  @Test(arguments: [("c", 9), ("cpp", 1)])
  func everyExampleIsCompiled(_ language: String, _ least: Int) throws {
    let source = try lines(of: "Tests/VitrineCTests/Programs/examples.\(language)")
    let blocks = try blocks(of: "Docs/C.md", language)
    #expect(blocks.count >= least)
    for block in blocks {
      #expect(
        source.indices.contains { source[$0...].starts(with: block) }, "not compiled: \(block.joined(separator: "\n"))")
    }
  }

  @Test func eachFunctionThatTheDocumentNamesIsExported() throws {
    let names = Set(try pinnedSymbols())
    let text = try lines(of: "Docs/C.md").joined(separator: "\n")
    let cited = Set(
      text.matches(of: /\bvitrine_\w+\(|`(vitrine_\w+)`/).map { $0.output.0.filter { $0 != "`" && $0 != "(" } })
    #expect(cited.count >= 15)
    for name in cited where name != "vitrine_error" { #expect(names.contains(name), "\(name) is not exported") }
  }

  /// The code blocks of a language, as lines.
  private func blocks(of document: String, _ language: String) throws -> [[String]] {
    var blocks: [[String]] = []
    var block: [String]?
    for line in try lines(of: document) {
      if line == "```\(language)" {
        block = []
      } else if line == "```" {
        if let block { blocks.append(block) }
        block = nil
      } else {
        block?.append(line)
      }
    }
    return blocks
  }

  /// The lines of a file of this repository, without the spaces before and after each.
  private func lines(of path: String) throws -> [String] {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
      .components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
  }
}
