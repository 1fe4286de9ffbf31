import Vitrine

/// Finds the entries that a store evicts during an operation, and enters them into its history.
final class EvictionRecorder {
  /// The evicted keys that were entered so far.
  private(set) var keys: [CacheKey] = []
  private let history: History

  init(_ history: History) { self.history = history }

  /// The state before an operation that may evict.
  struct Watch {
    fileprivate let notedCount: Int
    fileprivate let step: Int
    fileprivate let began: Int
    fileprivate let evictedCount: Int
    /// In the order of eviction.
    fileprivate let order: [CacheKey]
  }

  /// Begins before an operation. Inside it, a nested operation enters its own evictions.
  func watch(_ store: CacheStore) -> Watch {
    Watch(
      notedCount: keys.count, step: history.steps.count, began: history.disk.operationCount,
      evictedCount: store.statistics().evictedCount,
      // Expired entries are removed before them, and not by eviction.
      order: ((try? store.keysByRecency()) ?? []).reversed().filter { store.contains($0) })
  }

  /// Enters the evictions since `watch`. Steps that were begun meanwhile get other numbers.
  func note(_ watch: Watch, _ store: CacheStore) {
    let noted = keys[watch.notedCount...]
    let count = store.statistics().evictedCount - watch.evictedCount - noted.count
    guard count > 0 else { return }
    // Missing entries that no removal has touched were evicted. Beyond that, an entry whose removal is in the log may
    // have been evicted for its own successor, or before its removal. (For entries used at the same time the order of
    // eviction is unknown.)
    let logged = removalsInLog(since: watch.began)
    let hashes = Set(logged)
    func hash(_ key: CacheKey) -> KeyHash { store.probe.hash(of: key).stored }
    let touched = history.keys(since: watch.step)
    let removed = history.removedKeys(since: watch.step)
    let candidates = watch.order.filter { !noted.contains($0) }
    let missing = candidates.filter { !removed.contains($0) && !store.contains($0) }
    let others = candidates.filter { touched.contains($0) && !missing.contains($0) && hashes.contains(hash($0)) }
    let replaced = (others.filter { !removed.contains($0) } + others.filter(removed.contains))
      .prefix(max(0, count - missing.count))
    let isGone = Set(missing.prefix(count) + replaced)
    let gone = inOrder(logged, watch.order.filter(isGone.contains), hash)
    keys += gone
    history.evicted(gone, before: watch.step, began: watch.began)
  }

  /// The removals in the log since an operation, by the hashes that the index keeps.
  private func removalsInLog(since began: Int) -> [KeyHash] {
    DiskOperation.logged(by: history.disk.lastOperations(since: began)).compactMap {
      if case .remove(let hash, _) = $0 { hash.stored } else { nil }
    }
  }

  /// Returns the keys in the order of their removals: a policy may evict in another order than that of the last uses.
  /// Keys with one hash stay in their order, and keys without a removal come last.
  private func inOrder(_ removals: [KeyHash], _ keys: [CacheKey], _ hash: (CacheKey) -> KeyHash) -> [CacheKey] {
    var places: [KeyHash: [Int]] = [:]
    for (place, removal) in removals.enumerated().reversed() { places[removal, default: []].append(place) }
    return keys.enumerated().map { (places[hash($0.element)]?.popLast() ?? .max, $0.offset, $0.element) }
      .sorted { ($0.0, $0.1) < ($1.0, $1.1) }
      .map { $0.2 }
  }
}
