/// The one account of every byte that the folder takes on the disk, and of who may take more.
///
/// Guarded by the commit lock. Every file is entered with what the file system says it takes; whoever wants more asks
/// ``admits(_:)`` first, and enters what it took before the upkeep lock is let go.
struct Ledger {
  var budget: Int
  /// `STORE`, `LOCK`, `COUNTERS`, `CACHEDIR.TAG`.
  var fixed = 0
  /// The folders themselves, which grow with the names in them.
  var folders = 0
  var wal = 0
  var checkpoints = 0
  /// Open, sealed and spare segments, and files of bodies that are still growing.
  var segments = 0
  /// What readers and Blobs keep of files without a name.
  let account: StorageAccount
  /// Files of segments that a crash left behind, until they are removed.
  var orphans = 0
  var unlinked: Int { account.unlinkedByteCount }

  /// What file systems may add to a file after it was made, for their own map of it: a block each for the few that are
  /// being written.
  static let headroom = 8 * 4096

  /// What no entry can have.
  var own: Int { fixed + folders + wal + checkpoints + Ledger.headroom }

  /// The log keeps the size it was made with, so a store cannot become as small as one made small.
  var leastBudget: Int {
    max(CacheFormat.smallestBudget, own + Sizing.mostOpenSegments * CacheFormat.smallestSegment)
  }

  var total: Int { fixed + folders + wal + checkpoints + segments + unlinked + orphans }

  func admits(_ byteCount: Int) -> Bool { missing(byteCount) <= 0 }

  /// Bytes that would have to go for `byteCount` more to fit.
  func missing(_ byteCount: Int) -> Int { total + roundUp(byteCount, to: 4096) + Ledger.headroom - budget }
}

/// Sizes that follow the budget.
enum Sizing {
  /// Four that take records, one for the next, one for copies.
  static let mostOpenSegments = 6

  /// About a hundredth of the budget.
  static func segmentByteCount(budget: Int) -> Int {
    min(max(roundUp(budget / 100, to: 4096), CacheFormat.smallestSegment), CacheFormat.largestSegment)
  }

  /// Four of them are a sixty-fourth of a small budget, of which live entries are to have most, and up to a thirty-second of
  /// a large one: the longer the log, the seldomer a checkpoint.
  static func walFileByteCount(budget: Int) -> Int {
    let byteCount = max(budget / 256, budget / 128 - (1 << 20))
    return min(max(roundUp(byteCount, to: 4096), CacheFormat.smallestWALFile), 16 << 20)
  }

  /// So much of a full store may be dead before something is copied to get at it. Live entries cannot have it, so it is a
  /// twentieth of the budget, and less where the store itself (`own`, and four segments being filled) takes so much that
  /// they would get less than 87 %.
  static func deadAllowance(budget: Int, own: Int, segmentByteCount: Int) -> Int {
    max(min(budget / 20, budget / 100 * 13 - own - 4 * segmentByteCount), segmentByteCount)
  }

  static let defaultBudgetLimit = 2 << 30

  static func defaultBudget(available: Int) -> Int {
    max(CacheFormat.smallestBudget, min(available / 10, defaultBudgetLimit))
  }
}
