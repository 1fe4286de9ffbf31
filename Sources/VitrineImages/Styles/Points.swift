/// A length in points, in steps of a thousandth, so that equal lengths have one spelling.
public struct Points: Sendable, Hashable, Comparable {
  let thousandths: Int

  /// Creates a length, rounded to a thousandth of a point. A finite value beyond the range of `Int` thousandths becomes
  /// the nearest end of the range. A value whose thousandths are not finite becomes -0.001, which no style accepts.
  public init(_ value: Double) {
    let scaled = (value * 1000).rounded()
    thousandths = scaled.isFinite ? Int(exactly: scaled) ?? (scaled < 0 ? .min : .max) : -1
  }

  init(thousandths: Int) { self.thousandths = thousandths }

  /// The length in points.
  public var value: Double { Double(thousandths) / 1000 }

  public static func < (a: Points, b: Points) -> Bool { a.thousandths < b.thousandths }
}

extension Points: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
  /// Creates a length of whole points.
  public init(integerLiteral value: Int) { self.init(Double(value)) }
  /// Creates a length, rounded to a thousandth of a point.
  public init(floatLiteral value: Double) { self.init(value) }
}

extension Points: CustomStringConvertible {
  /// The shortest decimal spelling, such as `60` or `12.5`.
  public var description: String {
    let (whole, fraction) = (thousandths / 1000, abs(thousandths % 1000))
    if fraction == 0 { return "\(whole)" }
    var digits = String("\(1000 + fraction)".dropFirst())
    while digits.hasSuffix("0") { digits.removeLast() }
    return "\(thousandths < 0 && whole == 0 ? "-" : "")\(whole).\(digits)"
  }
}
