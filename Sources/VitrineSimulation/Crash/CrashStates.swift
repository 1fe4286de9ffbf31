/// The disks that a crash after one operation could leave.
package struct CrashStates: Sendable {
  /// The crash comes after this many complete operations.
  package var operationCount: Int { state.operationCount }
  /// All changes that a loss of power may undo, oldest first.
  package let unsynced: [UnsyncedChange]
  private let state: DiskState
  private let options: SimulatedDisk.Options

  init(_ state: DiskState, options: SimulatedDisk.Options) {
    self.state = state
    self.options = options
    unsynced = state.unsynced
  }

  /// Returns a separate disk, as a loss of power under the policy leaves it. Its operations count from 0 again.
  package func disk(_ policy: CrashPolicy) -> SimulatedDisk {
    SimulatedDisk(state.surviving(policy), options: options)
  }

  /// Returns a separate disk, as the next process finds it after this one was killed. The numbers of operations
  /// continue, and unsynced changes stay unsynced, so a loss of power after that can be explored too.
  package func diskAfterProcessDeath(droppingCleanPages: Bool = false) -> SimulatedDisk {
    SimulatedDisk(state.afterProcessDeath(droppingCleanPages: droppingCleanPages), options: options)
  }

  func surviving(_ policy: CrashPolicy) -> DiskState { state.surviving(policy) }

  /// Returns the policies to try: all kept, all lost, each change lost, kept and torn alone, each file and folder
  /// alone, names without contents and the reverse, lengths without bytes and the reverse, lengths without blocks,
  /// and `mixtures` drawn from the seed. `maximumAlone` bounds the number of changes taken one by one. If there are
  /// more, half of that number are the newest changes, and the other half are drawn from the rest. At one crash point
  /// in eight, which the seed decides, `maximumAloneNowAndThen` is the bound if it is larger.
  package func policies(
    mixtures: Int, seed: UInt64, maximumAlone: Int = .max, maximumAloneNowAndThen: Int = 0,
    takesFilesAlone: Bool = true
  ) -> [CrashPolicy] {
    policies(
      PolicySelection(
        mixtures: mixtures, seed: seed, maximumAlone: maximumAlone, maximumAloneNowAndThen: maximumAloneNowAndThen,
        takesFilesAlone: takesFilesAlone))
  }

  func policies(_ selection: PolicySelection) -> [CrashPolicy] {
    if unsynced.isEmpty { return [.everythingKept] }
    var policies: [CrashPolicy] = [.everythingKept, .everythingLost]
    let here = mixed(selection.seed, UInt64(operationCount))
    var most = selection.maximumAlone
    if mixed(here, 0x3_0000_0000) % 8 == 0 { most = Swift.max(most, selection.maximumAloneNowAndThen) }
    for change in alone(most, seed: here) {
      policies.append(.onlyLost(change.index))
      policies.append(.onlyKept(change.index))
      if change.canTear { policies.append(.onlyTorn(change.index, seed: mixed(here, UInt64(change.index)))) }
    }
    let inodes = Set(unsynced.map(\.inode)).sorted()
    if inodes.count > 1 {
      for inode in inodes where selection.takesFilesAlone {
        policies.append(.inodeLost(inode))
        policies.append(.inodeKept(inode))
      }
      policies.append(.onlyNamesKept)
      policies.append(.onlyContentKept)
    }
    policies += [.onlyLengthsKept, .onlyLengthsLost, .onlyBlocksLost]
    for number in 0..<Swift.max(selection.mixtures, 0) {
      let drawn = mixed(here, UInt64(number) &+ 0x2_0000_0000)
      policies.append(number % 3 == 2 ? .moments(seed: drawn) : .mixture(seed: drawn))
    }
    return policies
  }

  private func alone(_ maximum: Int, seed: UInt64) -> [UnsyncedChange] {
    if unsynced.count <= maximum { return unsynced }
    if maximum <= 0 { return [] }
    let newest = unsynced.suffix((maximum + 1) / 2)
    var others = Array(unsynced.dropLast(newest.count))
    var random = SplitMix64(seed: seed)
    while others.count > maximum - newest.count { others.remove(at: random.next(below: others.count)) }
    return others + newest
  }
}
