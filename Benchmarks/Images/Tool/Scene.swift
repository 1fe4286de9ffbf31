import Foundation

/// A measurement with a name. The tool runs one scene or all of them.
protocol Scene: Sendable {
  var name: String { get }
  /// A description, one line.
  var summary: String { get }

  func run(_ bench: Bench) async throws -> SceneReport
}

/// The results of a scene.
struct SceneReport {
  let scene: String
  /// The measured workload and its setup, in words above the tables.
  var setting: String
  var tables: [MarkdownTable] = []
  /// Notes for reading the numbers.
  var remarks: [String] = []
  /// The numbers for programs.
  var values: any Encodable & Sendable
  /// Machine-independent promises that were broken.
  var failures: [String] = []

  /// The report in the Markdown of the documents.
  var markdown: String {
    ([setting] + tables.map(\.text) + remarks).map { $0 + "\n" }.joined(separator: "\n")
  }

  static func json(_ reports: [SceneReport]) throws -> String {
    struct Line: Encodable {
      let report: SceneReport

      enum Name: String, CodingKey { case scene, failures, values }

      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        try container.encode(report.scene, forKey: .scene)
        try container.encode(report.failures, forKey: .failures)
        try report.values.encode(to: container.superEncoder(forKey: .values))
      }
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(reports.map(Line.init)), as: UTF8.self)
  }
}
