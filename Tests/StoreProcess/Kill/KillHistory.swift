/// The messages of writers, in the order in which things happened, and the states that a store may have after their
/// deaths.
///
/// A pipe keeps the order of the messages of several threads, so a change that ended before another one began
/// precedes it here too. Of overlapping changes, any may have come last.
struct KillHistory {
  struct Change {
    let kind: KillOperation.Kind
    let thread: Int
    let effects: [KillEffect]
    /// Positions among all messages.
    let began: Int
    /// The position of its acknowledgement, or of its process's death; nil while it is in progress.
    var ended: Int?
    var isAcknowledged = false
  }

  private var changes: [Change?] = []
  /// The changes of each key that count.
  private var byKey: [[Int]] = Array(repeating: [], count: KillKeys.count)
  /// The state at the last inspection of the store.
  private var before: [KillValue?] = Array(repeating: nil, count: KillKeys.count)
  private var underWay: [Int: Int] = [:]
  private var place = 0

  mutating func begin(_ kind: KillOperation.Kind, thread: Int, _ effects: [KillEffect]) {
    place += 1
    underWay[thread] = changes.count
    for effect in effects { byKey[effect.key].append(changes.count) }
    changes.append(Change(kind: kind, thread: thread, effects: effects, began: place))
  }

  mutating func acknowledge(thread: Int) {
    place += 1
    guard let index = underWay.removeValue(forKey: thread) else { return }
    changes[index]?.ended = place
    changes[index]?.isAcknowledged = true
  }

  /// The change had no effect.
  mutating func forget(thread: Int) {
    guard let index = underWay.removeValue(forKey: thread), let change = changes[index] else { return }
    for effect in change.effects { byKey[effect.key].removeAll { $0 == index } }
    changes[index] = nil
  }

  /// Changes in progress have happened by now or never will. Returns their number.
  mutating func died() -> Int {
    place += 1
    for index in underWay.values { changes[index]?.ended = place }
    defer { underWay = [:] }
    return underWay.count
  }

  /// All messages are reflected in the found state.
  mutating func settle(_ found: [KillValue?]) {
    self = KillHistory()
    before = found
  }

  // MARK: Verdicts

  /// The errors of the found state; `mayMiss`: any entry may have been evicted.
  func judge(_ found: [KillValue?], mayMiss: Bool) -> [String] {
    var wrong: [String] = []
    for key in 0..<KillKeys.count where !(mayMiss && found[key] == nil) {
      let allowed = last(key)
      if !allowed.contains(found[key]) { wrong.append(complaint(key, found[key], allowed)) }
    }
    for case let change? in changes where !change.isAcknowledged && change.effects.count > 1 {
      if let half = half(change, found, mayMiss: mayMiss) { wrong.append(half) }
    }
    return wrong
  }

  /// The possible values of the key: none that an acknowledged change has certainly overwritten.
  private func last(_ key: Int) -> Set<KillValue?> {
    let latest = byKey[key].compactMap { changes[$0] }.filter(\.isAcknowledged).map(\.began).max() ?? 0
    var allowed: Set<KillValue?> = latest == 0 ? [before[key]] : []
    for case let change? in byKey[key].map({ changes[$0] }) where change.ended ?? .max >= latest {
      for effect in change.effects where effect.key == key { allowed.insert(effect.value) }
    }
    return allowed
  }

  /// An interrupted change has happened for all its keys or for none, unless another change came in between.
  private func half(_ change: Change, _ found: [KillValue?], mayMiss: Bool) -> String? {
    var keys: (done: [Int], undone: [Int]) = ([], [])
    for effect in change.effects {
      let others = byKey[effect.key].compactMap { changes[$0] }.filter { $0.began != change.began }
      guard others.allSatisfy({ ($0.ended ?? .max) < change.began }) else { continue }
      if found[effect.key] != effect.value {
        if mayMiss, found[effect.key] == nil { continue }
        keys.undone.append(effect.key)
      } else if !isSame(effect, others), !(mayMiss && effect.value == nil) {
        keys.done.append(effect.key)
      }
    }
    guard let done = keys.done.first, let undone = keys.undone.first else { return nil }
    return
      "half of a \(change.kind) of thread \(change.thread): \(KillKeys.all[done].urlText) \(KillKeys.all[done].style)"
      + " has its effect, \(KillKeys.all[undone].urlText) \(KillKeys.all[undone].style) does not"
  }

  /// Whether the key may have had this value before.
  private func isSame(_ effect: KillEffect, _ others: [Change]) -> Bool {
    let earlier = others.flatMap(\.effects).filter { $0.key == effect.key }.map(\.value)
    return earlier.contains(effect.value) || before[effect.key] == effect.value
  }

  private func complaint(_ key: Int, _ found: KillValue?, _ allowed: Set<KillValue?>) -> String {
    let name = "\(KillKeys.all[key].urlText) \(KillKeys.all[key].style)"
    let story = byKey[key].compactMap { changes[$0] }.suffix(6).map { change in
      let value = change.effects.first { $0.key == key }?.value?.description ?? "nothing"
      let end = change.isAcknowledged ? "acknowledged at \(change.ended ?? 0)" : "cut off"
      return "\(change.kind) of \(value) by thread \(change.thread), begun at \(change.began), \(end)"
    }
    let wanted = allowed.map { $0?.description ?? "nothing" }.joined(separator: " or ")
    return
      "\(name) has \(found?.description ?? "nothing"), not \(wanted); at first \(before[key]?.description ?? "nothing")"
      + story.map { "\n    \($0)" }.joined()
  }
}
