/// A table whose rows end with a bar.
struct BarTable {
  struct Row {
    /// Texts, the first of them at the left.
    let cells: [String]
    /// The length of the bar, compared with those of the other rows.
    let size: Int
  }

  let titles: [String]
  let rows: [Row]
  /// More rows are only counted.
  var most = 50

  var html: String {
    let largest = rows.map(\.size).max() ?? 0
    let lines = rows.prefix(most).map { row in
      let cells = row.cells.map { "<td>\(PageText.escaped($0))</td>" }.joined()
      let width = PageText.percent(PageText.part(row.size, of: largest))
      return "<tr>\(cells)<td class=\"bar\"><div><i class=\"live\" style=\"width:\(width)\"></i></div></td></tr>"
    }
    let head = (titles + [""]).map { "<th>\(PageText.escaped($0))</th>" }.joined()
    let rest = rows.count - lines.count
    return "<div class=\"scroll\"><table class=\"bars\"><tr>\(head)</tr>" + lines.joined() + "</table></div>"
      + (rest > 0 ? "<p>and \(PageText.count(rest)) more</p>" : "")
  }
}
