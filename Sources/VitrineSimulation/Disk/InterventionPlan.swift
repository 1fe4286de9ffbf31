/// Planned external changes of a disk while a store uses it. Deterministic: each comes before the call of a given
/// number, counted over all kinds.
struct InterventionPlan: Sendable {
  typealias Intervention = @Sendable (inout DiskCore) -> Void

  /// The number of calls so far.
  var calls = 0
  private var planned: [(call: Int, intervention: Intervention)] = []

  mutating func add(before call: Int, _ intervention: @escaping Intervention) {
    planned.append((call, intervention))
    planned.sort { $0.call < $1.call }
  }

  mutating func removeAll() { planned = [] }

  /// Returns the next one that is due; each is returned once.
  mutating func due() -> Intervention? {
    guard let first = planned.first, first.call <= calls else { return nil }
    planned.removeFirst()
    return first.intervention
  }
}

extension SimulatedDisk {
  /// Runs `intervention` before the call of that number, counted from 1 over all kinds, on the thread that makes
  /// it. It counts as a fault that struck, unless it is harmless.
  func plan(
    before call: Int, isHarmless: Bool = false, _ intervention: @escaping InterventionPlan.Intervention
  ) {
    core.withLock { core in
      core.interventions.add(before: call) { core in
        if !isHarmless { core.faults.noteStrike() }
        intervention(&core)
      }
    }
  }

  /// The number of operations after which a folder was moved away or removed; nil if none was.
  var folderLost: Int? { core.withLock { $0.folderLost } }

  /// Calls of all kinds so far.
  var callCount: Int { core.withLock { $0.interventions.calls } }
}

extension DiskCore {
  /// Takes all free room, like another program.
  mutating func fillUp(refusingNewNames: Bool) {
    options.capacityByteCount = usedPageCount * Page.byteCount
    refusesNewNames = refusingNewNames
  }

  /// Ends ``fillUp(refusingNewNames:)``: the disk has its default capacity again.
  mutating func giveRoom() {
    options.capacityByteCount = SimulatedDisk.Options().capacityByteCount
    refusesNewNames = false
  }

  /// Removes a folder and all its content.
  mutating func removeFolder(_ name: String) {
    folderLost = operationCount
    unlink(name, in: DiskState.root, "/\(name)")
  }

  /// Moves a folder away and makes an empty one in its place.
  mutating func replaceFolder(_ name: String, movingTo newName: String) {
    guard let inode = directories[DiskState.root]?[name] else { return }
    folderLost = operationCount
    move(inode, from: (DiskState.root, name, "/\(name)"), to: (DiskState.root, newName, "/\(newName)"))
    _ = link(name, in: DiskState.root, "/\(name)", isDirectory: true)
  }
}
