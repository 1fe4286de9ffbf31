extension CrashPolicy {
  /// One word that names the policy, for the command that repeats a crash: `lost`, `only-kept.12`, `torn.12.99`.
  package var word: String {
    switch self {
    case .everythingKept: "kept"
    case .everythingLost: "lost"
    case .onlyLost(let index): "only-lost.\(index)"
    case .onlyKept(let index): "only-kept.\(index)"
    case .onlyTorn(let index, let seed): "torn.\(index).\(seed)"
    case .inodeLost(let inode): "inode-lost.\(inode)"
    case .inodeKept(let inode): "inode-kept.\(inode)"
    case .onlyNamesKept: "names"
    case .onlyContentKept: "contents"
    case .onlyLengthsKept: "lengths"
    case .onlyLengthsLost: "no-lengths"
    case .onlyBlocksLost: "no-blocks"
    case .mixture(let seed): "mixture.\(seed)"
    case .moments(let seed): "moments.\(seed)"
    }
  }

  /// The policy that a ``word`` names; nil for any other word.
  package init?(word: String) {
    let parts = word.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let numbers = parts.dropFirst().compactMap { UInt64($0) }
    guard numbers.count == parts.count - 1, let name = parts.first else { return nil }
    switch (name, numbers.count) {
    case ("kept", 0): self = .everythingKept
    case ("lost", 0): self = .everythingLost
    case ("only-lost", 1): self = .onlyLost(Int(clamping: numbers[0]))
    case ("only-kept", 1): self = .onlyKept(Int(clamping: numbers[0]))
    case ("torn", 2): self = .onlyTorn(Int(clamping: numbers[0]), seed: numbers[1])
    case ("inode-lost", 1): self = .inodeLost(Int(clamping: numbers[0]))
    case ("inode-kept", 1): self = .inodeKept(Int(clamping: numbers[0]))
    case ("names", 0): self = .onlyNamesKept
    case ("contents", 0): self = .onlyContentKept
    case ("lengths", 0): self = .onlyLengthsKept
    case ("no-lengths", 0): self = .onlyLengthsLost
    case ("no-blocks", 0): self = .onlyBlocksLost
    case ("mixture", 1): self = .mixture(seed: numbers[0])
    case ("moments", 1): self = .moments(seed: numbers[0])
    default: return nil
    }
  }
}
