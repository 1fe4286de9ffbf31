/// Numbers in reports for people.
public enum Quantity {
  /// `999 B`, `41.2 kB`, `2.1 GB`: powers of 1000.
  public static func bytes(_ count: Int) -> String {
    guard count >= 1000 else { return "\(count) B" }
    var value = Double(count) / 1000
    var unit = 0
    let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
    // 999.95 would be shown as 1000.0; the next unit is better.
    while value >= 999.95, unit + 1 < units.count {
      value /= 1000
      unit += 1
    }
    return fixed(value, places: 1) + " " + units[unit]
  }

  /// `1,234,567`.
  public static func count(_ count: Int) -> String {
    let digits = Array(String(count.magnitude))
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text += "," }
      text.append(digit)
    }
    return count < 0 ? "-" + text : text
  }

  /// `1,204 entries`, `1 entry`.
  public static func count(_ number: Int, _ singular: String, _ plural: String) -> String {
    count(number) + " " + (number == 1 ? singular : plural)
  }

  /// `85 ns`, `1.2 us`, `3.1 ms`, `2.5 s`.
  public static func nanoseconds(_ nanoseconds: Double) -> String {
    if nanoseconds < 999.5 { return fixed(nanoseconds, places: 0) + " ns" }
    if nanoseconds < 999_950 { return fixed(nanoseconds / 1000, places: 1) + " us" }
    if nanoseconds < 999_950_000 { return fixed(nanoseconds / 1_000_000, places: 1) + " ms" }
    return fixed(nanoseconds / 1_000_000_000, places: 1) + " s"
  }

  /// `45 s`, `4.3 min`, `1 h`, `3.1 days`, `2.1 years`; without the decimal place if it is zero.
  public static func duration(seconds: Int) -> String {
    let units = [(60, "s"), (60, "min"), (24, "h"), (365, "days"), (Int.max, "years")]
    var value = Double(seconds)
    for (next, name) in units {
      // 59.95 would be shown as 60; the next unit is better.
      if value < Double(next) - 0.05 || next == .max {
        let text = fixed(value, places: 1)
        let number = text.hasSuffix(".0") ? String(text.dropLast(2)) : text
        return "\(number) \(number == "1" && name.hasSuffix("s") && name != "s" ? String(name.dropLast()) : name)"
      }
      value /= Double(next)
    }
    return ""
  }

  /// `part` of `whole` as `19 %`; `-` if `whole` is zero.
  public static func percent(_ part: Int, of whole: Int) -> String {
    whole == 0 ? "-" : fixed(100 * Double(part) / Double(whole), places: 0) + " %"
  }

  /// A decimal with this many places after the point.
  public static func fixed(_ value: Double, places: Int) -> String {
    let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
    let scaled = (value * scale).rounded()
    guard scaled.isFinite, abs(scaled) < 1e18 else { return "\(value)" }
    let whole = Int(scaled)
    let sign = whole < 0 ? "-" : ""
    let digits = String(whole.magnitude)
    if places == 0 { return sign + digits }
    let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
    return sign + padded.dropLast(places) + "." + padded.suffix(places)
  }
}
