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

  /// A value that fit once may not fit later.
  var hasOtherBudgets = false

  let disk: SimulatedDisk
  private let clock: SimulatedClock
  /// Milliseconds since 1970.
  var now: Int64 { clock.wallMilliseconds() }

  /// Keys with changes from before the history; some of their earlier metadata is unknown.
  var keysFromBefore: Set<CacheKey> = []

  init(_ world: SimulatedWorld) {
    disk = world.disk
    clock = world.clock
  }

  /// Sets the contents of the keys before the first request; all of it is durable.
  func begin(with found: [CacheKey: Content], of keys: Set<CacheKey>) {
    run(keys.sorted().map { key in found[key].map { .put(key, $0) } ?? .remove(key) }, synced: true) {}
    flush { true }
  }

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

  // MARK: Verdicts

  private struct Value {
    let content: Content
    /// The step that put it.
    let step: Int
    /// The first step since which the key has had these bytes, and whether one since then made them durable. A
    /// change of metadata in memory does not count as a sync of the payload.
    let payloadStep: Int
    let isPayloadSynced: Bool

    init(_ content: Content, step: Int, isSynced: Bool, before: Value?) {
      self.content = content
      self.step = step
      let same = before.flatMap { content.canShare(with: $0.content) ? $0 : nil }
      payloadStep = same?.payloadStep ?? step
      isPayloadSynced = isSynced || same?.isPayloadSynced ?? false
    }
  }

  private func apply(_ step: Int, to state: inout [CacheKey: Value]) {
    for change in steps[step].changes {
      switch change {
      case .put(let key, let content):
        state[key] = Value(content, step: step, isSynced: steps[step].isSynced, before: state[key])
      case .remove(let key): state[key] = nil
      case .removeAll: state = [:]
      }
    }
  }

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

  /// Contracts 2 to 4: the surviving state is that after one of the steps from the last durable one to the last
  /// begun one, with or without any of the failed ones. Only a payload that was never synced may read as nothing.
  /// Returns a description of the violation, or nil. `missingCount` entries may be missing, as the store has
  /// reported evictions and losses. Expiries count by the current clock.
  func judge(
    _ found: [CacheKey: Content], crashedAfter moment: Int, powerLost: Bool, harm: Harm = .none, missingCount: Int = 0
  ) -> String? {
    if let wrong = expired(found) { return wrong }
    if harm >= .entriesMayBeOlder { return neverPut(found) }
    let begun = steps.prefix { $0.began <= moment }.count
    let flushed = flushed(at: moment)
    let durable = durableCount(begun, at: moment, powerLost: powerLost)
    var complaints: [String] = []
    let failed = (0..<begun).filter { steps[$0].hasFailed }
    for omissions in [omissions, rareOmissions] {
      for omitted in omissions(failed) {
        var state: [CacheKey: Value] = [:]
        for index in 0..<durable where !omitted.contains(index) { apply(index, to: &state) }
        var next = durable
        while true {
          guard let complaint = difference(found, state, flushed: flushed, powerLost: powerLost, mayMiss: missingCount)
          else {
            return nil
          }
          if complaints.count < 8 { complaints.append("as after step \(next): \(complaint)") }
          if next >= begun { break }
          if !omitted.contains(next) { apply(next, to: &state) }
          next += 1
        }
      }
    }
    return "durable steps \(durable), begun \(begun), flushed \(flushed); " + complaints.joined(separator: "; ")
  }

  private func flushed(at moment: Int) -> Int { flushes.last { $0.moment <= moment }?.stepCount ?? 0 }

  /// Returns how many of the begun steps must have survived, all earlier ones included.
  private func durableCount(_ begun: Int, at moment: Int, powerLost: Bool) -> Int {
    var durable = flushed(at: moment)
    for index in 0..<begun {
      guard let acknowledged = steps[index].acknowledged, acknowledged <= moment else { continue }
      if !powerLost || steps[index].isSynced { durable = max(durable, index + 1) }
    }
    return durable
  }

  /// Returns the sets of failed steps that may have had no effect: any of up to ten; of more, as after a disk that
  /// stays broken, all from one of them on, or all but one.
  private func omissions(_ failed: [Int]) -> [Set<Int>] {
    if failed.count <= 10 {
      return (0..<1 << failed.count).reversed().map { bits in
        Set(failed.indices.filter { bits >> $0 & 1 == 1 }.map { failed[$0] })
      }
    }
    let all = Set(failed)
    return [all] + failed.map { all.subtracting([$0]) } + failed.indices.map { Set(failed[$0...]) } + [[]]
  }

  /// If more than ten failed, all but two or three: in each life after a failed sync the first to fail may have
  /// happened.
  private func rareOmissions(_ failed: [Int]) -> [Set<Int>] {
    if failed.count <= 10 { return [] }
    let all = Set(failed)
    var found: [Set<Int>] = []
    for first in failed {
      for second in failed where second > first {
        found.append(all.subtracting([first, second]))
        for third in failed where third > second { found.append(all.subtracting([first, second, third])) }
      }
    }
    return found
  }

  private func difference(
    _ found: [CacheKey: Content], _ state: [CacheKey: Value], flushed: Int, powerLost: Bool, mayMiss: Int
  ) -> String? {
    for (key, content) in found where state[key]?.content != content {
      return state[key]?.content.bytes == content.bytes
        ? "\(key.urlText) has other metadata, another layout or another expiry than its own then"
        : "\(key.urlText) has \(content.bytes.count) bytes that are not its own then"
    }
    var missing = 0
    for (key, value) in state where found[key] == nil && !mayHaveExpired(value) {
      if powerLost, value.payloadStep >= flushed, !value.isPayloadSynced { continue }
      missing += 1
      if missing > mayMiss { return "\(key.urlText) is missing" }
    }
    return nil
  }

  /// Returns whether the value may have expired for good at any time that the clock has shown since it was put.
  private func mayHaveExpired(_ value: Value) -> Bool {
    let put = steps[value.step].clock
    switch value.content.expiry {
    case nil: return false
    case .at(let moment): return moment <= clock.latestWall(since: put.stepCount)
    case .afterIdle(let limit): return limit <= clock.latestWall(since: put.stepCount) - put.wall
    }
  }

  /// Returns a description of an expired entry that a get returned, or nil.
  private func expired(_ found: [CacheKey: Content]) -> String? {
    let now = now
    return found.first { $0.value.hasExpired(at: now) }.map { "\($0.key.urlText) is given out after its expiry" }
  }

  private func neverPut(_ found: [CacheKey: Content]) -> String? {
    found.first { !hasEverPut($0.key, $0.value) }.map { "\($0.key.urlText) has bytes that were never put" }
  }

  /// Returns whether the key ever had this content. Every key has had none.
  func hasEverPut(_ key: CacheKey, _ content: Content?) -> Bool {
    content == nil
      || steps.contains { step in
        step.changes.contains {
          guard case .put(key, let put) = $0 else { return false }
          return put == content || put.bytes == content?.bytes && keysFromBefore.contains(key)
        }
      }
  }

  /// Returns whether a change that began after a moment was acknowledged as durable.
  func hasPromisedDurability(after moment: Int) -> Bool {
    flushes.contains { $0.isPromise && $0.began > moment }
      || steps.contains { $0.isSynced && $0.began > moment && $0.acknowledged != nil }
  }

  /// Returns the begun steps that may have been lost, or the last three, in order; at most `most`, the newest.
  func cutOff(at moment: Int, powerLost: Bool, most: Int) -> [Step] {
    let begun = steps.prefix { $0.began <= moment }.count
    let durable = durableCount(begun, at: moment, powerLost: powerLost)
    let asked = (0..<begun).filter { !steps[$0].isEviction }
    return asked.suffix(min(most, max(3, asked.count { $0 >= durable }))).map { steps[$0] }
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
