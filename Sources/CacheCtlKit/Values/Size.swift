/// Sizes as people write them: `500MB`, `2GiB`, `1.5GB`, `64KiB`, plain bytes.
public enum Size {
  /// kB, MB, GB, TB are powers of 1000; KiB, MiB, GiB, TiB powers of 1024. In any case.
  private static let units: [(name: String, byteCount: Int)] = [
    ("b", 1),
    ("kb", 1000), ("mb", 1_000_000), ("gb", 1_000_000_000), ("tb", 1_000_000_000_000),
    ("kib", 1 << 10), ("mib", 1 << 20), ("gib", 1 << 30), ("tib", 1 << 40),
  ]

  /// The number of bytes, rounded down to a whole one; nil for anything that is not a size or does not fit an `Int`.
  /// A bare letter such as `5M` is refused, since it says neither 10^6 nor 2^20.
  public static func parse(_ text: some StringProtocol) -> Int? {
    let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    let unitName = text.dropFirst(number.count).lowercased()
    guard let unit = unitName.isEmpty ? 1 : units.first(where: { $0.name == unitName })?.byteCount else {
      return nil
    }

    let parts = number.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = digits(parts.first ?? "") else { return nil }
    let (product, overflow) = whole.multipliedReportingOverflow(by: unit)
    guard !overflow else { return nil }
    guard parts.count == 2 else { return product }

    // At most nine places, so that the product with the largest unit fits without a check for each step.
    guard unit > 1, parts[1].count <= 9, let fraction = digits(parts[1]) else { return nil }
    let scale = (0..<parts[1].count).reduce(1) { value, _ in value * 10 }
    let (high, low) = fraction.multipliedFullWidth(by: unit)
    let part = scale.dividingFullWidth((high, low)).quotient
    let (sum, tooLarge) = product.addingReportingOverflow(part)
    return tooLarge ? nil : sum
  }

  private static func digits(_ text: some StringProtocol) -> Int? {
    text.allSatisfy { $0.isASCII && $0.isNumber } ? Int(text) : nil
  }
}
