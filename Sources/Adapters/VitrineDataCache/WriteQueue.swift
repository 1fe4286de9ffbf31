import Foundation
import Vitrine
import VitrineFoundation

/// The queued changes of a data cache: values and removals that the store does not have yet.
///
/// Keys are compared by their bytes, as in the store; a `String` would equal its other normal forms. Each key has at
/// most one queued change, the newest. Reads see queued changes before the store. One thread at a time writes, in the
/// order of the changes, so the store never gets an older change of a key after a newer one.
final class WriteQueue: Sendable {
  /// A queued change of one key: a value, or nil for a removal.
  struct Change {
    var data: Data?
    /// The number of the change, which a later change of the key exceeds.
    var number: UInt64
  }

  /// The queued state of a key.
  enum Answer {
    case value(Data)
    case removed
    case unknown
  }

  private struct State {
    var changes: [CacheKey: Change] = [:]
    /// The keys in the order of their changes. A newer change of a key leaves the older place behind, which is skipped.
    var order: ArraySlice<(key: CacheKey, number: UInt64)> = []
    var nextNumber: UInt64 = 1
    var byteCount = 0
    /// Number of calls of ``clear()`` that the store has not carried out yet. All queued changes are newer.
    var clearings = 0
    /// Whether a call of the writer is due.
    var isScheduled = false
  }

  let store: CacheStore
  let limit: Int
  private let policy: VitrineDataCache.FullQueuePolicy
  private let state = Guarded(State())
  /// Number of calls that wrote to the store. The lock is held while changes are written. It guards a number because
  /// ThreadSanitizer takes the accesses of an empty value for accesses of the object around it.
  private let writing = Guarded(0)
  /// Runs a closure soon on another thread.
  private let executor: @Sendable (@escaping @Sendable () -> Void) -> Void

  init(
    _ store: CacheStore, limit: Int, policy: VitrineDataCache.FullQueuePolicy,
    executor: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) {
    self.store = store
    self.limit = limit
    self.policy = policy
    self.executor = executor
  }

  /// Bytes that a change counts against the limit: its key, its value, and about as much as the queue needs for them.
  static func cost(_ key: CacheKey, _ data: Data?) -> Int { key.url.count + (data?.count ?? 0) + 128 }

  /// Bytes of the queued changes.
  var byteCount: Int { state.withLock { $0.byteCount } }

  func answer(for key: CacheKey) -> Answer {
    state.withLock { state in
      if let change = state.changes[key] { return change.data.map { .value($0) } ?? .removed }
      return state.clearings > 0 ? .removed : .unknown
    }
  }

  /// Queues a change, and makes room for it as the policy says.
  func add(_ key: CacheKey, _ data: Data?) {
    var data = data
    while !state.withLock({ insert(key, data, into: &$0) }) {
      switch policy {
      case .dropNewest where data != nil:
        // A removal takes the place of the value, so that no read returns an older one.
        data = nil
        if hasNothing(for: key) { return }
      case .dropNewest, .wait:
        // The calling thread writes the oldest change itself. If there is none, another thread has just written all.
        _ = writing.withLock { writeOldest(&$0) }
      }
    }
    schedule()
  }

  private func hasNothing(for key: CacheKey) -> Bool {
    switch answer(for: key) {
    case .value: false
    case .removed: true
    case .unknown: !store.contains(key)
    }
  }

  /// Queues the change if there is room. An empty queue has room for any change.
  private func insert(_ key: CacheKey, _ data: Data?, into state: inout State) -> Bool {
    let cost = WriteQueue.cost(key, data)
    let old = state.changes[key].map { WriteQueue.cost(key, $0.data) } ?? 0
    guard state.byteCount - old + cost <= limit || state.byteCount == old else { return false }
    state.byteCount += cost - old
    state.changes[key] = Change(data: data, number: state.nextNumber)
    state.order.append((key, state.nextNumber))
    state.nextNumber += 1
    if state.order.count > 2 * state.changes.count + 64 {
      state.order = state.order.filter { [changes = state.changes] in changes[$0.key]?.number == $0.number }[...]
    }
    return true
  }

  /// Drops all queued changes, and removes everything from the store soon.
  func clear() {
    state.withLock { state in
      state.changes = [:]
      state.order = []
      state.byteCount = 0
      state.clearings += 1
    }
    schedule()
  }

  private func schedule() {
    let isDue = state.withLock { state in
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if isDue { executor { self.writeAll() } }
  }

  /// Writes every change that was queued before the call. Changes that are queued meanwhile are left.
  func writeAll() {
    let end = state.withLock { state in
      state.isScheduled = false
      return state.nextNumber
    }
    while writing.withLock({ writeOldest(&$0, before: end) }) {}
  }

  /// Writes the queued change of one key, behind those queued before it. Changes that are queued meanwhile are left.
  func write(through key: CacheKey) {
    let end = state.withLock { state in state.changes[key].map { $0.number + 1 } ?? 0 }
    while writing.withLock({ writeOldest(&$0, before: end) }) {}
  }

  /// Writes the oldest change, or makes the removal of everything. Returns false if no change older than the number
  /// `end` is queued. Called under the lock of the writer.
  private func writeOldest(_ writeCount: inout Int, before end: UInt64 = .max) -> Bool {
    let clearings = state.withLock { $0.clearings }
    if clearings > 0 {
      do throws(StoreError) { try store.removeAll() } catch { store.concealAll() }
      state.withLock { $0.clearings -= clearings }
      writeCount += 1
      return true
    }
    guard let (key, change) = state.withLock({ oldest(of: &$0, before: end) }) else { return false }
    apply(change.data, to: key)
    writeCount += 1
    state.withLock { state in
      guard state.changes[key]?.number == change.number else { return }
      state.changes[key] = nil
      state.byteCount -= WriteQueue.cost(key, change.data)
    }
    return true
  }

  /// Takes the oldest place that still has its change. The change stays readable until it is written.
  private func oldest(of state: inout State, before end: UInt64) -> (CacheKey, Change)? {
    while let place = state.order.first, place.number < end {
      state.order.removeFirst()
      if let change = state.changes[place.key], change.number == place.number { return (place.key, change) }
    }
    return nil
  }

  private func apply(_ data: Data?, to key: CacheKey) {
    do throws(StoreError) {
      if let data {
        try store.put(data, for: key, options: PutOptions(durability: .buffered))
      } else {
        try store.remove(key)
      }
    } catch {
      // An older value must not be returned in place of this one.
      if data != nil { _ = try? store.remove(key) }
      store.conceal(key)
    }
  }
}
