/// Planned external changes of a disk while a store uses it. Each comes before the call with its number. One count
/// covers calls of all kinds, so the plan is deterministic.
struct InterventionPlan: Sendable {
  typealias Intervention = @Sendable (inout DiskCore) -> Void

  private var planned: [(call: Int, intervention: Intervention)] = []

  mutating func add(before call: Int, _ intervention: @escaping Intervention) {
    planned.append((call, intervention))
    planned.sort { $0.call < $1.call }
  }

  mutating func removeAll() { planned = [] }

  /// Returns the next one that is due before the call of that number; each is returned once.
  mutating func due(at call: Int) -> Intervention? {
    guard let first = planned.first, first.call <= call else { return nil }
    planned.removeFirst()
    return first.intervention
  }
}
