/// Numbers as people read them.
enum Text {
  static func count(_ value: Int) -> String {
    var digits = ""
    for (index, digit) in String(value).reversed().enumerated() {
      if index > 0 && index % 3 == 0 && digit != "-" { digits.append(",") }
      digits.append(digit)
    }
    return String(digits.reversed())
  }

  /// With one digit after the point, which is enough for everything here.
  static func decimal(_ value: Double) -> String {
    guard value.isFinite else { return "-" }
    let tenths = Int((value * 10).rounded())
    return count(tenths / 10) + "." + String(abs(tenths % 10))
  }

  /// MB is 1,000,000 bytes.
  static func megabytes(_ byteCount: Int) -> String { decimal(Double(byteCount) / 1e6) + " MB" }

  static func rate(_ byteCount: Int, _ seconds: Double) -> String {
    seconds > 0 ? count(Int(Double(byteCount) / 1e6 / seconds)) + " MB/s" : "-"
  }

  static func milliseconds(_ seconds: Double) -> String { decimal(seconds * 1000) + " ms" }

  static func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  static func rightAligned(_ text: String, to width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }

  /// Draws `share`, which is 0 to 1.
  static func bar(_ share: Double, width: Int = 30) -> String {
    let full = Int((min(1, max(0, share)) * Double(width)).rounded())
    return "[" + String(repeating: "#", count: full) + String(repeating: ".", count: width - full) + "]"
  }
}
