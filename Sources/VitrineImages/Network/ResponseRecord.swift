import Foundation

/// The part of a response that is stored beside its body, in the metadata of the original's entry.
struct ResponseRecord: Codable, Hashable, Sendable {
  var contentType: String?
  /// The validators, sent later as `If-None-Match` and `If-Modified-Since`.
  var entityTag: String?
  var lastModified: String?
  /// The end of freshness by the response, in milliseconds since 1970, or nil if it never ends: a picture at a URL
  /// counts as immutable unless its response limits its lifetime.
  private(set) var statedFreshUntil: Int64?
  /// The time when the response arrived or was last confirmed, in milliseconds since 1970, or nil if unknown.
  private(set) var confirmedAt: Int64?
  /// The age limit of the app in milliseconds. It is not stored, so that another limit applies to stored responses.
  private var ageLimit: Int64?
  /// The milliseconds after the end of freshness in which the picture may be shown during a revalidation.
  var staleWhileRevalidating: Int64 = 0
  /// The milliseconds after the end of freshness in which the picture may be shown after a failed revalidation; 0 if
  /// the server set no limit.
  var staleIfError: Int64 = 0
  var mustRevalidate = false
  /// The request headers that selected the response (`Vary`), with their values. `*` stands for unknown criteria.
  var vary: [String: String] = [:]
  /// Whether the response must not be stored.
  var isNoStore = false
  /// The placeholder of the original: see ``PlaceholderHash/stored``.
  private var hash: String?
  /// Whether no revalidation is needed while the response is fresh (RFC 8246).
  private var isImmutable: Bool?
  /// Whether the response is fresh only for a lifetime that it states, also after an answer 304.
  private var needsLifetime: Bool?
  /// The headers as received; a later response may replace some of them.
  private var cacheControl: String?
  private var expires: String?

  private enum CodingKeys: String, CodingKey {
    case contentType = "t"
    case entityTag = "e"
    case lastModified = "m"
    case statedFreshUntil = "f"
    case confirmedAt = "a"
    case staleWhileRevalidating = "w"
    case staleIfError = "x"
    case mustRevalidate = "r"
    case vary = "v"
    case isImmutable = "i"
    case needsLifetime = "n"
    case cacheControl = "c"
    case expires = "p"
    case hash = "h"
  }

  /// Creates the record of a picture that an app saved.
  init(placeholder: PlaceholderHash) { self.placeholder = placeholder }

  /// Reads a response. Header names may be in any case. `now` is in milliseconds since 1970. `isShared` applies the
  /// rules of a cache that serves several users.
  init(headers: [String: String], requestHeaders: [String: String], now: Int64, isShared: Bool = false) {
    self.init(
      Dictionary(headers.map { ($0.key.lowercased(), $0.value) }) { a, b in "\(a), \(b)" }, requestHeaders, now,
      isShared)
  }

  /// Reads a response whose header names are in lower case.
  private init(
    _ headers: [String: String], _ requestHeaders: [String: String], _ now: Int64, _ isShared: Bool
  ) {
    let sent = Dictionary(requestHeaders.map { ($0.key.lowercased(), $0.value) }) { a, _ in a }
    contentType = headers["content-type"]
    entityTag = headers["etag"]
    lastModified = headers["last-modified"]
    cacheControl = headers["cache-control"]
    expires = headers["expires"]
    for name in (headers["vary"] ?? "").lowercased().split(whereSeparator: { ", \t".contains($0) }) {
      vary[String(name)] = sent[String(name)] ?? ""
    }
    var control = CacheControl(cacheControl ?? "")
    if isShared {
      // The answer to a request with credentials belongs to one user unless it says otherwise (RFC 9111, 3.5).
      let isForAll = control.isPublic || control.mustRevalidate || control.sharedMaxAge != nil
      control.isNoStore = control.isNoStore || control.isPrivate || sent["authorization"] != nil && !isForAll
      control.mustRevalidate = control.mustRevalidate || control.sharedMustRevalidate
    }
    mustRevalidate = control.mustRevalidate || control.isNoCache
    isNoStore = control.isNoStore
    if control.isImmutable { isImmutable = true }
    staleWhileRevalidating = (control.staleWhileRevalidate ?? 0) * 1000
    // 0 means that there is no rule.
    staleIfError = control.staleIfError.map { max(1, $0 * 1000) } ?? 0
    statedFreshUntil = ResponseRecord.freshUntil(control, headers, now)
    // The shorter lifetime applies, because a server with a shared cache also sends the lifetime to its clients.
    if isShared, let shared = control.sharedMaxAge, !control.isNoCache, !control.isNoStore {
      control.maxAge = shared
      statedFreshUntil = min(statedFreshUntil ?? .max, ResponseRecord.freshUntil(control, headers, now) ?? .max)
    }
    confirmedAt = now
  }

  private static func freshUntil(_ control: CacheControl, _ headers: [String: String], _ now: Int64) -> Int64? {
    // The response is stale at once: later requests ask the server.
    if control.isNoCache || control.isNoStore { return now }
    let age = CacheControl.age(headers["age"] ?? "")
    if let maxAge = control.maxAge { return now + (maxAge - age) * 1000 }
    guard let expires = headers["expires"] else { return nil }
    // An invalid date counts as past (RFC 9111, 5.3). The lifetime is measured by the server's own clock.
    guard let end = HTTPDate.seconds(expires) else { return now }
    let sent = headers["date"].flatMap { HTTPDate.seconds($0) } ?? now / 1000
    return now + (end - sent - age) * 1000
  }

  /// Returns the record after a 304 answer. Headers of the answer replace those of the same name, and the others stay
  /// (RFC 9111, 3.2). So a stored `max-age` starts again now.
  func refreshed(
    by headers: [String: String], requestHeaders: [String: String], now: Int64, isShared: Bool = false
  ) -> ResponseRecord {
    var all: [String: String] = [:]
    all["content-type"] = contentType
    all["etag"] = entityTag
    all["last-modified"] = lastModified
    all["cache-control"] = cacheControl
    all["expires"] = expires
    if !vary.isEmpty { all["vary"] = vary.keys.sorted().joined(separator: ", ") }
    let new = Dictionary(headers.map { ($0.key.lowercased(), $0.value) }) { a, b in "\(a), \(b)" }
    // A 304 has no body. Some servers send a content type with it that does not describe the picture. Validators of
    // another picture would confirm the stored one for ever.
    let isOther = entityTag.map { ResponseRecord.opaque($0) } != (new["etag"] ?? entityTag).map(ResponseRecord.opaque)
    all.merge(
      new.filter { name, _ in
        switch name {
        case "content-type": contentType == nil
        case "etag", "last-modified": entityTag == nil || !isOther
        default: true
        }
      }
    ) { $1 }
    var record = ResponseRecord(all, requestHeaders, now, isShared)
    record.hash = hash
    return needsLifetime == true ? record.needingLifetime(at: now) : record
  }

  /// The part of an entity tag that weak and strong forms share.
  private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }

  /// Returns the record of a response under the URL of the first of these redirects. A redirect may point elsewhere
  /// when its own lifetime ends. `headers` are those of each redirect.
  func reached(by redirects: [[String: String]], requestHeaders: [String: String], now: Int64) -> ResponseRecord {
    var record = self
    for headers in redirects {
      let redirect = ResponseRecord(headers: headers, requestHeaders: requestHeaders, now: now)
      if let end = redirect.statedFreshUntil { record.statedFreshUntil = min(record.statedFreshUntil ?? .max, end) }
      // Other rules of a redirect do not forbid to show the picture while its server fails.
      let mustRevalidate = CacheControl(redirect.cacheControl ?? "").mustRevalidate
      record.mustRevalidate = record.mustRevalidate || mustRevalidate
      record.vary.merge(redirect.vary) { own, _ in own }
      if redirect.isImmutable != true { record.isImmutable = nil }
      // The date of one address says nothing about the picture at another one.
      record.lastModified = nil
    }
    return record
  }

  /// Returns the record of a response that must not be reused without an explicit lifetime (RFC 9111, 4.2.2): it is
  /// stale from `now` on if it states none.
  func needingLifetime(at now: Int64) -> ResponseRecord {
    var record = self
    record.statedFreshUntil = statedFreshUntil ?? now
    record.needsLifetime = true
    return record
  }

  /// Returns the record with an age limit in milliseconds, or without one.
  func limited(to age: Int64?) -> ResponseRecord {
    var record = self
    record.ageLimit = age
    return record
  }

  /// The end of freshness in milliseconds since 1970, by the response and by the age limit, or nil if it never ends.
  var freshUntil: Int64? { ResponseRecord.earlier(statedFreshUntil, confirmedAt, ageLimit) }

  /// Returns the earlier of the end of freshness that a response states and the end by an age limit.
  static func earlier(_ stated: Int64?, _ confirmedAt: Int64?, _ ageLimit: Int64?) -> Int64? {
    guard let ageLimit, let confirmedAt else { return stated }
    return min(stated ?? .max, confirmedAt + min(max(ageLimit, 0), 1 << 60))
  }

  /// The placeholder of the original. An invalid stored one counts as none.
  var placeholder: PlaceholderHash? {
    get { hash.flatMap(PlaceholderHash.init(stored:)) }
    set { hash = newValue?.stored }
  }

  // MARK: Freshness

  enum Standing: Hashable {
    case fresh
    /// Stale, but may be shown while it is revalidated.
    case staleButShown
    case stale
  }

  func standing(at now: Int64) -> Standing {
    guard let freshUntil else { return .fresh }
    if ResponseRecord.isAhead(confirmedAt, now) { return .stale }
    if now < freshUntil { return .fresh }
    return !mustRevalidate && now < freshUntil + staleWhileRevalidating ? .staleButShown : .stale
  }

  /// Whether the clock was set back since a response was confirmed. The end of its freshness is wrong then.
  static func isAhead(_ confirmedAt: Int64?, _ now: Int64) -> Bool {
    let (latest, isBeyond) = now.addingReportingOverflow(300_000)
    return !isBeyond && (confirmedAt ?? .min) > latest
  }

  /// Whether the response may be shown although it is stale, after the server failed to answer. Without a rule of the
  /// server this has no time limit: an old picture is better than none.
  func mayShowAfterError(at now: Int64) -> Bool {
    guard let freshUntil else { return true }
    if mustRevalidate { return now < freshUntil }
    return staleIfError == 0 || now < freshUntil + staleIfError
  }

  /// Whether the server has declared revalidation unnecessary.
  func forbidsAsking(at now: Int64) -> Bool { isImmutable == true && standing(at: now) == .fresh }

  /// Whether the response answers a request with these headers.
  func answers(_ requestHeaders: [String: String]) -> Bool { ResponseRecord.answers(vary, requestHeaders) }

  static func answers(_ vary: [String: String], _ requestHeaders: [String: String]) -> Bool {
    if vary.isEmpty { return true }
    if vary["*"] != nil { return false }
    let sent = Dictionary(requestHeaders.map { ($0.key.lowercased(), $0.value) }) { a, _ in a }
    return vary.allSatisfy { sent[$0.key] ?? "" == $0.value }
  }

  /// Whether the response may answer a concurrent request with these headers. A response that varies by `*` may.
  static func mayShare(_ vary: [String: String], _ requestHeaders: [String: String]) -> Bool {
    vary["*"] != nil || answers(vary, requestHeaders)
  }

  /// The headers of a conditional request; empty if the response has no validators.
  var conditions: [String: String] {
    var headers: [String: String] = [:]
    headers["If-None-Match"] = entityTag
    headers["If-Modified-Since"] = lastModified
    // Control characters would make each request fail.
    return headers.filter { $0.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
  }

  // MARK: As metadata

  var metadata: [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    // All properties can be encoded.
    return (try? Array(encoder.encode(self))) ?? []
  }

  /// Returns nil for other metadata. Times out of range are clamped.
  init?(metadata: [UInt8]) {
    guard let found = try? JSONDecoder().decode(ResponseRecord.self, from: Data(metadata)) else { return nil }
    self = found
    statedFreshUntil = statedFreshUntil.map { min(max($0, 0), 1 << 60) }
    confirmedAt = confirmedAt.map { min(max($0, 0), 1 << 60) }
    staleWhileRevalidating = min(max(staleWhileRevalidating, 0), 1 << 50)
    staleIfError = min(max(staleIfError, 0), 1 << 50)
  }
}
