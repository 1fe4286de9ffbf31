import Foundation
import Testing

/// The examples of `Docs/Adapters.md` are the code of `Examples.swift`.
@Suite struct ExampleTests {
  private var root: URL {
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  }

  private func lines(of path: String) throws -> [String] {
    try String(contentsOf: root.appending(path: path), encoding: .utf8).components(separatedBy: "\n")
  }

  @Test func everyExampleIsCompiledHere() throws {
    let source = try lines(of: "Tests/AdapterTests/Examples.swift")
    var rest = try lines(of: "Docs/Adapters.md")[...]
    var count = 0
    while let begin = rest.firstIndex(of: "```swift"), let end = rest[begin...].firstIndex(of: "```") {
      // The examples stand in functions, so they are indented by two spaces more.
      let block = rest[(begin + 1)..<end].map { $0.isEmpty ? $0 : "  " + $0 }
      #expect(source.indices.contains { source[$0...].starts(with: block) }, "not compiled: \(block.first ?? "")")
      count += 1
      rest = rest[(end + 1)...]
    }
    #expect(count == 5)
  }
}
