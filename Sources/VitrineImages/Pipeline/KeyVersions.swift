import Vitrine

/// Separates pictures made from the current original of a key from pictures made from an earlier one.
///
/// A version is a number used once. The recently used keys have one: 10,000 keys unless the caller sets a higher
/// number, with 8 MiB of text, and in addition all keys with work under way. A forgotten key gets a new version, so its
/// cached pictures count as older: this costs an extra miss, and never shows a wrong picture. Thread-safe, O(1).
final class KeyVersions: Sendable {
  private struct Version {
    let number: UInt64
    /// The number of the version that the latest change by the app began, or the first number of a key. Work that began
    /// under a version with a smaller number started before that change.
    let epoch: UInt64
    /// The digest of the original, once it is known.
    var digest: Digest?
    /// The ordinal of the newest download that is current; 0 for an original that was not downloaded here.
    var ordinal: UInt64 = 0
  }

  /// An original on which a picture is based.
  struct Basis: Sendable {
    let digest: Digest
    /// Its place in the order of downloads (``takeOrdinal()``), or nil for a stored one.
    var ordinal: UInt64?
  }

  private struct State {
    let most: Int
    /// The bytes of the keys in `versions`, so that long keys do not fill the memory.
    var byteCount = 0
    var versions = RecencyList<KeyText, Version>()
    /// Keys with work under way: the number of pieces of work, and the version if `versions` has dropped it.
    var underWay: [KeyText: (count: Int, version: Version?)] = [:]
    var last: UInt64 = 0
    var lastOrdinal: UInt64 = 0

    mutating func current(_ key: KeyText) -> Version {
      if let version = versions.use(key) { return version }
      if let version = underWay[key]?.version {
        set(version, key)
        return version
      }
      return renew(key, nil)
    }

    /// Begins a version, and an epoch with it.
    mutating func renew(_ key: KeyText, _ digest: Digest?) -> Version {
      last += 1
      let version = Version(number: last, epoch: last, digest: digest)
      set(version, key)
      return version
    }

    /// Begins a version within the epoch, for another original, or for none.
    mutating func replace(_ current: Version, _ key: KeyText, by digest: Digest?, ordinal: UInt64) -> Version {
      last += 1
      let version = Version(number: last, epoch: current.epoch, digest: digest, ordinal: ordinal)
      set(version, key)
      return version
    }

    mutating func set(_ version: Version, _ key: KeyText) {
      underWay[key]?.version = nil
      if versions.insert(version, key) == nil { byteCount += key.text.utf8.count }
      while versions.count > most || byteCount > KeyVersions.mostByteCount && versions.count > 1,
        let oldest = versions.removeOldest()
      {
        byteCount -= oldest.key.text.utf8.count
        underWay[oldest.key]?.version = oldest.value
      }
    }
  }

  static let usualCount = 10_000
  static let mostByteCount = 8 << 20

  /// The number of remembered keys, without those that only work under way holds.
  var count: Int { state.withLock { $0.versions.count } }

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

  /// Begins a version without an original, after a download whose original must not be stored. The storage has no
  /// original of the key. Work that began earlier is admitted only with the original of a later download.
  func forget(_ basis: Basis, of key: String) {
    let key = KeyText(key)
    state.withLock { state in
      let current = state.current(key)
      _ = state.replace(current, key, by: nil, ordinal: max(current.ordinal, basis.ordinal ?? 0))
    }
  }

  /// Returns the next place in the order of downloads and requests. Called before a download asks the server: of two
  /// downloads, the later one has the newer original.
  func takeOrdinal() -> UInt64 {
    state.withLock { state in
      state.lastOrdinal += 1
      return state.lastOrdinal
    }
  }

  /// Returns whether pictures based on an original may be stored by work that began at `version`: the original is the
  /// current one, or replaces it. A downloaded original replaces the one of an earlier download. A stored one counts
  /// only while the key has not changed.
  func admits(_ basis: Basis, of key: String, begunAt version: UInt64) -> Bool {
    state.withLock { KeyVersions.admits(basis, version, $0.current(KeyText(key))) }
  }

  private static func admits(_ basis: Basis, _ version: UInt64, _ current: Version) -> Bool {
    if current.digest == basis.digest { return true }
    guard let ordinal = basis.ordinal else { return current.number == version }
    return version >= current.epoch && ordinal > current.ordinal
  }

  /// Records that an original, or a picture made from it, is stored. Returns the version for pictures made from this
  /// original; nil if the original is not admitted. The version is new if the original replaces another one, or if a
  /// downloaded original replaces an unknown one. Call this function once the storage no longer returns the previous
  /// pictures, so that work that begins with the new version finds none of them.
  func settle(_ basis: Basis, of key: String, begunAt version: UInt64) -> UInt64? {
    let key = KeyText(key)
    return state.withLock { state in
      var current = state.current(key)
      guard KeyVersions.admits(basis, version, current) else { return nil }
      let isKnown = current.digest == basis.digest
      // Other work under this version may have found an older original in the storage.
      if !isKnown, current.digest != nil || basis.ordinal != nil {
        return state.replace(current, key, by: basis.digest, ordinal: basis.ordinal ?? current.ordinal).number
      }
      current.digest = basis.digest
      current.ordinal = max(current.ordinal, basis.ordinal ?? 0)
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
