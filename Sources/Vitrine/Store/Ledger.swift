/// The one account of every byte that the folder takes on the disk, and of who may take more.
///
/// Guarded by the commit lock. Every file is entered with what the file system says it takes; whoever wants more asks
/// ``admits(_:)`` first and enters what it took.
struct Ledger {
  var budget: Int
  /// The folders themselves, `STORE`, `LOCK`, `COUNTERS`, `CACHEDIR.TAG`.
  var fixed = 0
  var wal = 0
  var checkpoints = 0
  /// Open, sealed and spare segments.
  var segments = 0
  /// What readers and Blobs keep of files without a name.
  let account: StorageAccount
  var unlinked: Int { account.unlinkedByteCount }

  var total: Int { fixed + wal + checkpoints + segments + unlinked }
  var free: Int { max(0, budget - total) }

  func admits(_ byteCount: Int) -> Bool { total + roundUp(byteCount, to: 4096) <= budget }
}

/// Sizes that follow the budget.
enum Sizing {
  /// About a hundredth of the budget.
  static func segmentByteCount(budget: Int) -> Int {
    min(max(roundUp(budget / 100, to: 4096), CacheFormat.smallestSegment), CacheFormat.largestSegment)
  }

  /// Four of them are about a thirtieth of the budget.
  static func walFileByteCount(budget: Int) -> Int {
    min(max(roundUp(budget / 128, to: 4096), CacheFormat.smallestWALFile), 16 << 20)
  }

  static let defaultBudgetLimit = 2 << 30

  static func defaultBudget(available: Int) -> Int {
    max(CacheFormat.smallestBudget, min(available / 10, defaultBudgetLimit))
  }
}
