import Foundation

/// A strict reader of the text format of Prometheus, version 0.0.4.
struct MetricsFormat {
  struct Sample: Equatable {
    let name: String
    let labels: [String: String]
    let value: Double
  }

  struct Metric {
    let kind: String
    let help: String
    var samples: [Sample] = []
  }

  /// A line that the format does not allow, or numbers that contradict each other.
  struct Violation: Error, CustomStringConvertible {
    let description: String
  }

  private(set) var metrics: [String: Metric] = [:]

  init(_ text: String) throws {
    guard text.hasSuffix("\n") else { throw Violation(description: "the last line has no end") }
    var helps: [String: String] = [:]
    var present: String?
    for line in text.dropLast().components(separatedBy: "\n") {
      if line.hasPrefix("# HELP ") {
        let words = line.dropFirst(7).split(separator: " ", maxSplits: 1)
        guard words.count == 2, Self.isName(words[0]), helps[String(words[0])] == nil else {
          throw Violation(description: line)
        }
        helps[String(words[0])] = String(words[1])
      } else if line.hasPrefix("# TYPE ") {
        let words = line.dropFirst(7).split(separator: " ").map(String.init)
        guard words.count == 2, let help = helps[words[0]], metrics[words[0]] == nil,
          ["counter", "gauge", "histogram"].contains(words[1])
        else { throw Violation(description: line) }
        metrics[words[0]] = Metric(kind: words[1], help: help)
        present = words[0]
      } else {
        // The samples of a metric stand together, behind its type.
        let sample = try Self.sample(line)
        guard let present, var metric = metrics[present] else { throw Violation(description: line) }
        let suffixes = metric.kind == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
        guard suffixes.contains(where: { sample.name == present + $0 }),
          !metric.samples.contains(where: { $0.name == sample.name && $0.labels == sample.labels })
        else { throw Violation(description: line) }
        metric.samples.append(sample)
        metrics[present] = metric
      }
    }
    for (name, metric) in metrics { try Self.check(name, metric) }
  }

  func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
    let suffixes = ["_bucket", "_sum", "_count"].filter { name.hasSuffix($0) }
    let base = suffixes.first.map { String(name.dropLast($0.count)) }
    let metric = metrics[name] ?? base.flatMap { metrics[$0] }
    return metric?.samples.first { $0.name == name && $0.labels == labels }?.value
  }

  private static func isName(_ text: some StringProtocol) -> Bool {
    text.utf8.first.map { !(48...57).contains($0) } == true
      && text.utf8.allSatisfy {
        (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || $0 == 95
      }
  }

  private static func sample(_ line: String) throws -> Sample {
    guard let match = line.wholeMatch(of: #/([A-Za-z_][A-Za-z0-9_]*)(?:\{(.*)\})? (\S+)/#) else {
      throw Violation(description: line)
    }
    var labels: [String: String] = [:]
    var rest = match.2 ?? ""
    if match.2 == "" { throw Violation(description: line) }
    while !rest.isEmpty {
      guard let label = rest.prefixMatch(of: #/([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,(?=.)|$)/#),
        labels[String(label.1)] == nil
      else { throw Violation(description: line) }
      labels[String(label.1)] = String(label.2)
      rest = rest[label.range.upperBound...]
    }
    guard let value = match.3 == "+Inf" ? .infinity : Double(match.3), !value.isNaN else {
      throw Violation(description: line)
    }
    return Sample(name: String(match.1), labels: labels, value: value)
  }

  private static func check(_ name: String, _ metric: Metric) throws {
    guard !metric.samples.isEmpty else { throw Violation(description: "\(name) has no sample") }
    if metric.kind == "counter" {
      guard name.hasSuffix("_total"), metric.samples.allSatisfy({ $0.value >= 0 && $0.value.isFinite }) else {
        throw Violation(description: "\(name) is no counter")
      }
    }
    if metric.kind == "histogram" { try checkHistogram(name, metric) }
  }

  private static func checkHistogram(_ name: String, _ metric: Metric) throws {
    let sets = Set(metric.samples.map { $0.labels.filter { $0.key != "le" } })
    for labels in sets {
      let own = metric.samples.filter { $0.labels.filter { $0.key != "le" } == labels }
      let buckets = try own.filter { $0.name == name + "_bucket" }.map { sample -> (bound: Double, count: Double) in
        guard let text = sample.labels["le"], let bound = text == "+Inf" ? .infinity : Double(text) else {
          throw Violation(description: "\(name) has a bucket without a bound")
        }
        return (bound, sample.value)
      }
      let (sums, counts) = (own.filter { $0.name == name + "_sum" }, own.filter { $0.name == name + "_count" })
      guard zip(buckets, buckets.dropFirst()).allSatisfy({ $0.bound < $1.bound && $0.count <= $1.count }),
        buckets.last?.bound == .infinity, counts.count == 1, sums.count == 1, buckets.last?.count == counts[0].value,
        sums[0].value >= 0, counts[0].value > 0 || sums[0].value == 0
      else { throw Violation(description: "the histogram \(name) of \(labels) contradicts itself") }
    }
  }
}
