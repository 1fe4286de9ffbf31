import Foundation
import Vitrine

/// The responses that may be kept in memory only. Beyond its capacity, the oldest are dropped. Thread-safe.
final class MemoryResponses: Sendable {
  struct Entry {
    var response: [UInt8]
    var data: Data
    var date: Date
    var byteCount: Int { response.count + data.count }
  }

  private struct State {
    var entries: [String: Entry] = [:]
    /// The keys in the order of their puts.
    var order: [String] = []
    var byteCount = 0
    var capacity: Int

    mutating func remove(_ key: String) {
      guard let entry = entries.removeValue(forKey: key) else { return }
      byteCount -= entry.byteCount
      order.removeAll { $0 == key }
    }

    mutating func trim() {
      while byteCount > capacity, let oldest = order.first { remove(oldest) }
    }
  }

  private let state: Guarded<State>

  init(capacity: Int) { state = Guarded(State(capacity: capacity)) }

  /// Most bytes of all entries. A smaller value drops the oldest ones.
  var capacity: Int {
    get { state.withLock { $0.capacity } }
    set {
      state.withLock { state in
        state.capacity = newValue
        state.trim()
      }
    }
  }

  var byteCount: Int { state.withLock { $0.byteCount } }

  func entry(_ key: String) -> Entry? { state.withLock { $0.entries[key] } }

  /// Keeps an entry if it fits the capacity. The older entry of the key is dropped in any case.
  func put(_ entry: Entry, for key: String) {
    state.withLock { state in
      state.remove(key)
      guard entry.byteCount <= state.capacity else { return }
      state.entries[key] = entry
      state.order.append(key)
      state.byteCount += entry.byteCount
      state.trim()
    }
  }

  func remove(_ key: String) { state.withLock { $0.remove(key) } }

  func removeAll(where predicate: (Entry) -> Bool) {
    state.withLock { state in
      for (key, entry) in state.entries where predicate(entry) { state.remove(key) }
    }
  }
}
