import Foundation
import Testing
import Vitrine

/// The examples of the documents compile and work, their links lead to files, and their lists are complete.
@Suite struct DocumentationTests {
  @Test func theReadmeShowsTheExampleThatIsCompiledHere() throws {
    let shown = try #require(try swiftBlocks(of: "README.md").first)
    let source = try lines(of: "Tests/DocumentationTests/ReadmeExample.swift")
    let begin = try #require(source.firstIndex(of: "// README begins"))
    let end = try #require(source.firstIndex(of: "// README ends"))
    #expect(shown.filter { $0 != "import Vitrine" }.drop { $0.isEmpty } == source[(begin + 1)..<end])
  }

  @Test func theExampleOfTheReadmeWorks() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "vitrine-readme-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let pixels = (0..<120 * 120 * 4).map { UInt8(truncatingIfNeeded: $0) }
    var drawn: [[UInt8]] = []
    try runReadmeExample(folder: folder.path, jpeg: [0xFF, 0xD8, 0xFF, 0xD9], pixels: pixels) { bytes in
      drawn.append(bytes.withUnsafeBytes { Array($0) })
    }
    #expect(drawn == [pixels])
  }

  @Test(arguments: [
    ("Docs/Embedding.md", "Embedding", 8), ("Docs/Testing.md", "Testing", 1), ("Docs/Images.md", "Images", 3),
    ("README.md", "Images", 1), ("Docs/Serving.md", "Serving", 1),
  ])
  func everyExampleIsCompiledHere(_ document: String, _ examples: String, _ least: Int) throws {
    let source = try lines(of: "Tests/DocumentationTests/\(examples)Examples.swift")
    // The readme's first one has a test of its own.
    let blocks = try swiftBlocks(of: document).dropFirst(document == "README.md" ? 1 : 0)
    #expect(blocks.count >= least)
    for block in blocks.map({ block in block.drop { $0.isEmpty || $0.hasPrefix("import ") } }) {
      let starts = source.indices.filter { source[$0...].starts(with: block) }
      #expect(!starts.isEmpty, "not compiled by the tests: \(block.joined(separator: "\n"))")
    }
  }

  /// The adapter for image loaders stores, finds and removes data.
  @Test func theDataCacheOfEmbeddingWorks() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "vitrine-loader-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let cache = DataCache(store: try CacheStore.open(at: folder.path, options: StoreOptions(byteBudget: 4 << 20)))
    cache.storeData([1, 2, 3], for: "a")
    cache.storeData([4], for: "b")
    #expect(cache.cachedData(for: "a") == [1, 2, 3] && cache.containsData(for: "b"))
    cache.removeData(for: "a")
    #expect(cache.cachedData(for: "a") == nil && cache.containsData(for: "b"))
    cache.removeAll()
    #expect(!cache.containsData(for: "b"))
    try cache.store.close()
  }

  @Test func everyFileThatADocumentLinksToIsThere() throws {
    let documents = try FileManager.default.contentsOfDirectory(atPath: root.appending(path: "Docs").path)
      .filter { $0.hasSuffix(".md") }.map { "Docs/\($0)" }
    for document in ["README.md", "CONTRIBUTING.md", "SECURITY.md"] + documents {
      let text = try lines(of: document).joined(separator: "\n")
      let folder = root.appending(path: document).deletingLastPathComponent()
      for match in text.matches(of: /\]\(([^)#:]+)\)/) {
        let target = folder.appending(path: String(match.1))
        #expect(FileManager.default.fileExists(atPath: target.path), "\(document) links to \(match.1)")
      }
    }
  }

  @Test func troubleshootingHasAnEntryForEachStoreError() throws {
    let headings = try lines(of: "Docs/Troubleshooting.md").filter { $0.hasPrefix("### `") }
    let cases = try names(/^  case (\w+)/, in: "StoreError.swift")
    #expect(cases.count >= 14)
    for name in cases {
      #expect(headings.contains { $0.hasPrefix("### `\(name)(") || $0 == "### `\(name)`" }, "no entry for \(name)")
    }
  }

  @Test func embeddingExplainsEachStoreOption() throws {
    let rows = try lines(of: "Docs/Embedding.md")
    let options = try names(/^  public var (\w+)/, in: "StoreOptions.swift")
    #expect(options.count >= 16)
    for name in options { #expect(rows.contains { $0.hasPrefix("| `\(name)` |") }, "no row for \(name)") }
  }

  @Test func operationsShowsEachCommandOfTheTool() throws {
    let shown = try lines(of: "Docs/Operations.md").joined(separator: "\n")
    let commands = try sourceFiles.filter { $0.hasPrefix("Sources/cachectl/") && $0.hasSuffix("Command.swift") }
      .compactMap { try names(/^ +name: "(\w+)"/, in: $0).first }
    #expect(commands.count >= 16)
    for name in commands { #expect(shown.contains("cachectl \(name)"), "no example of \(name)") }
  }

  /// The first capture of each line that matches, in the source file with this path or name.
  private func names(_ pattern: Regex<(Substring, Substring)>, in file: String) throws -> [String] {
    let path = try #require(try sourceFiles.first { $0 == file || $0.hasSuffix("/" + file) })
    return try String(contentsOf: root.appending(path: path), encoding: .utf8).components(separatedBy: "\n")
      .compactMap { try pattern.firstMatch(in: $0).map { String($0.1) } }
  }

  /// Paths of the Swift files below `Sources`, from the root of this repository.
  private var sourceFiles: [String] {
    get throws {
      try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: "Sources").path).sorted()
        .filter { $0.hasSuffix(".swift") }.map { "Sources/\($0)" }
    }
  }

  /// The lines between each pair of "```swift" and "```".
  private func swiftBlocks(of document: String) throws -> [[String]] {
    var blocks: [[String]] = []
    var block: [String]?
    for line in try lines(of: document) {
      if line == "```swift" {
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

  private var root: URL {
    var folder = URL(filePath: #filePath)
    for _ in 0..<3 { folder.deleteLastPathComponent() }
    return folder
  }
}
