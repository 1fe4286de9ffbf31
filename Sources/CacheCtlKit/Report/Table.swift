/// Rows of cells, in columns as wide as their widest cell.
public struct Table: Sendable {
  public enum Alignment: Sendable { case left, right }

  private let alignments: [Alignment]
  private var rows: [[String]] = []

  public init(_ alignments: [Alignment]) { self.alignments = alignments }

  public var isEmpty: Bool { rows.isEmpty }

  /// Missing cells leave the last columns empty.
  public mutating func add(_ cells: [String]) { rows.append(cells) }

  /// Each line begins with `indentation`, columns are two spaces apart, and no line ends in a space.
  public func text(indentation: String = "") -> String {
    var widths = alignments.map { _ in 0 }
    for row in rows {
      for (column, cell) in row.enumerated() { widths[column] = max(widths[column], cell.count) }
    }
    var text = ""
    for row in rows {
      var line = indentation
      for (column, cell) in row.enumerated() {
        let gap = String(repeating: " ", count: widths[column] - cell.count)
        line += (column > 0 ? "  " : "") + (alignments[column] == .left ? cell + gap : gap + cell)
      }
      while line.last == " " { line.removeLast() }
      text += line + "\n"
    }
    return text
  }
}

extension String {
  /// Padded with spaces on the right.
  public func padded(to width: Int) -> String {
    self + String(repeating: " ", count: Swift.max(0, width - count))
  }

  /// Cut to `width` characters; the last three are dots if characters were cut.
  public func shortened(to width: Int) -> String {
    count <= width ? self : String(prefix(Swift.max(0, width - 3))) + "..."
  }
}
