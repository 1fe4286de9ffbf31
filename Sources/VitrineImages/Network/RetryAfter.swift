import Foundation

/// The pause that a server asks for by `Retry-After` (RFC 9110, 10.2.3).
enum RetryAfter {
  /// A longer pause counts as this one.
  static let mostMilliseconds: Int64 = 3_600_000

  /// Returns the pause in milliseconds, or nil without a valid header. A date counts from the `Date` of the response,
  /// or else from `now`, in seconds since 1970. A past date means no pause.
  static func milliseconds(_ response: LoadResponse, now: Int64) -> Int64? {
    guard let text = response.header("Retry-After")?.trimmingCharacters(in: .whitespaces), !text.isEmpty else {
      return nil
    }
    if text.utf8.allSatisfy({ (48...57).contains($0) }) {
      guard let seconds = Int64(text), seconds < mostMilliseconds / 1000 else { return mostMilliseconds }
      return seconds * 1000
    }
    guard let end = HTTPDate.seconds(text) else { return nil }
    let sent = response.header("Date").flatMap { HTTPDate.seconds($0) } ?? now
    // Both are dates of at most four digits of years, so the difference fits.
    return min(max(0, end - sent), mostMilliseconds / 1000) * 1000
  }
}
