import Foundation

/// What is kept of a response beside its body: in the metadata of the original's entry.
struct ResponseRecord: Codable, Hashable, Sendable {
  var contentType: String?
  /// Validators, sent back as `If-None-Match` and `If-Modified-Since`.
  var entityTag: String?
  var lastModified: String?
  /// Until when it is fresh, in milliseconds since 1970. Nil for always: a picture's URL is taken as immutable, unless its
  /// response says how long it is to be believed.
  var freshUntil: Int64?
  /// How long behind that it may be shown while it is asked for anew, or because it cannot be.
  var staleWhileRevalidating: Int64 = 0
  var staleIfError: Int64 = 0
  var mustRevalidate = false
  /// Request headers that chose the response (`Vary`), with what they were; `*` chooses by what nobody knows.
  var vary: [String: String] = [:]
  /// Not to be kept at all; so it is not kept.
  var isNoStore = false
  /// As long as it is fresh, nobody need ask whether it has changed (RFC 8246).
  private var isImmutable: Bool?
  /// As they came, for when a later response changes some of them.
  private var cacheControl: String?
  private var expires: String?

  private enum CodingKeys: String, CodingKey {
    case contentType = "t"
    case entityTag = "e"
    case lastModified = "m"
    case freshUntil = "f"
    case staleWhileRevalidating = "w"
    case staleIfError = "x"
    case mustRevalidate = "r"
    case vary = "v"
    case isImmutable = "i"
    case cacheControl = "c"
    case expires = "p"
  }

  /// `now`: milliseconds since 1970. Header names in any case.
  init(headers: [String: String], requestHeaders: [String: String], now: Int64) {
    self.init(
      Dictionary(headers.map { ($0.key.lowercased(), $0.value) }) { a, b in "\(a), \(b)" }, requestHeaders, now)
  }

  /// Names in lower case.
  private init(_ headers: [String: String], _ requestHeaders: [String: String], _ now: Int64) {
    let sent = Dictionary(requestHeaders.map { ($0.key.lowercased(), $0.value) }) { a, _ in a }
    contentType = headers["content-type"]
    entityTag = headers["etag"]
    lastModified = headers["last-modified"]
    cacheControl = headers["cache-control"]
    expires = headers["expires"]
    for name in (headers["vary"] ?? "").lowercased().split(whereSeparator: { ", \t".contains($0) }) {
      vary[String(name)] = sent[String(name)] ?? ""
    }
    let control = CacheControl(cacheControl ?? "")
    mustRevalidate = control.mustRevalidate || control.isNoCache
    isNoStore = control.isNoStore
    if control.isImmutable { isImmutable = true }
    staleWhileRevalidating = (control.staleWhileRevalidate ?? 0) * 1000
    staleIfError = (control.staleIfError ?? 0) * 1000
    freshUntil = ResponseRecord.freshUntil(control, headers, now)
  }

  private static func freshUntil(_ control: CacheControl, _ headers: [String: String], _ now: Int64) -> Int64? {
    // What is not to be kept is shown once.
    if control.isNoCache || control.isNoStore { return now }
    let age = CacheControl.age(headers["age"] ?? "")
    if let maxAge = control.maxAge { return now + (maxAge - age) * 1000 }
    guard let expires = headers["expires"] else { return nil }
    // What is no date is in the past (RFC 9111, 5.3). The server's own clock says how long it meant.
    guard let end = HTTPDate.seconds(expires) else { return now }
    let sent = headers["date"].flatMap { HTTPDate.seconds($0) } ?? now / 1000
    return now + (end - sent - age) * 1000
  }

  /// What a 304 makes of it: its headers take the place of those of the same name, and what it does not say stays (RFC
  /// 9111, 3.2); so a `max-age` that was kept counts from now on again.
  func refreshed(by headers: [String: String], requestHeaders: [String: String], now: Int64) -> ResponseRecord {
    var all: [String: String] = [:]
    all["content-type"] = contentType
    all["etag"] = entityTag
    all["last-modified"] = lastModified
    all["cache-control"] = cacheControl
    all["expires"] = expires
    if !vary.isEmpty { all["vary"] = vary.keys.sorted().joined(separator: ", ") }
    let new = Dictionary(headers.map { ($0.key.lowercased(), $0.value) }) { a, b in "\(a), \(b)" }
    // A 304 has no body, and what some servers say of that is nothing about the picture's.
    all.merge(new.filter { $0.key != "content-type" || contentType == nil }) { $1 }
    return ResponseRecord(all, requestHeaders, now)
  }

  // MARK: Asking it

  enum Standing: Hashable {
    case fresh
    /// To be shown, and asked for anew meanwhile.
    case staleButShown
    case stale
  }

  func standing(at now: Int64) -> Standing {
    guard let freshUntil, now >= freshUntil else { return .fresh }
    return !mustRevalidate && now < freshUntil + staleWhileRevalidating ? .staleButShown : .stale
  }

  /// Whether it may be shown although it is stale, since the server does not answer. Without a word from the server it
  /// may for ever: an old picture is better than none.
  func mayShowAfterError(at now: Int64) -> Bool {
    guard let freshUntil else { return true }
    if mustRevalidate { return now < freshUntil }
    return staleIfError == 0 || now < freshUntil + staleIfError
  }

  /// Whether the server has said that it need not be asked.
  func forbidsAsking(at now: Int64) -> Bool { isImmutable == true && standing(at: now) == .fresh }

  /// Whether it answers a request with these headers.
  func answers(_ requestHeaders: [String: String]) -> Bool { ResponseRecord.answers(vary, requestHeaders) }

  static func answers(_ vary: [String: String], _ requestHeaders: [String: String]) -> Bool {
    if vary.isEmpty { return true }
    if vary["*"] != nil { return false }
    let sent = Dictionary(requestHeaders.map { ($0.key.lowercased(), $0.value) }) { a, _ in a }
    return vary.allSatisfy { sent[$0.key] ?? "" == $0.value }
  }

  /// The same for a request that was made beside the one that it answered: then what varies by everything serves both.
  static func mayShare(_ vary: [String: String], _ requestHeaders: [String: String]) -> Bool {
    vary["*"] != nil || answers(vary, requestHeaders)
  }

  /// What to send to hear whether it is still good; empty where nothing tells.
  var conditions: [String: String] {
    var headers: [String: String] = [:]
    headers["If-None-Match"] = entityTag
    headers["If-Modified-Since"] = lastModified
    return headers
  }

  // MARK: As metadata

  var metadata: [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    // Nothing in it can fail to be encoded.
    return (try? Array(encoder.encode(self))) ?? []
  }

  /// Nil for metadata of another kind. Times that nobody can have meant are brought into bounds.
  init?(metadata: [UInt8]) {
    guard let found = try? JSONDecoder().decode(ResponseRecord.self, from: Data(metadata)) else { return nil }
    self = found
    freshUntil = freshUntil.map { min(max($0, 0), 1 << 60) }
    staleWhileRevalidating = min(max(staleWhileRevalidating, 0), 1 << 50)
    staleIfError = min(max(staleIfError, 0), 1 << 50)
  }
}
