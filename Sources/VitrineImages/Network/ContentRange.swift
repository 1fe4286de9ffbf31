/// The part of a body in a response: `bytes 5-9/10` (RFC 9110, 14.4).
struct ContentRange: Hashable {
  let first: Int
  let last: Int
  /// The size of the whole body in bytes, or nil for `*`.
  let total: Int?

  /// Returns nil for other text, and for contradictory numbers.
  init?(_ text: String) {
    let words = text.lowercased().split(separator: " ", omittingEmptySubsequences: true)
    guard words.count == 2, words[0] == "bytes" else { return nil }
    let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false).map(ContentRange.number)
    guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last else { return nil }
    self.first = first
    self.last = last
    if parts[1] == "*" {
      total = nil
    } else {
      guard let total = ContentRange.number(parts[1]), total > last else { return nil }
      self.total = total
    }
  }

  private static func number(_ text: Substring) -> Int? {
    text.utf8.allSatisfy { (48...57).contains($0) } ? Int(text) : nil
  }
}
