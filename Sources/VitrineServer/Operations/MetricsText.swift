/// Metrics in the text format of Prometheus, version 0.0.4.
struct MetricsText {
  private(set) var text = ""

  enum Kind: String {
    case counter, gauge, histogram
  }

  typealias Labels = [(name: String, value: String)]

  /// Adds a metric with one value.
  mutating func add(_ kind: Kind, _ name: String, _ help: String, _ value: UInt64) {
    add(kind, name, help, [([], value)])
  }

  mutating func add(_ kind: Kind, _ name: String, _ help: String, _ value: Int) {
    add(kind, name, help, UInt64(max(0, value)))
  }

  /// Adds a metric with a value for each set of labels.
  mutating func add(_ kind: Kind, _ name: String, _ help: String, _ samples: [(labels: Labels, value: UInt64)]) {
    begin(kind, name, help)
    for sample in samples { add(name, sample.labels, String(sample.value)) }
  }

  /// Adds a gauge with a fraction.
  mutating func add(_ name: String, _ help: String, _ value: Double) {
    begin(.gauge, name, help)
    add(name, [], String(value))
  }

  /// Adds a histogram of durations, in seconds, for each set of labels.
  mutating func add(_ name: String, _ help: String, _ histograms: [(labels: Labels, value: LatencyHistogram)]) {
    begin(.histogram, name, help)
    for (labels, histogram) in histograms {
      let counts = histogram.cumulativeCounts
      for (bound, count) in zip(Latencies.bounds, counts) {
        add("\(name)_bucket", labels + [("le", MetricsText.seconds(bound))], String(count))
      }
      let count = String(counts.last ?? 0)
      add("\(name)_bucket", labels + [("le", "+Inf")], count)
      add("\(name)_sum", labels, MetricsText.seconds(histogram.nanoseconds))
      add("\(name)_count", labels, count)
    }
  }

  private mutating func begin(_ kind: Kind, _ name: String, _ help: String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  private mutating func add(_ name: String, _ labels: Labels, _ value: String) {
    text += name
    if !labels.isEmpty {
      text += "{" + labels.map { "\($0.name)=\"\(MetricsText.escaped($0.value))\"" }.joined(separator: ",") + "}"
    }
    text += " \(value)\n"
  }

  private static func escaped(_ value: String) -> String {
    value.reduce(into: "") { text, character in
      switch character {
      case "\\": text += "\\\\"
      case "\"": text += "\\\""
      case "\n": text += "\\n"
      default: text.append(character)
      }
    }
  }

  /// Nanoseconds as a decimal fraction of seconds, without loss.
  static func seconds(_ nanoseconds: UInt64) -> String {
    let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    if rest == 0 { return String(whole) }
    var digits = String(String(1_000_000_000 + rest).dropFirst())
    while digits.last == "0" { digits.removeLast() }
    return "\(whole).\(digits)"
  }
}
