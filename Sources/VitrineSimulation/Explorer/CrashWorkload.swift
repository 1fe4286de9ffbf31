import Vitrine

/// Something that is done to a store, to be cut off anywhere.
///
/// The body runs once for each round, on a store that was just made, with numbers drawn from the round's seed: sizes and
/// order may hang on them, so that no two rounds are alike. It should be short: a store of a mebibyte or two and some
/// dozens of changes leave tens of thousands of states.
///
/// ```swift
/// let workload = CrashWorkload("avatars") { store, numbers in
///   try store.put("user/1", RecordedStore.bytes(900, 1), synced: true)
///   try store.put("user/1", RecordedStore.bytes(.random(in: 1...5000, using: &numbers), 2))
///   try store.remove("user/1", synced: true)
/// }
/// let report = CrashExplorer(workloads: [workload], seed: 1).run()
/// precondition(report.violations.isEmpty, "\(report.violations)")
/// ```
public struct CrashWorkload: Sendable {
  public typealias Body = @Sendable (_ store: RecordedStore, _ numbers: inout any RandomNumberGenerator) throws -> Void

  /// A word, to name it by.
  public let name: String
  /// What it is about, in a line.
  public let summary: String
  /// Of the store. Small budgets make for many turns of the log, evictions and compactions.
  public let options: StoreOptions
  /// Whether the making of the store is cut off too.
  public let includesMaking: Bool
  /// Whether an opening may have something to tell, as after damage.
  var mayComplain = false
  /// Whether an opening makes files anew, for which a full disk has no room.
  var needsRoomToOpen = false
  /// Whether the disk fails in it, by its own plan: what the store refuses does not end it, an opening may have something to
  /// tell, and may evict, and no other faults come.
  var hasFaults = false
  /// Of a store that somebody has left, whose opening is cut off too; empty where it begins with a new one.
  package var files: [String: [UInt8]] = [:]
  let body: Body

  public init(
    _ name: String, summary: String = "", options: StoreOptions = StoreOptions(byteBudget: 1 << 20),
    includesMaking: Bool = false, body: @escaping Body
  ) {
    self.name = name
    self.summary = summary
    self.options = options
    self.includesMaking = includesMaking
    self.body = body
  }

  /// The seed of a round: each workload has its own.
  func seed(_ seed: UInt64, round: Int) -> UInt64 {
    name.utf8.reduce(mixed(seed, UInt64(round))) { mixed($0, UInt64($1)) }
  }

  /// The store to do it to, all from the empty disk on in its history.
  func make(
    seed: UInt64, isTolerant: Bool = false, promisesAllocation: Bool = true,
    prepare: (SimulatedWorld) -> Void = { _ in }
  ) throws -> RecordedStore {
    try RecordedStore(
      seed: seed, options: options, isRecordedFromTheStart: includesMaking, forgets: false,
      isTolerant: isTolerant || hasFaults, promisesAllocation: promisesAllocation, files: files, prepare: prepare)
  }

  /// Does it once. What the body throws is thrown.
  func run(_ store: RecordedStore, seed: UInt64) throws {
    var numbers: any RandomNumberGenerator = SplitMix64(seed: seed)
    try body(store, &numbers)
  }
}
