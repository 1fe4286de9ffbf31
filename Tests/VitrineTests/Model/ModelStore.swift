@testable import Vitrine

/// What a store should hold: a dictionary and a clock.
struct ModelStore {
  struct Entry: Equatable {
    var value: [UInt8]
    var metadata: [UInt8]
    var expiration: Int64?
    var sliding: Int64?
    var layout: BitmapLayout?
    var written: Int64
    var source: Source?
    var hasNamedSource: Bool

    func isOutdated(by original: Source) -> Bool { source != nil && !hasNamedSource && source != original }
  }

  private(set) var entries: [CacheKey: Entry] = [:]
  /// 0 for no limit.
  var maximumAge: Int64 = 0

  mutating func put(_ value: [UInt8], _ key: CacheKey, _ options: PutOptions, at now: Int64) {
    var entry = Entry(
      value: value, metadata: options.metadata, expiration: options.expirationMilliseconds,
      sliding: options.slidingExpirationMilliseconds, layout: options.layout, written: now, hasNamedSource: false)
    switch options.source {
    case .automatic:
      let original = key.style == .original ? nil : entries[CacheKey(bytes: key.url)]
      entry.source = original.map { Source(of: $0.value) }
    case .none: break
    case .named(let source):
      entry.source = source
      entry.hasNamedSource = true
    }
    entries[key] = entry
    if key.style == .original {
      let source = Source(of: value)
      entries = entries.filter { $0.key.url != key.url || $0.key == key || !$0.value.isOutdated(by: source) }
    }
  }

  /// The last change of each key, originals first: what follows them follows those of the same batch. A nil value
  /// removes.
  mutating func write(_ changes: [(key: CacheKey, value: [UInt8]?, options: PutOptions)], at now: Int64) {
    var last: [CacheKey: Int] = [:]
    for (index, change) in changes.enumerated() { last[change.key] = index }
    for isOriginal in [true, false] {
      for (index, change) in changes.enumerated()
      where last[change.key] == index && (change.key.style == .original) == isOriginal {
        if let value = change.value {
          put(value, change.key, change.options, at: now)
        } else {
          entries[change.key] = nil
        }
      }
    }
  }

  /// What is there and has not expired.
  func live(_ key: CacheKey, at now: Int64) -> Entry? {
    guard let entry = entries[key], entry.expiration ?? .max > now, now - entry.written < entry.sliding ?? .max,
      maximumAge == 0 || now - entry.written < maximumAge
    else { return nil }
    return entry
  }

  /// Upkeep may have taken what has expired, and nothing else.
  mutating func forgetExpired(butFor kept: Set<CacheKey>, at now: Int64) {
    entries = entries.filter { kept.contains($0.key) || live($0.key, at: now) != nil }
  }

  mutating func setMetadata(_ metadata: [UInt8], _ key: CacheKey, at now: Int64) -> Bool {
    guard live(key, at: now) != nil else { return false }
    entries[key]?.metadata = metadata
    return true
  }

  mutating func setExpiration(_ expiration: Int64?, _ key: CacheKey, at now: Int64) -> Bool {
    guard live(key, at: now) != nil else { return false }
    entries[key]?.expiration = expiration
    entries[key]?.sliding = nil
    return true
  }

  /// Expired entries are removed and counted like all others.
  mutating func remove(where isWanted: (CacheKey, Entry) -> Bool) -> Int {
    let before = entries.count
    entries = entries.filter { !isWanted($0.key, $0.value) }
    return before - entries.count
  }

  mutating func remove(_ keys: [CacheKey]) -> Int {
    let wanted = Set(keys)
    return remove { key, _ in wanted.contains(key) }
  }
}
