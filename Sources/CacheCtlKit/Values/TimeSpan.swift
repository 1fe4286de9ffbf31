/// Times as people write them: `90s`, `30min`, `12h`, `7d`, plain seconds.
public enum TimeSpan {
  private static let units: [(name: String, seconds: Int)] = [
    ("s", 1), ("min", 60), ("h", 3600), ("d", 86_400), ("w", 604_800),
  ]

  /// The longest time, a hundred years of 365 days, in seconds.
  private static let longest = 36_500 * 86_400

  /// Returns the number of seconds, or nil for anything that is not a time, or is longer than a hundred years. A bare
  /// `m` is refused, since it may mean minutes or months.
  public static func seconds(_ text: some StringProtocol) -> Int? {
    let number = text.prefix { $0.isASCII && $0.isNumber }
    let name = text.dropFirst(number.count)
    guard let count = Int(number),
      let unit = name.isEmpty ? 1 : units.first(where: { $0.name == name })?.seconds
    else { return nil }
    let (seconds, overflow) = count.multipliedReportingOverflow(by: unit)
    return overflow || seconds > longest ? nil : seconds
  }
}
