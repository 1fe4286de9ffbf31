import Foundation

/// Parses dates of HTTP (RFC 9110, 5.6.7) as seconds since 1970.
enum HTTPDate {
  private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

  /// Parses all three forms: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37
  /// 1994`. Also accepts UTC or no zone, and does not check the weekday. Returns nil if a field is missing or out of
  /// range. A year of two digits is in the century of `year`, or in the one before if it would be more than 50 years
  /// after `year`.
  static func seconds(_ text: String, year: Int = Calendar(identifier: .gregorian).component(.year, from: Date()))
    -> Int64?
  {
    let words = text.lowercased().split { " ,-".contains($0) }
    var parts = words[...]
    guard let day = parts.popFirst(), day.count >= 3, day.allSatisfy(\.isLetter) else { return nil }
    if parts.last == "gmt" || parts.last == "utc" { parts.removeLast() }
    guard parts.count == 4 else { return nil }
    parts = Array(parts)[...]
    // The third form begins with the month and ends with the year.
    let isLast = parts[0].allSatisfy(\.isLetter)
    let (dayText, monthText) = isLast ? (parts[1], parts[0]) : (parts[0], parts[1])
    let (timeText, yearText) = isLast ? (parts[2], parts[3]) : (parts[3], parts[2])
    guard let day = number(dayText), let month = months.firstIndex(of: String(monthText)),
      var fullYear = number(yearText), let time = time(timeText)
    else { return nil }
    if yearText.count == 2 {
      fullYear += year / 100 * 100
      if fullYear > year + 50 { fullYear -= 100 }
    }
    return days(fullYear, month + 1, day).map { $0 * 86_400 + time }
  }

  private static func number(_ text: Substring) -> Int? {
    text.utf8.count <= 4 && text.utf8.allSatisfy { (48...57).contains($0) } ? Int(text) : nil
  }

  private static func time(_ text: Substring) -> Int64? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(number)
    guard parts.count == 3, let hours = parts[0], let minutes = parts[1], let seconds = parts[2],
      hours < 24, minutes < 60, seconds <= 60
    else { return nil }
    return Int64(hours * 3600 + minutes * 60 + seconds)
  }

  /// Days since 1970 (Howard Hinnant, chrono-compatible low-level date algorithms).
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int64? {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let longest = month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    guard (1...9999).contains(year), (1...longest).contains(day) else { return nil }
    let shifted = month <= 2 ? year - 1 : year
    let era = shifted / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return Int64(era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468)
  }
}
