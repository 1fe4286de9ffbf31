@testable import Vitrine

/// What a store should hold: a dictionary and a clock.
struct ModelStore {
  struct Entry: Equatable {
    var value: [UInt8]
    var metadata: [UInt8]
    var expiration: Int64?
    var layout: BitmapLayout?
    var written: Int64
  }

  private(set) var entries: [CacheKey: Entry] = [:]

  mutating func put(_ value: [UInt8], _ key: CacheKey, _ options: PutOptions, at now: Int64) {
    entries[key] = Entry(
      value: value, metadata: options.metadata, expiration: options.expirationMilliseconds,
      layout: options.layout,
      written: now)
  }

  /// What is there and has not expired.
  func live(_ key: CacheKey, at now: Int64) -> Entry? {
    entries[key].flatMap { $0.expiration ?? .max > now ? $0 : nil }
  }

  mutating func setMetadata(_ metadata: [UInt8], _ key: CacheKey, at now: Int64) -> Bool {
    guard live(key, at: now) != nil else { return false }
    entries[key]?.metadata = metadata
    return true
  }

  mutating func setExpiration(_ expiration: Int64?, _ key: CacheKey, at now: Int64) -> Bool {
    guard live(key, at: now) != nil else { return false }
    entries[key]?.expiration = expiration
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
