/// `results.json`: a list of objects, one for each row.
enum JSONReport {
  static func text(_ rows: [ResultRow]) -> String {
    "[\n" + rows.map { "  " + object($0) }.joined(separator: ",\n") + "\n]\n"
  }

  private static func object(_ row: ResultRow) -> String {
    let members = [
      ("workload", string(row.workload)), ("metric", string(row.metric.name)),
      ("engine", string(row.engine.rawValue)), ("unit", string(row.metric.unit)),
      ("median", number(row.spread.median)), ("low", number(row.spread.low)), ("high", number(row.spread.high)),
      ("ratio_to_raw", row.ratioToRaw.map(number) ?? "null"),
    ]
    return "{" + members.map { "\(string($0.0)): \($0.1)" }.joined(separator: ", ") + "}"
  }

  private static func number(_ value: Double) -> String { value.isFinite ? "\(value)" : "null" }

  /// Names of this program have no control characters.
  private static func string(_ text: String) -> String {
    "\"" + text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "\""
  }
}
