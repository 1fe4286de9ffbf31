/// The account of every byte that the folder takes on the disk.
///
/// Every file counts by the size that the file system reports. Code that takes more bytes first calls ``admits(_:)``,
/// and enters the bytes taken before it releases the upkeep lock.
struct Ledger {
  enum Part: Int, CaseIterable {
    /// `STORE`, `LOCK`, `COUNTERS`, `CACHEDIR.TAG` and `USES`.
    case rootFiles
    /// The folders themselves, which grow with the names in them.
    case folders
    case log
    case checkpoints
    /// Open, sealed and spare segments, and files of unfinished bodies.
    case segments
    /// Segment files that a crash left behind, until they are removed.
    case orphans
  }

  private(set) var budget: Int
  /// Bytes that the log may take when it has grown. Other files do not take them.
  private var logReserve = 0
  private var byteCounts = [Int](repeating: 0, count: Part.allCases.count)
  /// The account of unlinked files that readers and Blobs hold.
  let account: StorageAccount
  var unlinked: Int { account.unlinkedByteCount }

  init(budget: Int, account: StorageAccount) {
    self.budget = budget
    self.account = account
  }

  subscript(part: Part) -> Int { byteCounts[part.rawValue] }

  /// Enters bytes that a part takes from now on; a negative count frees bytes.
  mutating func add(_ byteCount: Int, to part: Part) { byteCounts[part.rawValue] += byteCount }

  mutating func set(budget: Int, logReserve: Int? = nil) {
    self.budget = budget
    if let logReserve { self.logReserve = logReserve }
  }

  /// Bytes of the reserve that the log does not take yet.
  private var unusedReserve: Int { max(0, logReserve - self[.log]) }

  /// Bytes that file systems may add to files later for their own metadata: a block for each of the few files being
  /// written.
  static let headroom = 8 * 4096

  /// Bytes that entries cannot use.
  var own: Int { present + unusedReserve }

  /// Bytes of the root files, the folders, the log and the checkpoints as they are now, and ``headroom``.
  var present: Int { self[.rootFiles] + self[.folders] + self[.log] + self[.checkpoints] + Ledger.headroom }

  /// The smallest budget that this store accepts now. The log and checkpoint files count with their present size. So a
  /// store that has grown must shrink these files before it accepts a smaller budget.
  var leastBudget: Int {
    max(CacheFormat.smallestBudget, present + Sizing.mostOpenSegments * CacheFormat.smallestSegment)
  }

  var total: Int { byteCounts.reduce(unlinked, +) }

  func admits(_ byteCount: Int) -> Bool { missing(byteCount) <= 0 }

  /// Number of bytes to free so that `byteCount` more fit; 0 or less if they fit already.
  func missing(_ byteCount: Int) -> Int {
    total + unusedReserve + roundUp(byteCount, to: 4096) + Ledger.headroom - budget
  }

  /// Whether the log may take so many bytes more.
  func admitsLog(_ byteCount: Int) -> Bool {
    byteCount <= 0 || total + roundUp(byteCount, to: 4096) + Ledger.headroom <= budget
  }
}

/// Sizes that follow the budget.
enum Sizing {
  /// Four segments that take records, one spare for the next, one for copies.
  static let mostOpenSegments = 6
  /// ``mostOpenSegments`` for a policy that reclaims space by segments: six take records.
  static let mostOpenSegmentsIfCleaned = 8
  /// Keys that come back get segments of their own in stores of at least this many segments.
  static let leastSegmentsIfReturned = 21

  /// Bytes of a segment: about a two-hundredth of the budget, since open segments and spares hold few live bytes.
  static func segmentByteCount(budget: Int) -> Int {
    let byteCount = roundUp(budget / 200, to: 4096)
    return min(max(byteCount, CacheFormat.smallestSegment), CacheFormat.largestSegment)
  }

  /// Bytes of a segment in a store whose segments take `content` bytes: at most a fiftieth of the content, so that a
  /// small store has small unused ends and spares.
  static func segmentByteCount(content: Int, budget: Int) -> Int {
    let largest = segmentByteCount(budget: budget)
    var byteCount = CacheFormat.smallestSegment
    while byteCount < largest, byteCount <= content / 100 { byteCount *= 2 }
    return min(byteCount, largest)
  }

  /// The largest size of each of the four log files. Together they take a sixty-fourth of a small budget, most of which
  /// is for live entries. They take up to a thirty-second of a large budget, because a longer log needs fewer
  /// checkpoints.
  static func walFileByteCount(budget: Int) -> Int {
    let byteCount = max(budget / 256, budget / 128 - (1 << 20))
    return min(max(roundUp(byteCount, to: 4096), CacheFormat.smallestWALFile), 16 << 20)
  }

  /// Bytes of a full store that may be dead before records are copied to free them. Live entries cannot use these
  /// bytes. They are 7 % of the budget, or less if the store itself (`own`, and four segments being filled) would leave
  /// live entries less than 89 % of the budget.
  static func deadAllowance(budget: Int, own: Int, segmentByteCount: Int) -> Int {
    max(min(budget / 100 * 7, budget / 100 * 11 - own - 4 * segmentByteCount), segmentByteCount)
  }

  static let defaultBudgetLimit = 2 << 30

  static func defaultBudget(available: Int) -> Int {
    max(CacheFormat.smallestBudget, min(available / 10, defaultBudgetLimit))
  }
}
