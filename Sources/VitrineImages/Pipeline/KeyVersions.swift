import Vitrine

/// Tells what was made from what a key stands for now from what was made before something else came under it.
///
/// A version is a number that is given out once. The keys asked for last have one, 10,000 of them unless more are asked
/// for, and those beside them of which something is under way; a key that was forgotten gets another, so that what is known
/// of it counts as older: a miss too many, and never a wrong picture. Safe from any thread, O(1).
final class KeyVersions: Sendable {
  private struct Version {
    let number: UInt64
    /// Of the original, once that is known.
    var digest: Digest?
  }

  private struct State {
    let most: Int
    var versions = RecencyList<KeyText, Version>()
    /// Keys of which something is under way: how much, and the version of those that the list has forgotten.
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

  /// `keyCount`: how many keys are remembered.
  init(keyCount: Int = KeyVersions.usualCount) { state = Locked(State(most: max(1, keyCount))) }

  func current(of key: String) -> UInt64 { current(of: KeyText(key)) }
  func current(of key: KeyText) -> UInt64 { state.withLock { $0.current(key).number } }

  /// As ``current(of:)``; and the key is not forgotten until ``end(_:)`` is called as often.
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

  /// Something else is under the key from now on: an original with this digest, or nobody knows what.
  func advance(_ key: String, to digest: Digest? = nil) {
    state.withLock { _ = $0.renew(KeyText(key), digest) }
  }

  /// The same for all keys that are known and meant.
  func advance(where isMeant: (KeyText) -> Bool) {
    state.withLock { state in
      let known = state.versions.keys + state.underWay.filter { $0.value.version != nil }.keys
      for key in known where isMeant(key) { _ = state.renew(key, nil) }
    }
  }

  /// Whether what is made from an original with this digest, by work that began at `version`, may be kept: nothing else has
  /// come under the key since, or it has come from there itself.
  func admits(_ digest: Digest, of key: String, begunAt version: UInt64) -> Bool {
    state.withLock { state in
      let current = state.current(KeyText(key))
      return current.number == version || current.digest == digest
    }
  }

  /// That original has been kept, or what was made from it: answers the version of what is made from it, a new one where it
  /// is another original than the one before; nil where the key has gone on to something else. To be called when the
  /// storage no longer gives what was there before, so that who begins with the new version finds nothing old.
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

  /// The version of what was found to be made from an original with this digest, nil for an unknown one, by somebody who
  /// began at `version`; nil where it is another original than the key's.
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
