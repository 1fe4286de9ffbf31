import Foundation

/// The caching rules of a response (RFC 9111, 5.2.2; RFC 5861; RFC 8246).
struct CacheControl: Hashable {
  var maxAge: Int64?
  /// The lifetime in a cache that serves several users (`s-maxage`).
  var sharedMaxAge: Int64?
  var isNoStore = false
  /// Whether the response is meant for one user.
  var isPrivate = false
  /// Whether the response may be stored even if the request had credentials.
  var isPublic = false
  var isNoCache = false
  var mustRevalidate = false
  /// The same for a cache that serves several users: `proxy-revalidate`, and also `s-maxage`.
  var sharedMustRevalidate = false
  var isImmutable = false
  var staleWhileRevalidate: Int64?
  var staleIfError: Int64?

  /// The upper limit of all times, in seconds.
  private static let longest: Int64 = 1 << 31

  /// Returns the seconds of an `Age` header. Of several values the first counts (RFC 9111, 5.1). An invalid one counts
  /// as 0.
  static func age(_ text: String) -> Int64 {
    seconds(text.split(separator: ",").first.map { $0.trimmingCharacters(in: .whitespaces) } ?? "")
  }

  /// Reads a `Cache-Control` header. Ignores unknown directives. Of contradictory values the shorter lifetime counts,
  /// and an invalid number counts as 0.
  init(_ text: String) {
    for (name, value) in CacheControl.directives(text) {
      switch name {
      case "max-age": maxAge = min(maxAge ?? .max, CacheControl.seconds(value))
      case "s-maxage":
        sharedMaxAge = min(sharedMaxAge ?? .max, CacheControl.seconds(value))
        sharedMustRevalidate = true
      case "proxy-revalidate": sharedMustRevalidate = true
      case "no-store": isNoStore = true
      case "private": isPrivate = true
      case "public": isPublic = true
      case "no-cache": isNoCache = true
      case "must-revalidate": mustRevalidate = true
      case "immutable": isImmutable = true
      case "stale-while-revalidate":
        staleWhileRevalidate = min(staleWhileRevalidate ?? .max, CacheControl.seconds(value))
      case "stale-if-error": staleIfError = min(staleIfError ?? .max, CacheControl.seconds(value))
      default: break
      }
    }
  }

  private static func seconds(_ text: String) -> Int64 {
    guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return 0 }
    return min(Int64(text) ?? longest, longest)
  }

  /// Returns the directives: names in lower case, with their values. A value may be a quoted string that contains
  /// commas.
  private static func directives(_ text: String) -> [(name: String, value: String)] {
    var found: [(String, String)] = []
    var rest = Array(text)[...]
    while !rest.isEmpty {
      var item = ""
      var isQuoted = false
      while let character = rest.popFirst() {
        if character == "\"" {
          isQuoted.toggle()
        } else if character == "\\", isQuoted, let escaped = rest.popFirst() {
          item.append(escaped)
        } else if character == ",", !isQuoted {
          break
        } else {
          item.append(character)
        }
      }
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { part in
        String(part.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
      }
      if let name = parts.first, !name.isEmpty { found.append((name.lowercased(), parts.count == 2 ? parts[1] : "")) }
    }
    return found
  }
}
