import Vitrine

/// A sequence of operations on a store, to be interrupted anywhere.
///
/// The body runs once for each round, on a new store, with random numbers from the round's seed: sizes and order
/// may depend on them, so that no two rounds are alike. It should be short: a store of a mebibyte or two and some
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
  /// The steps of a round. `numbers` is drawn from the seed of the round.
  public typealias Body = @Sendable (_ store: RecordedStore, _ numbers: inout any RandomNumberGenerator) throws -> Void

  /// The name of the workload, one word.
  public let name: String
  /// A summary, one line.
  public let summary: String
  /// The store's options. Small budgets cause many rotations of the log, evictions and compactions.
  public let options: StoreOptions
  /// Whether the creation of the store is interrupted too.
  public let includesMaking: Bool
  let traits: Traits
  /// The files of an existing store, whose opening is interrupted if ``includesMaking``; empty for a new store.
  let files: [String: [UInt8]]
  let body: Body

  /// Exceptions from the promises that hold in other workloads.
  struct Traits: OptionSet, Sendable {
    let rawValue: Int

    /// An opening may report problems, as after damage.
    static let mayComplain = Traits(rawValue: 1)
    /// An opening recreates files, for which a full disk has no room.
    static let needsRoomToOpen = Traits(rawValue: 2)
    /// The disk fails by the workload's own plan. Then errors of the store do not end it, an opening may report
    /// problems and may evict, and no other faults are injected.
    static let hasFaults = Traits(rawValue: 4)
  }

  /// Makes a workload. Each round runs `body` on a new store with `options`.
  public init(
    _ name: String, summary: String = "", options: StoreOptions = StoreOptions(byteBudget: 1 << 20),
    includesMaking: Bool = false, body: @escaping Body
  ) {
    self.init(name, summary: summary, options: options, includesMaking: includesMaking, traits: [], body: body)
  }

  init(
    _ name: String, summary: String, options: StoreOptions = StoreOptions(byteBudget: 1 << 20),
    includesMaking: Bool = false, traits: Traits, files: [String: [UInt8]] = [:], body: @escaping Body
  ) {
    self.name = name
    self.summary = summary
    self.options = options
    self.includesMaking = includesMaking
    self.traits = traits
    self.files = files
    self.body = body
  }

  /// Whether the disk fails in it, by its own plan.
  var hasFaults: Bool { traits.contains(.hasFaults) }

  /// Returns the seed of a round; it differs for each workload.
  func seed(_ seed: UInt64, round: Int) -> UInt64 {
    name.utf8.reduce(mixed(seed, UInt64(round))) { mixed($0, UInt64($1)) }
  }

  /// Makes the store for the workload. Its history begins with the empty disk, or with the store in ``files``.
  func make(
    seed: UInt64, isTolerant: Bool = false, promisesAllocation: Bool = true,
    prepare: (SimulatedWorld) -> Void = { _ in }
  ) throws -> RecordedStore {
    try RecordedStore(
      seed: seed, options: options, isRecordedFromTheStart: includesMaking, forgets: false,
      isTolerant: isTolerant || hasFaults, promisesAllocation: promisesAllocation, files: files, prepare: prepare)
  }

  /// Runs the body once, and rethrows its errors.
  func run(_ store: RecordedStore, seed: UInt64) throws {
    var numbers: any RandomNumberGenerator = SplitMix64(seed: seed)
    try body(store, &numbers)
  }
}
