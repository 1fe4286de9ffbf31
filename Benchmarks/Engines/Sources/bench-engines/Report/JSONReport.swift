import CacheCtlKit

/// `results.json`: a list of objects, one for each row.
enum JSONReport {
  static func text(_ rows: [ResultRow]) -> String {
    "[\n" + rows.map { "  " + object($0).line }.joined(separator: ",\n") + "\n]\n"
  }

  private static func object(_ row: ResultRow) -> JSON {
    .object([
      ("workload", .string(row.workload)), ("metric", .string(row.metric.name)),
      ("engine", .string(row.engine.rawValue)), ("unit", .string(row.metric.unit)),
      ("median", .double(row.spread.median)), ("low", .double(row.spread.low)), ("high", .double(row.spread.high)),
      ("ratio_to_raw", row.ratioToRaw.map { .double($0) } ?? .null),
    ])
  }
}
