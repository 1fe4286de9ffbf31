import Dispatch

/// A cache of values in memory with limits, which drops the least recently used values first.
///
/// The values in the cache never exceed its limits: a value is inserted only after the dropped values are released.
/// With several threads, each may still be releasing dropped values while others insert. The user defines the unit of
/// cost; a pipeline uses `Bitmap.memoryCost`. Thread-safe. Calls are O(1) and hold a lock for some dozens of
/// nanoseconds, except `removeAll` and calls that remove several values, which are O(values removed), and
/// `removeAll(where:)`, which is O(values).
public final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// The limits of a cache: cost, number and age of its values.
  public typealias Limits = MemoryLimits

  private let state: Locked<State>
  private let now: @Sendable () -> Int64

  /// Creates a cache. `now` returns milliseconds of a monotonic clock.
  public init(limits: Limits, now: @escaping @Sendable () -> Int64 = MemoryCache.uptime) {
    state = Locked(State(limits: limits))
    self.now = now
  }

  /// Returns the milliseconds of a monotonic clock, from an arbitrary start.
  public static func uptime() -> Int64 { Int64(DispatchTime.now().uptimeNanoseconds / 1_000_000) }

  /// Returns the value of a key, or nil if there is none or it is too old. Counts as a use.
  public subscript(key: Key) -> Value? {
    let time = now()
    let (value, gone) = state.withLock { $0.use(key, time) }
    withExtendedLifetime(gone) {}
    return value
  }

  /// Inserts a value, and removes the previous value of the key. Returns false if the new value alone exceeds the cost
  /// limit, or the count limit is below 1; the previous value is removed in that case too.
  @discardableResult
  public func insert(_ value: Value, for key: Key, cost: Int = 1) -> Bool {
    let time = now()
    while true {
      let step = state.withLock { $0.insert(value, key, max(0, cost), time) }
      switch step {
      case .isIn: return true
      case .isTooLarge(let gone):
        withExtendedLifetime(gone) {}
        return false
      // Dropped values are released outside the lock, since the last reference may unmap a file, and before the new
      // value is inserted. Another thread may use the room in the meantime, so the loop tries again.
      case .madeRoom(let gone): withExtendedLifetime(gone) {}
      }
    }
  }

  /// Removes a value and returns it, or nil if the key has none. O(1).
  @discardableResult
  public func remove(_ key: Key) -> Value? { state.withLock { $0.remove(key) } }

  /// Removes all values. O(values).
  public func removeAll() { withExtendedLifetime(state.withLock { $0.trim(cost: -1, count: 0) }) {} }

  /// Removes the values whose keys satisfy `isUnwanted`, which is called without a lock. O(values).
  public func removeAll(where isUnwanted: (Key) -> Bool) {
    let keys = state.withLock { $0.keys }.filter(isUnwanted)
    withExtendedLifetime(keys.compactMap { remove($0) }) {}
  }

  /// Removes least recently used values until the rest costs at most a share, from 0 to 1, of the present cost. For
  /// memory shortage. O(values removed).
  public func trim(toCostShare share: Double) {
    let gone = state.withLock { state in
      if share >= 1 { return [] }
      let share = share.isNaN ? 0 : max(share, 0)
      return state.trim(cost: Int((Double(state.totalCost) * share).rounded(.down)), count: share == 0 ? 0 : .max)
    }
    withExtendedLifetime(gone) {}
  }

  /// The limits. Lower limits remove the least recently used values. O(values removed).
  public var limits: Limits {
    get { state.withLock { $0.limits } }
    set {
      let gone = state.withLock { state in
        state.limits = newValue
        return state.trim(cost: newValue.cost, count: newValue.count)
      }
      withExtendedLifetime(gone) {}
    }
  }

  /// The sum of the costs of all values. O(1).
  public var totalCost: Int { state.withLock { $0.totalCost } }
  /// The number of values. O(1).
  public var count: Int { state.withLock { $0.count } }
}

extension MemoryCache {
  private struct Item {
    var value: Value
    var cost: Int
    var since: Int64
  }

  private enum Insertion {
    case isIn
    case isTooLarge([Value])
    case madeRoom([Value])
  }

  private struct State {
    var limits: Limits
    private var items = RecencyList<Key, Item>()
    private(set) var totalCost = 0

    init(limits: Limits) { self.limits = limits }

    var count: Int { items.count }
    var keys: [Key] { items.keys }

    /// Returns the value, or the value to release if it has become too old.
    mutating func use(_ key: Key, _ time: Int64) -> (value: Value?, gone: Value?) {
      guard let item = items.use(key) else { return (nil, nil) }
      if let age = limits.ageMilliseconds, time - item.since >= age { return (nil, remove(key)) }
      return (item.value, nil)
    }

    mutating func insert(_ value: Value, _ key: Key, _ cost: Int, _ time: Int64) -> Insertion {
      var gone: [Value] = []
      if let old = remove(key) { gone.append(old) }
      guard cost <= limits.cost, limits.count > 0 else { return .isTooLarge(gone) }
      gone += trim(cost: limits.cost - cost, count: limits.count - 1)
      guard gone.isEmpty else { return .madeRoom(gone) }
      items.insert(Item(value: value, cost: cost, since: time), key)
      totalCost += cost
      return .isIn
    }

    mutating func remove(_ key: Key) -> Value? {
      guard let item = items.remove(key) else { return nil }
      totalCost -= item.cost
      return item.value
    }

    mutating func trim(cost: Int, count: Int) -> [Value] {
      var gone: [Value] = []
      while totalCost > cost || items.count > count, let oldest = items.oldest {
        if let value = remove(oldest.key) { gone.append(value) }
      }
      return gone
    }
  }
}
