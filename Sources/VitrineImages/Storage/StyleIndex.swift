import Vitrine

/// What a store has by style: which styles there are, and of those with a limit the keys, in the order of their last use.
///
/// It is derived from the store, by one walk over its keys when it is first needed, and kept up from then on. A key that the
/// store has let go by itself may still be counted: it was used longest ago there, so it is the next to go here, too. Safe
/// from any thread. Every call is O(styles given) but for the walk, which is O(n log n) and takes memory for the keys of all
/// entries meanwhile, and ``retain(only:prefix:)``.
final class StyleIndex: Sendable {
  /// What is to be done for a picture to be kept.
  struct Admission: Sendable {
    let key: KeyText
    /// Styles of which something may be kept at all.
    var admitted: Set<ImageStyle> = []
    /// Entries that go first.
    var victims: [(style: ImageStyle, key: KeyText)] = []
    /// Styles of which the key is new.
    fileprivate var entered: [ImageStyle] = []
  }

  private struct State {
    var walk: Task<Void, Never>?
    var isReady = false
    var sized = RecencyList<ImageStyle, Void>()
    var keys: [ImageStyle: RecencyList<KeyText, Void>] = [:]
  }

  /// Of styles, so that free forms with a name for each picture do not fill memory.
  private static let mostStyles = 256
  private static let mostRemovals = 1000

  private let store: CacheStore
  private let limits: [ImageStyle: Int]
  private let state = Locked(State())

  init(_ store: CacheStore, limits: [ImageStyle: Int]) {
    self.store = store
    self.limits = limits
  }

  /// Returns when the store was looked through, the first time.
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

  /// Until it is done, nothing is admitted and nothing counted, so it needs no lock but at its end.
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

  /// `keys`: the last used first. Beside them those above a limit, which may be smaller than it was.
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

  /// Styles with a size of which there is something, as far as it is known yet.
  var sizedStyles: [ImageStyle] { state.withLock { $0.sized.keys } }

  /// How many entries of a style are counted; 0 for one without a limit.
  func count(of style: ImageStyle) -> Int { state.withLock { $0.keys[style]?.count ?? 0 } }

  // MARK: Keeping up

  /// Counts a picture of each of `styles` in, and says which must go for them. Waits for the walk if there is a limit.
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

  /// It was not kept after all, and those that were to go for it have stayed.
  func undo(_ admission: Admission) {
    state.withLock { state in
      for style in admission.entered { state.keys[style]?.remove(admission.key) }
      for victim in admission.victims.reversed() where state.keys[victim.style]?.value(victim.key) == nil {
        state.keys[victim.style]?.insertAsOldest((), victim.key)
      }
    }
  }

  /// One was shown.
  func use(_ style: ImageStyle, _ key: String) {
    if limits[style] == nil { return }
    state.withLock { _ = $0.keys[style]?.use(KeyText(key)) }
  }

  /// Keys of which nothing is left.
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

  /// What has gone while the walk is under way may have been seen by it; before the first there is nothing to change.
  private func settled(_ body: (inout State) -> Void) async {
    if limits.isEmpty { return }
    let walk = state.withLock { $0.walk }
    await walk?.value
    state.withLock { body(&$0) }
  }
}
