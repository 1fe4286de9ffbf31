import CacheCtlKit

/// A Markdown table. The first column is text, and the others are numbers.
struct MarkdownTable {
  let head: [String]
  private(set) var rows: [[String]] = []

  init(_ head: String...) { self.head = head }

  mutating func add(_ cells: String...) { rows.append(cells) }

  var text: String {
    let rule = "|" + head.indices.map { $0 == 0 ? "---|" : "---:|" }.joined()
    return ([MarkdownTable.line(head), rule] + rows.map(MarkdownTable.line)).joined(separator: "\n")
  }

  private static func line(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }
}

/// Numbers in the format of the tables.
enum Figure {
  static func milliseconds(_ seconds: Double) -> String {
    let milliseconds = seconds * 1000
    return Quantity.fixed(milliseconds, places: milliseconds < 1 ? 3 : milliseconds < 100 ? 1 : 0)
  }

  static func microseconds(_ seconds: Double) -> String {
    let microseconds = seconds * 1e6
    return Quantity.fixed(microseconds, places: microseconds < 10 ? 2 : microseconds < 100 ? 1 : 0)
  }

  static func seconds(_ seconds: Double) -> String { Quantity.fixed(seconds, places: seconds < 10 ? 3 : 1) }
  static func percent(_ share: Double, places: Int = 0) -> String {
    Quantity.fixed(share * 100, places: places) + " %"
  }
  /// In units of 1,000,000 bytes.
  static func megabytes(_ byteCount: Int) -> String { Quantity.fixed(Double(byteCount) / 1e6, places: 1) + " MB" }
}
