import Vitrine

/// The styles of a store, and for limited styles their keys in order of last use.
///
/// It is built by one walk over the store's keys when it is first needed, and updated from then on. A key that the
/// store has evicted may still count here. It is usually among the least recently used keys, so it soon leaves the
/// index too. Thread-safe. Calls are O(styles given), except ``forget(_:)``, ``retain(only:prefix:)`` and the walk.
/// The walk is O(n log n), and needs temporary memory for the keys of all entries.
final class StyleIndex: Sendable {
  /// The decision about pictures to store.
  struct Admission: Sendable {
    let key: KeyText
    /// Styles whose limit is not 0.
    var admitted: Set<ImageStyle> = []
    /// Entries to remove first.
    var victims: [(style: ImageStyle, key: KeyText)] = []
    /// Styles in which the key is new.
    fileprivate var entered: [ImageStyle] = []
  }

  private struct State {
    var walk: Task<Void, Never>?
    var isReady = false
    var sized = RecencyList<ImageStyle, Void>()
    var keys: [ImageStyle: RecencyList<KeyText, Void>] = [:]
  }

  /// The largest number of known styles with a size. It bounds memory if each picture has a free form with its own
  /// name.
  private static let mostStyles = 256
  private static let mostRemovals = 1000

  private let store: CacheStore
  private let limits: [ImageStyle: Int]
  private let state = Locked(State())

  init(_ store: CacheStore, limits: [ImageStyle: Int]) {
    self.store = store
    self.limits = limits
  }

  /// Returns once the store has been walked through; later calls return immediately.
  func ready() async {
    let walk = state.withLock { state -> Task<Void, Never>? in
      if state.isReady { return nil }
      if let walk = state.walk { return walk }
      let walk = Task { await self.walk() }
      state.walk = walk
      return walk
    }
    await walk?.value
  }

  /// Until the walk ends, nothing is admitted or counted for limited styles, so the walk needs the lock only at its
  /// end.
  private func walk() async {
    let keys = (try? await store.asynchronous.keysByRecency()) ?? []
    let (found, excess) = sorted(keys)
    for start in stride(from: 0, to: excess.count, by: StyleIndex.mostRemovals) {
      let part = Array(excess[start..<min(start + StyleIndex.mostRemovals, excess.count)])
      _ = try? await store.asynchronous.removeMany(part)
    }
    state.withLock { state in
      for style in found.styles { learn(style, &state) }
      state.keys = found.keys
      state.isReady = true
      state.walk = nil
    }
  }

  private typealias Found = (styles: [ImageStyle], keys: [ImageStyle: RecencyList<KeyText, Void>])

  /// Takes keys in order of recency, the last used first. Returns the index, and the keys above a limit, which may be
  /// lower than in an earlier process.
  private func sorted(_ keys: [CacheKey]) -> (Found, excess: [CacheKey]) {
    let names = Set(keys.map(\.style))
    let styles = Dictionary(names.map { ($0, try? ImageStyle(name: $0.name)) }) { first, _ in first }
    var found: Found = (styles.values.compactMap { $0 }, [:])
    var excess: [CacheKey] = []
    for key in keys {
      guard let style = styles[key.style] ?? nil, let limit = limits[style] else { continue }
      var list = found.keys[style] ?? RecencyList()
      if list.count >= limit {
        excess.append(key)
      } else if list.value(KeyText(key.urlText)) == nil {
        found.keys[style] = nil
        list.insertAsOldest((), KeyText(key.urlText))
        found.keys[style] = list
      }
    }
    return (found, excess)
  }

  private func learn(_ style: ImageStyle, _ state: inout State) {
    guard style.size != nil else { return }
    state.sized.insert((), style)
    if state.sized.count > StyleIndex.mostStyles { state.sized.removeOldest() }
  }

  /// The known styles with a size. Their entries may be gone.
  var sizedStyles: [ImageStyle] { state.withLock { $0.sized.keys } }

  /// The number of counted entries of a style; 0 for a style without a limit.
  func count(of style: ImageStyle) -> Int { state.withLock { $0.keys[style]?.count ?? 0 } }

  // MARK: Keeping up

  /// Counts a picture of each of `styles`, and returns the entries to remove for them. Waits for the walk if one of
  /// the styles has a limit.
  func admit(_ styles: [ImageStyle], _ key: String) async -> Admission {
    if styles.contains(where: { limits[$0] != nil }) { await ready() }
    let key = KeyText(key)
    return state.withLock { state in
      var admission = Admission(key: key)
      for style in styles {
        if let limit = limits[style] {
          if limit < 1 { continue }
          var list = state.keys[style] ?? RecencyList()
          state.keys[style] = nil
          if list.use(key) == nil {
            list.insert((), key)
            admission.entered.append(style)
          }
          while list.count > limit, let oldest = list.removeOldest() { admission.victims.append((style, oldest.key)) }
          state.keys[style] = list
        }
        admission.admitted.insert(style)
        learn(style, &state)
      }
      return admission
    }
  }

  /// Reverts an admission whose pictures were not stored. Its victims count again, even if they were removed.
  func undo(_ admission: Admission) {
    state.withLock { state in
      for style in admission.entered { state.keys[style]?.remove(admission.key) }
      for victim in admission.victims.reversed() where state.keys[victim.style]?.value(victim.key) == nil {
        state.keys[victim.style]?.insertAsOldest((), victim.key)
      }
    }
  }

  /// Whether a picture counts; true for a style without a limit.
  func counts(_ style: ImageStyle, _ key: String) -> Bool {
    limits[style] == nil || state.withLock { $0.keys[style]?.value(KeyText(key)) != nil }
  }

  /// Records that a picture was shown.
  func use(_ style: ImageStyle, _ key: String) {
    if limits[style] == nil { return }
    state.withLock { _ = $0.keys[style]?.use(KeyText(key)) }
  }

  /// Removes keys that have no entries left.
  func forget(_ keys: [String]) async {
    await settled { state in
      for style in self.limits.keys { for key in keys { state.keys[style]?.remove(KeyText(key)) } }
    }
  }

  func retain(only left: Set<KeyText>, prefix: String) async {
    await settled { state in
      for style in self.limits.keys {
        for key in state.keys[style]?.keys ?? [] where key.hasPrefix(prefix) && !left.contains(key) {
          state.keys[style]?.remove(key)
        }
      }
    }
  }

  /// The walk may have seen entries that were removed during it, so changes wait for its end. Before a walk there is
  /// nothing to change.
  private func settled(_ body: (inout State) -> Void) async {
    if limits.isEmpty { return }
    let walk = state.withLock { $0.walk }
    await walk?.value
    state.withLock { body(&$0) }
  }
}
