import Foundation
import Vitrine
import VitrineSimulation

/// What was asked of a store, in order, with how many operations of the disk were complete when each request began and
/// when it was acknowledged: enough to say what any crash may leave.
final class History {
  enum Change {
    case put(CacheKey, [UInt8])
    case remove(CacheKey)
    case removeAll
  }

  struct Step {
    /// They happen together.
    let changes: [Change]
    /// Acknowledged as synced.
    let isSynced: Bool
    let began: Int
    /// Nil when it failed or never ended.
    var acknowledged: Int?
  }

  private(set) var steps: [Step] = []
  /// Moments at which a `flush` (or what implies one) had made all before it durable, payloads included.
  private(set) var flushes: [(stepCount: Int, moment: Int)] = []
  let disk: SimulatedDisk

  init(_ disk: SimulatedDisk) { self.disk = disk }

  func run(_ changes: [Change], synced: Bool, _ body: () throws -> Void) rethrows {
    let step = begin(changes, synced: synced)
    try body()
    acknowledge(step)
  }

  /// From now on the changes may be seen. Answers the step to acknowledge.
  func begin(_ changes: [Change], synced: Bool) -> Int {
    steps.append(Step(changes: changes, isSynced: synced, began: disk.operationCount, acknowledged: nil))
    return steps.count - 1
  }

  func acknowledge(_ step: Int) { steps[step].acknowledged = disk.operationCount }

  /// Enters what was evicted in the course of `step` or of whatever came at its place, between `began` and now: each key
  /// by itself, in the order in which they went.
  func evicted(_ keys: [CacheKey], before step: Int, began: Int) {
    let evictions = keys.map {
      Step(changes: [.remove($0)], isSynced: false, began: began, acknowledged: disk.operationCount)
    }
    steps.insert(contentsOf: evictions, at: step)
  }

  /// When a key was last put, by step.
  func lastPut(_ key: CacheKey) -> Int {
    steps.lastIndex { step in
      step.changes.contains { if case .put(key, _) = $0 { true } else { false } }
    } ?? 0
  }

  func flushed() { flushes.append((steps.count, disk.operationCount)) }

  /// The moments at which something else is expected than before.
  var expectations: [Int] {
    steps.flatMap { [$0.began, $0.acknowledged ?? $0.began] } + flushes.map(\.moment)
  }

  // MARK: Judging

  private struct Value {
    let bytes: [UInt8]
    /// The step that put it.
    let step: Int
  }

  private func apply(_ step: Int, to state: inout [CacheKey: Value]) {
    for change in steps[step].changes {
      switch change {
      case .put(let key, let bytes): state[key] = Value(bytes: bytes, step: step)
      case .remove(let key): state[key] = nil
      case .removeAll: state = [:]
      }
    }
  }

  /// Every key that was ever touched.
  var keys: Set<CacheKey> {
    Set(
      steps.flatMap(\.changes).compactMap { change in
        switch change {
        case .put(let key, _), .remove(let key): key
        case .removeAll: nil
        }
      })
  }

  /// Contracts 2 to 4: what survives is the state after one of the steps from the last durable one to the last begun
  /// one; only a payload that was never synced may read as nothing. Answers what is wrong, or nil.
  func judge(_ found: [CacheKey: [UInt8]], crashedAfter moment: Int, powerLost: Bool) -> String? {
    let begun = steps.prefix { $0.began <= moment }.count
    let flushed = flushes.last { $0.moment <= moment }?.stepCount ?? 0
    var durable = flushed
    for index in 0..<begun {
      guard let acknowledged = steps[index].acknowledged, acknowledged <= moment else { continue }
      if !powerLost || steps[index].isSynced { durable = max(durable, index + 1) }
    }
    var state: [CacheKey: Value] = [:]
    for index in 0..<durable { apply(index, to: &state) }
    var complaints: [String] = []
    var next = durable
    while true {
      if let complaint = difference(found, state, flushed: flushed, powerLost: powerLost) {
        complaints.append("as after step \(next): \(complaint)")
      } else {
        return nil
      }
      if next >= begun { break }
      apply(next, to: &state)
      next += 1
    }
    return "durable steps \(durable), begun \(begun), flushed \(flushed); " + complaints.joined(separator: "; ")
  }

  private func difference(
    _ found: [CacheKey: [UInt8]], _ state: [CacheKey: Value], flushed: Int, powerLost: Bool
  ) -> String? {
    for (key, bytes) in found where !sameBytes(state[key]?.bytes, bytes) {
      return "\(key.urlText) has \(bytes.count) bytes that are not its own then"
    }
    for (key, value) in state where found[key] == nil {
      if powerLost, value.step >= flushed, !steps[value.step].isSynced { continue }
      return "\(key.urlText) is missing"
    }
    return nil
  }
}

/// Equal, found out by one comparison of memory: these tests compare megabytes for each crash.
func sameBytes(_ a: [UInt8]?, _ b: [UInt8]?) -> Bool {
  guard let a, let b else { return a == nil && b == nil }
  return a.count == b.count
    && a.withUnsafeBytes { a in
      b.withUnsafeBytes { b in a.count == 0 || memcmp(a.baseAddress!, b.baseAddress!, a.count) == 0 }
    }
}

func sameBytes(_ a: [CacheKey: [UInt8]], _ b: [CacheKey: [UInt8]]) -> Bool {
  a.count == b.count && a.allSatisfy { sameBytes($0.value, b[$0.key]) }
}
