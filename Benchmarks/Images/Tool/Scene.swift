#if Images
  import Foundation

  /// Something that is measured: by name, alone or with the others.
  protocol Scene: Sendable {
    var name: String { get }
    /// What is done, on one line.
    var summary: String { get }

    func run(_ bench: Bench) async throws -> SceneReport
  }

  /// What a scene found.
  struct SceneReport {
    let scene: String
    /// What was measured with what, in words that stand above the tables.
    var setting: String
    var tables: [MarkdownTable] = []
    /// What has to be known to read the numbers.
    var remarks: [String] = []
    /// The same numbers for programs.
    var values: any Encodable & Sendable
    /// What must hold on every machine, and did not.
    var failures: [String] = []

    /// As it stands in the documents.
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
#endif
