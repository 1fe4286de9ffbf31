import CacheCtlKit

extension Quantity {
  /// A value with its unit: `1.24 GB/s`, `153 us`, `0.98`.
  static func text(_ value: Double, _ unit: String) -> String {
    switch unit {
    case "bytes/s": scaled(value, ["B/s", "kB/s", "MB/s", "GB/s"])
    case "ns": scaled(value, ["ns", "us", "ms", "s"])
    case "ratio": decimal(value)
    default: decimal(value) + " " + unit
    }
  }

  /// Three digits, or all before the point if there are more.
  static func decimal(_ value: Double) -> String {
    guard value.isFinite, value > 0 else { return value == 0 ? "0" : "\(value)" }
    if value >= 1000 { return count(Int(value.rounded())) }
    let places = value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.1 ? 2 : 4
    return fixed(value, places: places)
  }

  private static func scaled(_ value: Double, _ units: [String]) -> String {
    var value = value
    var place = 0
    while value >= 999.5, place + 1 < units.count {
      value /= 1000
      place += 1
    }
    return decimal(value) + " " + units[place]
  }
}
