/// The unsynced changes that survive a loss of power. The policy and the indices of the operations determine the
/// result, so a policy printed by a failing test repeats the disk.
package enum CrashPolicy: Sendable, Hashable {
  case everythingKept
  case everythingLost
  /// One operation, by index, is undone, and all others are kept.
  case onlyLost(Int)
  case onlyKept(Int)
  /// One operation arrives in part, and all others whole.
  case onlyTorn(Int, seed: UInt64)
  /// All changes of one file's content, or of one folder's entries, are lost or kept, by the number of the file or
  /// folder.
  case inodeLost(Int)
  case inodeKept(Int)
  /// Every change of a folder's entries arrives and no content does, or every content and no such change.
  case onlyNamesKept
  case onlyContentKept
  /// Files have their new lengths and none of the new bytes, or the bytes and the old lengths and blocks.
  case onlyLengthsKept
  case onlyLengthsLost
  /// Files have their new lengths and bytes, and only the blocks that were written.
  case onlyBlocksLost
  /// Each change is kept, lost or torn by itself. If it alters bytes, length and allocation, this holds for each part.
  /// Some seeds favor keeping, some favor losing, and some keep or lose whole files.
  case mixture(seed: UInt64)
  /// Each sector has its content of some moment since the last sync. Each file and each folder has its length or its
  /// entries of one such moment. This policy comes closest to a page cache over an ordered journal.
  case moments(seed: UInt64)

  func fate(_ change: Circumstances) -> Fate {
    switch self {
    case .everythingKept: .kept
    case .everythingLost: .lost
    case .onlyLost(let index): change.index == index ? .lost : .kept
    case .onlyKept(let index): change.index == index ? .kept : .lost
    case .onlyTorn(let index, let seed): change.index == index ? .torn(seed) : .kept
    case .inodeLost(let inode): change.inode == inode ? .lost : .kept
    case .inodeKept(let inode): change.inode == inode ? .kept : .lost
    case .onlyNamesKept: change.isName ? .kept : .lost
    case .onlyContentKept: change.isName ? .lost : .kept
    case .onlyLengthsKept: Fate(bytes: .lost, length: .kept, keepsAllocation: true, keepsName: true)
    case .onlyLengthsLost: Fate(bytes: .kept, length: .lost, keepsAllocation: false, keepsName: true)
    case .onlyBlocksLost: Fate(bytes: .kept, length: .kept, keepsAllocation: false, keepsName: true)
    case .mixture(let seed): CrashPolicy.mixed(change, seed)
    case .moments(let seed): CrashPolicy.ofAMoment(change, seed)
    }
  }

  private static func mixed(_ change: Circumstances, _ seed: UInt64) -> Fate {
    // Chances in 16 that a change is kept, for the run or for the file.
    let favours: [UInt64] = [1, 4, 8, 12, 15]
    let temper =
      VitrineSimulation.mixed(seed, 1) & 1 == 0
      ? VitrineSimulation.mixed(seed, 2)
      : VitrineSimulation.mixed(seed, 3 &+ UInt64(truncatingIfNeeded: change.inode))
    let favour = favours[Int(temper % UInt64(favours.count))]
    let draw = VitrineSimulation.mixed(seed, UInt64(truncatingIfNeeded: change.index) &+ 0x1_0000_0000)
    func chance(_ shift: UInt64) -> Bool { (draw >> shift) & 15 < favour }
    let isTorn = (draw >> 40) & 3 == 0
    return Fate(
      bytes: isTorn ? .torn(draw) : chance(0) ? .kept : .lost,
      length: (draw >> 44) & 7 == 0 ? .between(draw) : chance(4) ? .kept : .lost,
      keepsAllocation: chance(8), keepsName: chance(12))
  }

  private static func ofAMoment(_ change: Circumstances, _ seed: UInt64) -> Fate {
    let own = VitrineSimulation.mixed(seed, UInt64(truncatingIfNeeded: change.inode))
    let moments = UInt64(change.count + 1)
    let isOver = UInt64(change.position) < VitrineSimulation.mixed(own, 0) % moments
    return Fate(
      bytes: .ofMoments(own, position: UInt64(change.position), moments: moments),
      length: isOver ? .kept : .lost,
      keepsAllocation: isOver, keepsName: isOver)
  }
}

/// The facts by which a policy decides about one change.
struct Circumstances {
  /// The index of the operation.
  let index: Int
  /// The number of the file, or of the folder that has the entry.
  let inode: Int
  let isName: Bool
  /// Its position among the unsynced changes of the same file or folder, oldest first, and their number.
  let position: Int
  let count: Int
}
