@testable import Vitrine

/// The expected content of a store: a dictionary and a clock.
struct ModelStore {
  struct Entry {
    var value: [UInt8]
    var metadata: [UInt8]
    var expiration: Int64?
    var sliding: Int64?
    var layout: BitmapLayout?
    var written: Int64
    var source: Source?
    var hasNamedSource: Bool
    /// Its place in the order in which entries were used.
    var order = 0
    /// The bounds of its last use, as far as they are known.
    var used: (least: Int64, most: Int64)

    func isOutdated(by original: Source) -> Bool { source != nil && !hasNamedSource && source != original }
  }

  private(set) var entries: [CacheKey: Entry] = [:]
  private var uses = 0
  /// Whether the store has an entry, in cases where both answers are right: times of use are known to the second.
  var asks: (CacheKey) -> Bool = { _ in false }
  /// 0 for no limit.
  var maximumAge: Int64 = 0

  mutating func put(_ value: [UInt8], _ key: CacheKey, _ options: PutOptions, at now: Int64) {
    var entry = Entry(
      value: value, metadata: options.metadata, expiration: options.expirationMilliseconds,
      sliding: options.slidingExpirationMilliseconds, layout: options.layout, written: now, hasNamedSource: false,
      order: nextUse(), used: (now, now))
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

  /// Makes the last change of each key, originals first: styles follow the originals of the same batch. A nil value
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

  private mutating func nextUse() -> Int {
    uses += 1
    return uses
  }

  mutating func use(_ key: CacheKey, at now: Int64) {
    let order = nextUse()
    entries[key]?.order = order
    entries[key]?.used = (now, now)
  }

  mutating func setSource(_ source: Source?, of key: CacheKey) { entries[key]?.source = source }

  /// Forgets the uses since the last checkpoint, or extends their bounds to now. `order` has the keys from the last
  /// used to the first.
  mutating func crash(at now: Int64, order: [CacheKey]) {
    for key in order.reversed() {
      let order = nextUse()
      entries[key]?.order = order
    }
    // Including those that have expired by now, which are in no order.
    for (key, entry) in entries { entries[key]?.used = (entry.written, now) }
  }

  private static let precision: Int64 = 2000

  /// Returns the entry if it exists and has not expired.
  func live(_ key: CacheKey, at now: Int64) -> Entry? {
    guard let entry = entries[key], entry.expiration ?? .max > now,
      maximumAge == 0 || now - entry.written < maximumAge
    else { return nil }
    guard let sliding = entry.sliding, now - entry.used.least >= sliding else { return entry }
    if now - entry.used.most - ModelStore.precision >= sliding { return nil }
    return asks(key) ? entry : nil
  }

  /// Forgets the entries that are not `kept`: the store was full and evicted the least recently used. Returns
  /// whether no evicted entry was used later than a kept one.
  mutating func evict(butFor kept: Set<CacheKey>) -> Bool {
    let gone = entries.filter { !kept.contains($0.key) }.map(\.value.order).max() ?? 0
    entries = entries.filter { kept.contains($0.key) }
    return gone < entries.values.map(\.order).min() ?? .max
  }

  /// Forgets expired entries that upkeep may have removed, and no others.
  mutating func forgetExpired(butFor kept: Set<CacheKey>, at now: Int64) {
    for key in entries.keys where !kept.contains(key) && live(key, at: now) == nil { entries[key] = nil }
  }

  mutating func setMetadata(_ metadata: [UInt8], _ key: CacheKey, at now: Int64) -> Bool {
    guard live(key, at: now) != nil else { return false }
    entries[key]?.metadata = metadata
    use(key, at: now)
    return true
  }

  mutating func setExpiration(_ expiration: Int64?, _ key: CacheKey, at now: Int64) -> Bool {
    guard live(key, at: now) != nil else { return false }
    entries[key]?.expiration = expiration
    entries[key]?.sliding = nil
    use(key, at: now)
    return true
  }

  /// Removes and counts expired entries like all others.
  mutating func remove(where isWanted: (CacheKey, Entry) -> Bool) -> Int {
    let before = entries.count
    entries = entries.filter { !isWanted($0.key, $0.value) }
    return before - entries.count
  }

  /// Does the same without the expired ones.
  mutating func removeLive(at now: Int64, where isWanted: (CacheKey, Entry) -> Bool) -> Int {
    let live = Set(entries.keys.filter { self.live($0, at: now) != nil })
    return remove { live.contains($0) && isWanted($0, $1) }
  }

  mutating func remove(_ keys: [CacheKey]) -> Int {
    let wanted = Set(keys)
    return remove { key, _ in wanted.contains(key) }
  }
}
