import CacheCtlKit
import Vitrine

/// The reason why a key has no value.
package enum AbsenceReason {
  case missing
  case expired
  case damaged
  case lost

  package var text: String {
    switch self {
    case .missing: "no such key"
    case .expired: "expired"
    case .damaged: "damaged"
    case .lost: "lost in a crash"
    }
  }
}

/// Reads values, and distinguishes the reasons why a key has none. Used from one thread.
package struct Reader {
  private let store: CacheStore
  private var lostCount: Int

  package init(_ store: CacheStore) {
    self.store = store
    lostCount = store.statistics().lostCount
  }

  /// Passes the value to `body`; without a value, returns the reason.
  package mutating func get(_ key: CacheKey, _ body: (RawSpan) throws -> Void) throws -> AbsenceReason? {
    // A get that finds damage drops the entry, which then looks as if it never existed. So the key is looked up before.
    let before = store.lookup(key)
    if let _: Void = try store.get(key, { bytes in try body(bytes) }) { return nil }
    return try reason(key, before)
  }

  /// Returns the value as a `Blob`, or the reason why there is none.
  package mutating func blob(_ key: CacheKey) throws -> (blob: Blob?, reason: AbsenceReason?) {
    let before = store.lookup(key)
    if let blob = store.blob(key) { return (blob, nil) }
    return (nil, try reason(key, before))
  }

  private mutating func reason(_ key: CacheKey, _ before: LookupResult) throws -> AbsenceReason {
    switch (before, store.lookup(key)) {
    case (.closed, _), (_, .closed): throw StoreError.closed
    case (.missing, _): return .missing
    case (.expired, _), (.found, .expired): return .expired
    default: break
    }
    let lostBefore = lostCount
    lostCount = store.statistics().lostCount
    return lostCount > lostBefore ? .lost : .damaged
  }
}
