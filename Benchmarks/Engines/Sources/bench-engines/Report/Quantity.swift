import Glibc

/// Numbers for people.
enum Quantity {
  /// A value with its unit: `1.24 GB/s`, `153 us`, `0.98`.
  static func text(_ value: Double, _ unit: String) -> String {
    switch unit {
    case "bytes/s": scaled(value, ["B/s", "kB/s", "MB/s", "GB/s"])
    case "ns": scaled(value, ["ns", "us", "ms", "s"])
    case "ratio": decimal(value)
    default: decimal(value) + " " + unit
    }
  }

  static func bytes(_ count: Int) -> String { scaled(Double(count), ["B", "kB", "MB", "GB", "TB"]) }

  /// `1,234,567`.
  static func count(_ count: Int) -> String {
    let digits = Array(String(count))
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
      text.append(digit)
    }
    return text
  }

  /// Three digits, or all before the point if there are more.
  static func decimal(_ value: Double) -> String {
    guard value.isFinite, value > 0 else { return value == 0 ? "0" : "\(value)" }
    if value >= 1000 { return count(Int(value.rounded())) }
    let places = value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.1 ? 2 : 4
    return fixed(value, places: places)
  }

  static func fixed(_ value: Double, places: Int) -> String {
    let scale = pow(10, Double(places))
    let whole = Int((value * scale).rounded())
    if places == 0 { return String(whole) }
    let digits = String(whole)
    let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
    return "\(padded.dropLast(places)).\(padded.suffix(places))"
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
