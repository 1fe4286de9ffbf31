import Vitrine

/// Separates pictures made from the current original of a key from pictures made from an earlier one.
///
/// A version is a number used once. The recently used keys have one: 10,000 keys unless the caller sets a higher
/// number, and in addition all keys with work under way. A forgotten key gets a new version, so its cached pictures
/// count as older: this costs an extra miss, and never shows a wrong picture. Thread-safe, O(1).
final class KeyVersions: Sendable {
  private struct Version {
    let number: UInt64
    /// The digest of the original, once it is known.
    var digest: Digest?
  }

  private struct State {
    let most: Int
    var versions = RecencyList<KeyText, Version>()
    /// Keys with work under way: the number of works, and the version if the list has dropped it.
    var underWay: [KeyText: (count: Int, version: Version?)] = [:]
    var last: UInt64 = 0

    mutating func current(_ key: KeyText) -> Version {
      if let version = versions.use(key) { return version }
      if let version = underWay[key]?.version {
        set(version, key)
        return version
      }
      return renew(key, nil)
    }

    mutating func renew(_ key: KeyText, _ digest: Digest?) -> Version {
      last += 1
      let version = Version(number: last, digest: digest)
      set(version, key)
      return version
    }

    mutating func set(_ version: Version, _ key: KeyText) {
      underWay[key]?.version = nil
      versions.insert(version, key)
      guard versions.count > most, let oldest = versions.removeOldest() else { return }
      underWay[oldest.key]?.version = oldest.value
    }
  }

  static let usualCount = 10_000

  private let state: Locked<State>

  /// `keyCount` is the number of keys to remember.
  init(keyCount: Int = KeyVersions.usualCount) { state = Locked(State(most: max(1, keyCount))) }

  func current(of key: String) -> UInt64 { current(of: KeyText(key)) }
  func current(of key: KeyText) -> UInt64 { state.withLock { $0.current(key).number } }

  /// Returns the version as ``current(of:)`` does, and retains the key until ``end(_:)`` is called as often.
  func begin(_ key: String) -> UInt64 {
    let key = KeyText(key)
    return state.withLock { state in
      state.underWay[key, default: (0, nil)].count += 1
      return state.current(key).number
    }
  }

  func end(_ key: String) {
    let key = KeyText(key)
    state.withLock { state in
      guard let held = state.underWay[key] else { return }
      state.underWay[key] = held.count > 1 ? (held.count - 1, held.version) : nil
    }
  }

  /// Gives the key a new version: it now has an original with this digest, or an unknown one if nil.
  func advance(_ key: String, to digest: Digest? = nil) {
    state.withLock { _ = $0.renew(KeyText(key), digest) }
  }

  /// Gives a new version to every known key that matches.
  func advance(where isMeant: (KeyText) -> Bool) {
    state.withLock { state in
      let known = state.versions.keys + state.underWay.filter { $0.value.version != nil }.keys
      for key in known where isMeant(key) { _ = state.renew(key, nil) }
    }
  }

  /// Returns whether pictures made from the original with this digest, by work that began at `version`, may be stored:
  /// the key has not changed since, or its current original has this digest.
  func admits(_ digest: Digest, of key: String, begunAt version: UInt64) -> Bool {
    state.withLock { state in
      let current = state.current(KeyText(key))
      return current.number == version || current.digest == digest
    }
  }

  /// Records that the original with this digest, or a picture made from it, is stored. Returns the version for
  /// pictures made from it: a new version if the key had another original; nil if the key has changed since `version`.
  /// Call it once the storage no longer returns the previous pictures, so that work that begins with the new version
  /// finds none of them.
  func settle(_ digest: Digest, of key: String, begunAt version: UInt64) -> UInt64? {
    let key = KeyText(key)
    return state.withLock { state in
      var current = state.current(key)
      if current.digest == digest { return current.number }
      guard current.number == version else { return nil }
      if current.digest != nil { return state.renew(key, digest).number }
      current.digest = digest
      state.set(current, key)
      return current.number
    }
  }

  /// Returns `version` if a stored picture is current. Its original has this digest, or an unknown one if nil, and the
  /// lookup began at `version`. Returns nil if the key has changed or has another original.
  func confirm(_ digest: Digest?, of key: String, begunAt version: UInt64) -> UInt64? {
    let key = KeyText(key)
    return state.withLock { state in
      var current = state.current(key)
      guard current.number == version else { return nil }
      guard let digest else { return version }
      if current.digest == nil {
        current.digest = digest
        state.set(current, key)
      }
      return current.digest == digest ? version : nil
    }
  }
}
