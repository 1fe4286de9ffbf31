import Vitrine

/// The requests to a store, in order, with the number of complete disk operations when each began and when it was
/// acknowledged: enough to tell which states a crash may leave.
package final class History {
  package enum Change {
    case put(CacheKey, Content)
    case remove(CacheKey)
    case removeAll
  }

  /// Repeats a request by the same call in a store that a crash has left; returns the changes that must follow.
  package typealias Repetition = (CacheStore) throws -> [Change]

  /// Identifies a step, even if others are inserted before it.
  struct StepID: Equatable {
    fileprivate let number: Int
  }

  struct Step {
    let id: StepID
    /// These changes happen together.
    let changes: [Change]
    let again: Repetition
    /// Acknowledged as synced.
    let isSynced: Bool
    let began: Int
    /// The time at its beginning, and how often the wall clock had been set by then.
    let clock: (wall: Int64, stepCount: Int)
    /// When it was acknowledged; nil if it failed or never ended.
    var acknowledged: Int?
    /// The store evicted the entries itself, to make room.
    var isEviction = false
    /// It ended with an error: it may have happened or not, independent of later steps.
    var hasFailed = false
  }

  private(set) var steps: [Step] = []
  private var nextID = 0
  /// Moments at which a `flush` (or an operation that implies one) had made durable all that existed when it began,
  /// payloads included.
  private(set) var flushes: [Flush] = []

  struct Flush {
    let stepCount: Int
    let began: Int
    let moment: Int
    /// Whether the caller was told so.
    let isPromise: Bool
  }

  /// Whether the store has had other budgets: a value that fit once may not fit later.
  private(set) var hasOtherBudgets = false
  /// Whether the order of the changes of several threads is not known: no verdict is possible.
  private(set) var isUncertain = false

  let disk: SimulatedDisk
  let clock: SimulatedClock
  /// Milliseconds since 1970.
  var now: Int64 { clock.wallMilliseconds() }

  /// Keys with changes from before the history; some of their earlier metadata is unknown.
  private(set) var keysFromBefore: Set<CacheKey> = []

  init(_ world: SimulatedWorld) {
    disk = world.disk
    clock = world.clock
  }

  /// Sets the contents of the keys before the first request; all of it is durable.
  func begin(with found: [CacheKey: Content], of keys: Set<CacheKey>) {
    run(keys.sorted().map { key in found[key].map { .put(key, $0) } ?? .remove(key) }, synced: true) {}
    flush { true }
  }

  /// Notes that the changes so far are from before the history.
  func markKeysFromBefore() { keysFromBefore = keys }
  func noteOtherBudget() { hasOtherBudgets = true }
  func noteUnknownOrder() { isUncertain = true }

  func run<E: Error>(
    _ changes: [Change], synced: Bool, again: Repetition? = nil, _ body: () throws(E) -> Void
  ) throws(E) {
    let step = begin(changes, synced: synced, again: again)
    do throws(E) {
      try body()
    } catch {
      fail(step)
      throw error
    }
    acknowledge(step)
  }

  /// Begins a step: its changes may be visible from now on. It comes after all others, or before the step at
  /// `position`. Returns the step to acknowledge. Without `again`, each change is repeated by itself.
  func begin(_ changes: [Change], synced: Bool, at position: Int? = nil, again: Repetition? = nil) -> StepID {
    let step = self.step(changes, synced: synced, began: disk.operationCount, again: again)
    steps.insert(step, at: position ?? steps.count)
    return step.id
  }

  /// Returns whether a step began after this one, and before the operation of that number.
  func hasBegun(after step: StepID, by operation: Int, otherThan others: [StepID]) -> Bool {
    steps.contains { $0.id.number > step.number && $0.began <= operation && !others.contains($0.id) }
  }

  /// The newest step, until it is acknowledged or fails.
  var underWay: (position: Int, changes: [Change])? {
    guard let last = steps.last, last.acknowledged == nil, !last.hasFailed else { return nil }
    return (steps.count - 1, last.changes)
  }

  private func step(
    _ changes: [Change], synced: Bool, began: Int, acknowledged: Int? = nil, again: Repetition? = nil
  ) -> Step {
    nextID += 1
    return Step(
      id: StepID(number: nextID), changes: changes,
      again: again ?? { try History.make(changes, in: $0, synced ? .synced : .buffered) },
      // A change of nothing promises nothing, about earlier steps neither.
      isSynced: synced && !changes.isEmpty,
      began: began, clock: (clock.wallMilliseconds(), clock.stepCount), acknowledged: acknowledged)
  }

  private static func make(_ changes: [Change], in store: CacheStore, _ durability: Durability) throws -> [Change] {
    // Of an eviction or of a long life's beginning a few changes suffice.
    let few = Array(changes.prefix(10))
    for change in few {
      switch change {
      case .put(let key, let content):
        var options = content.options
        options.durability = durability
        try store.put(content.bytes, for: key, options: options)
      case .remove(let key): try store.remove(key, durability: durability)
      case .removeAll: try store.removeAll(durability: durability)
      }
    }
    return few
  }

  private func change(_ id: StepID, _ body: (inout Step) -> Void) {
    if let index = steps.lastIndex(where: { $0.id == id }) { body(&steps[index]) }
  }

  /// Acknowledges a step after this many operations of the disk; after all so far by default.
  func acknowledge(_ id: StepID, at moment: Int? = nil) {
    let moment = moment ?? disk.operationCount
    change(id) { $0.acknowledged = moment }
  }

  func fail(_ id: StepID) { change(id) { $0.hasFailed = true } }

  /// Enters the evictions in the course of `step` or of the step at its place, between `began` and now: each key by
  /// itself, in the order of eviction.
  func evicted(_ keys: [CacheKey], before step: Int, began: Int) {
    let evictions = keys.map { key in
      var step = self.step([.remove(key)], synced: false, began: began, acknowledged: disk.operationCount)
      step.isEviction = true
      return step
    }
    steps.insert(contentsOf: evictions, at: step)
  }

  /// Runs an operation that makes everything durable if it returns true. Changes of other threads meanwhile do not
  /// count.
  func flush<E: Error>(isPromise: Bool = true, _ body: () throws(E) -> Bool) throws(E) {
    let end = steps.count
    let began = disk.operationCount
    if try body() {
      flushes.append(Flush(stepCount: end, began: began, moment: disk.operationCount, isPromise: isPromise))
    }
  }

  /// The moments at which the expectations change.
  var expectations: [Int] {
    steps.flatMap { [$0.began, $0.acknowledged ?? $0.began] } + flushes.map(\.moment)
  }

  // MARK: Keys

  /// Every key that a step has touched.
  var keys: Set<CacheKey> { keys(since: 0) }

  /// Every key that was touched from `step` on.
  func keys(since step: Int) -> Set<CacheKey> {
    Set(
      steps[min(step, steps.count)...].flatMap(\.changes).compactMap { change in
        switch change {
        case .put(let key, _), .remove(let key): key
        case .removeAll: nil
        }
      })
  }

  /// Every key whose last change from `step` on is a removal.
  func removedKeys(since step: Int) -> Set<CacheKey> {
    var removed: Set<CacheKey> = []
    for change in steps[min(step, steps.count)...].flatMap(\.changes) {
      switch change {
      case .put(let key, _): removed.remove(key)
      case .remove(let key): removed.insert(key)
      case .removeAll: removed = keys
      }
    }
    return removed
  }

  // MARK: Reports

  /// Returns the requests up to a moment, a line for each step, the newest last.
  func story(upTo moment: Int, last count: Int = 20) -> [String] {
    let begun = steps.prefix { $0.began <= moment }
    return begun.enumerated().suffix(count).map { index, step in
      let what = step.changes.prefix(3).map(\.description).joined(separator: ", ")
      let more = step.changes.count > 3 ? " and \(step.changes.count - 3) more" : ""
      let end =
        if step.hasFailed {
          "failed"
        } else if let acknowledged = step.acknowledged, acknowledged <= moment {
          "acknowledged\(step.isSynced ? " as synced" : "") after operation \(acknowledged)"
        } else {
          "under way"
        }
      return "\(index): \(what)\(more); begun after operation \(step.began), \(end)"
    }
  }
}

extension History.Change: CustomStringConvertible {
  package var description: String {
    switch self {
    case .put(let key, let content): "put \(content.bytes.count) bytes as \(key.urlText) \(key.style)"
    case .remove(let key): "remove \(key.urlText) \(key.style)"
    case .removeAll: "remove all"
    }
  }
}
