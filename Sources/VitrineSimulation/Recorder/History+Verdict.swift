import Vitrine

// The states that a crash may leave of a history.
extension History {
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

  /// Returns the sets of all but two or three failed steps, if more than ten failed. After a failed sync, the first
  /// failed step of each opening may have happened.
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

  /// Returns whether the key ever had this content. Returns true for nil, because every key once had no entry.
  func hasEverPut(_ key: CacheKey, _ content: Content?) -> Bool {
    content == nil
      || steps.contains { step in
        step.changes.contains {
          guard case .put(key, let put) = $0 else { return false }
          return put == content || put.bytes == content?.bytes && keysFromBefore.contains(key)
        }
      }
  }

  /// Returns whether a change or a flush that began after a moment was acknowledged as durable.
  func hasPromisedDurability(after moment: Int) -> Bool {
    flushes.contains { $0.isPromise && $0.began > moment }
      || steps.contains { $0.isSynced && $0.began > moment && $0.acknowledged != nil }
  }

  /// Returns the begun steps that may have been lost, and at least the last three, in order and without evictions. Of
  /// more than `most`, returns the newest.
  func cutOff(at moment: Int, powerLost: Bool, most: Int) -> [Step] {
    let begun = steps.prefix { $0.began <= moment }.count
    let durable = durableCount(begun, at: moment, powerLost: powerLost)
    let asked = (0..<begun).filter { !steps[$0].isEviction }
    return asked.suffix(min(most, max(3, asked.count { $0 >= durable }))).map { steps[$0] }
  }
}
