import CacheCtlKit

/// One measured operation, with its counterpart on the bare disk if there is one.
struct BenchResult {
  struct Raw {
    let name: String
    /// For one operation; the median of all rounds.
    let nanoseconds: Double
  }

  /// For programs.
  let name: String
  /// For people.
  let title: String
  /// For one operation; the median of all rounds.
  let nanoseconds: Double
  let raw: Raw?

  /// The engine's time relative to the bare disk's.
  var cost: Double? {
    raw.flatMap { $0.nanoseconds > 0 ? nanoseconds / $0.nanoseconds : nil }
  }
}

struct BenchReport {
  let results: [BenchResult]
  let path: String

  var json: JSON {
    .object([
      ("path", .string(path)), ("rounds", .int(Benchmark.rounds)),
      ("results", .array(results.map(json))),
    ])
  }

  var text: String {
    var table = Table([.left, .right, .right, .left, .right, .right])
    table.add(["", "each", "a second", "bare disk", "each", "cost"])
    for result in results {
      let rate = result.nanoseconds > 0 ? Quantity.count(Int(1e9 / result.nanoseconds)) : "-"
      var row = [result.title, Quantity.nanoseconds(result.nanoseconds), rate]
      if let raw = result.raw, let cost = result.cost {
        row += [raw.name, Quantity.nanoseconds(raw.nanoseconds), Quantity.fixed(cost, places: 2) + " x"]
      }
      table.add(row)
    }
    return """
      \(printable(Array(path.utf8))), medians of \(Benchmark.rounds) rounds

      \(table.text(indentation: "  "))
      """
  }

  private func json(_ result: BenchResult) -> JSON {
    var members: [(String, JSON)] = [
      ("name", .string(result.name)), ("ns", .rounded(result.nanoseconds, places: 1)),
      ("per_second", .rounded(result.nanoseconds > 0 ? 1e9 / result.nanoseconds : 0, places: 1)),
    ]
    if let raw = result.raw {
      members += [
        ("raw", .string(raw.name)), ("raw_ns", .rounded(raw.nanoseconds, places: 1)),
        ("cost_ratio", result.cost.map { .rounded($0, places: 3) } ?? .null),
      ]
    }
    return .object(members)
  }
}
