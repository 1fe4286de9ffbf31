import Vitrine

/// A store on a simulated disk, with the history of all operations that were made through this object: the two
/// determine the states that a crash may leave.
///
/// Changes use the methods here, so that they are in the history; ``store`` is for operations that change nothing. The
/// methods throw the store's own errors; the history then has a step that may have happened or not. While the explorer
/// injects faults, a change that the store refuses throws nothing, so that the workload goes on. Writes of bodies in
/// pieces, openings and closings throw then too. Use from one thread.
public final class RecordedStore {
  package let world: SimulatedWorld
  package let history: History
  package var options: StoreOptions
  /// The store itself, for inspection. ``reopen()`` replaces it.
  public internal(set) var store: CacheStore

  package static let path = "/store"

  package internal(set) var isClosed = false
  /// The held blobs, with the bytes that they must show.
  var heldBlobs: [(name: String, blob: Blob, bytes: [UInt8])] = []
  /// The order of the changes of several threads is not known: no verdict is possible.
  var isUncertain = false
  /// The evicted keys that were entered into the history.
  private(set) var notedEvictions: [CacheKey] = []
  private var byteBudget: Int
  private var byteBudgetSince = 0
  private var overAnEarlierBudget: String?
  /// The harm that the store reported in earlier lives.
  var toldBefore = Harm.none
  /// The number of lost entries that it reported in earlier lives.
  var lossesBefore = 0
  /// The number of disk operations before it was last opened.
  var openedAt = 0
  /// No crash before this many operations of the disk is explored.
  package private(set) var firstMoment = 0
  /// Whether operations before that are forgotten, to save time.
  private let forgets: Bool
  /// Whether a failed change is only entered as such, and the following ones are made too.
  let isTolerant: Bool

  /// Crashes are explored from here on, or from the creation of the store if `isRecordedFromTheStart`. `files`
  /// belong to an existing store: the history begins with its state as a reader finds it, as durable.
  package init(
    seed: UInt64 = 1, options: StoreOptions = StoreOptions(byteBudget: 1 << 20), isRecordedFromTheStart: Bool = false,
    forgets: Bool = true, isTolerant: Bool = false, promisesAllocation: Bool = true, files: [String: [UInt8]] = [:],
    prepare: (SimulatedWorld) -> Void = { _ in }
  ) throws {
    self.forgets = forgets
    self.isTolerant = isTolerant
    var disk = SimulatedDisk.Options()
    disk.reusesMemory = !forgets
    disk.promisesAllocation = promisesAllocation
    world = SimulatedWorld(seed: seed, disk: SimulatedDisk(files: files, disk))
    history = History(world)
    self.options = options
    byteBudget = .max
    if !files.isEmpty {
      try RecordedStore.noteExistingEntries(world, history)
      firstMoment = world.disk.operationCount
    }
    prepare(world)
    store = try CacheStore.open(at: RecordedStore.path, options: options, environment: world.environment)
    byteBudget = store.statistics().byteBudget
    openedAt = world.disk.operationCount
    if !isRecordedFromTheStart { markBeginning() }
  }

  /// Opens the store that a crash has left. The new history begins with its contents under `keys`, as durable.
  package init(recovering world: SimulatedWorld, keys: Set<CacheKey>) throws {
    self.world = world
    history = History(world)
    options = StoreOptions()
    byteBudget = .max
    forgets = true
    isTolerant = true
    store = try CacheStore.open(at: RecordedStore.path, options: options, environment: world.environment)
    history.begin(with: Inspection.contents(store, keys), of: keys)
    // The entries may have been put under a larger budget.
    history.hasOtherBudgets = true
    markBeginning()
  }

  private static func noteExistingEntries(_ world: SimulatedWorld, _ history: History) throws {
    // A fault may take the index, or the log, or so much of each that both are useless: the rest may have an older
    // state.
    for parts in [["checkpoints", "wal"], ["checkpoints"], ["wal"]] {
      let older = world.disk.copy()
      for part in parts { wipe(part, of: older) }
      try note(older, world, history)
    }
    try note(world.disk, world, history)
    history.keysFromBefore = history.keys
  }

  private static func note(_ disk: SimulatedDisk, _ world: SimulatedWorld, _ history: History) throws {
    let reader = try CacheStore.open(
      at: path, options: StoreOptions(isReadOnly: true), environment: world.rebooted(disk.copy()).environment)
    let keys = history.keys.union(try reader.keysInOrder())
    history.begin(with: Inspection.contents(reader, keys), of: keys)
  }

  func markBeginning() {
    firstMoment = world.disk.operationCount
    if forgets { world.disk.foldHistory() }
  }

  /// The numbers of operations after which crashes are explored.
  var moments: ClosedRange<Int> { firstMoment...world.disk.operationCount }

  /// Returns the disks that a loss of power could have left, at all moments or at the given ones.
  package func crashes(
    mixtures: Int, seed: UInt64, maximumAlone: Int, maximumAloneNowAndThen: Int = 0, after moments: [Int]? = nil
  ) -> CrashExploration {
    let expectations = history.expectations
    return world.disk.crashes(
      mixtures: mixtures, seed: seed, maximumAlone: maximumAlone,
      maximumAloneNowAndThen: maximumAloneNowAndThen, after: moments ?? Array(self.moments),
      comparesShapes: !forgets, expectation: { moment in expectations.count { $0 <= moment } })
  }

  /// Returns incompressible bytes that follow from a number and differ for each.
  public static func bytes(_ count: Int, _ number: Int) -> [UInt8] {
    // For an empty array the initializer writes to storage that all threads share.
    if count == 0 { return [] }
    var state = UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15 | 1
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      for index in 0..<count {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        buffer[index] = UInt8(truncatingIfNeeded: state >> 32)
      }
      initialized = count
    }
  }

  /// Notes that the store has another budget from now on.
  func noteBudget(_ byteCount: Int) {
    overAnEarlierBudget = overBudget
    history.hasOtherBudgets = true
    (byteBudget, byteBudgetSince) = (byteCount, world.disk.operationCount)
    world.disk.resetMostUsedByteCount()
  }

  /// The harm that the store has ever reported: it counts entries that it drops, and notes if removed entries may
  /// have returned.
  var toldHarm: Harm {
    let statistics = store.statistics()
    let opening = statistics.lastOpen
    // Segments hold the newest change of each key, except removals: no removal has been lost without the other
    // note.
    if opening.mayHaveLostRemovals, opening.kind != .rebuilt { return max(toldBefore, .entriesMayBeOlder) }
    return toldLosses > 0 ? max(toldBefore, .entriesMayMiss) : toldBefore
  }

  /// The number of entries that may be missing by the store's reports: as many as it has counted, and any number if
  /// it notes that something could not be read.
  var toldLosses: Int {
    let statistics = store.statistics()
    let opening = statistics.lastOpen
    let noted = opening.notes.contains(where: RecordedStore.tellsOfLoss) ? RecordedStore.anyNumber : 0
    return lossesBefore + statistics.damagedCount + statistics.lostCount + opening.droppedCount + noted
  }

  /// More than a workload has, and far from an overflow.
  static let anyNumber = 1 << 40

  /// A rebuilt index alone is no loss.
  static func tellsOfLoss(_ note: String) -> Bool { !note.hasPrefix("rebuilt from the segments") }

  /// Ends a life of the store.
  func noteReportedHarm() {
    toldBefore = toldHarm
    lossesBefore = toldLosses
  }

  /// Returns whether the folder has been larger than its budget, in words.
  package var overBudget: String? {
    let most = world.disk.mostUsedByteCount
    if overAnEarlierBudget != nil || most <= byteBudget { return overAnEarlierBudget }
    return "\(most) bytes were used at most after operation \(byteBudgetSince), in a budget of \(byteBudget)"
  }

  /// Runs `body`, which makes these changes. `again` repeats them in a store that a crash has left. Without it
  /// `body` does, which then must not depend on the earlier state.
  package func change(
    _ changes: [History.Change], synced: Bool, again: History.Repetition? = nil,
    _ body: @escaping (CacheStore) throws -> Void
  ) throws {
    let repetition: History.Repetition = { store in
      try body(store)
      return changes
    }
    try attempt {
      try evicting { try history.run(changes, synced: synced, again: again ?? repetition) { try body(store) } }
    }
  }

  /// Runs a change. An error of the store ends the workload, unless this is tolerant.
  func attempt(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      guard isTolerant, error is StoreError else { throw error }
    }
  }

  /// Runs an operation that may evict, and enters the evictions into the history.
  func evicting<R>(_ body: () throws -> R) rethrows -> R {
    let watch = EvictionWatch(self)
    defer { watch.note(in: self) }
    return try body()
  }

  /// The state before an operation that may evict. A nested one enters its own evictions.
  struct EvictionWatch {
    private let notedCount: Int
    private let step: Int
    private let began: Int
    private let evictedCount: Int
    /// In the order of eviction.
    private let order: [CacheKey]

    init(_ recorded: RecordedStore) {
      notedCount = recorded.notedEvictions.count
      step = recorded.history.steps.count
      began = recorded.world.disk.operationCount
      evictedCount = recorded.store.statistics().evictedCount
      // Expired entries are removed before them, and not by eviction.
      order = ((try? recorded.store.keysByRecency()) ?? []).reversed().filter { recorded.store.contains($0) }
    }

    /// Steps that were begun meanwhile get other numbers.
    func note(in recorded: RecordedStore) {
      let noted = recorded.notedEvictions[notedCount...]
      let count = recorded.store.statistics().evictedCount - evictedCount - noted.count
      guard count > 0 else { return }
      // Missing entries that no removal has touched were evicted. Beyond that, an entry whose removal is in the log may
      // have been evicted for its own successor, or before its removal. (For entries used at the same time the order of
      // eviction is unknown.)
      let logged = removalsInLog(recorded)
      let hashes = Set(logged)
      func hash(_ key: CacheKey) -> KeyHash { recorded.store.probe.hash(of: key).stored }
      let touched = recorded.history.keys(since: step)
      let removed = recorded.history.removedKeys(since: step)
      let candidates = order.filter { !noted.contains($0) }
      let missing = candidates.filter { !removed.contains($0) && !recorded.store.contains($0) }
      let others = candidates.filter { touched.contains($0) && !missing.contains($0) && hashes.contains(hash($0)) }
      let replaced = (others.filter { !removed.contains($0) } + others.filter(removed.contains))
        .prefix(max(0, count - missing.count))
      let isGone = Set(missing.prefix(count) + replaced)
      let gone = inOrder(logged, order.filter(isGone.contains), hash)
      recorded.notedEvictions += gone
      recorded.history.evicted(gone, before: step, began: began)
    }

    /// The removals in the log since the operation began, by the hashes that the index keeps.
    private func removalsInLog(_ recorded: RecordedStore) -> [KeyHash] {
      DiskOperation.logged(by: recorded.world.disk.lastOperations(since: began)).compactMap {
        if case .remove(let hash, _) = $0 { hash.stored } else { nil }
      }
    }

    /// Returns the keys in the order of their removals: a policy may evict in another order than that of the last uses.
    /// Keys with one hash stay in their order, and keys without a removal come last.
    private func inOrder(_ removals: [KeyHash], _ keys: [CacheKey], _ hash: (CacheKey) -> KeyHash) -> [CacheKey] {
      var places: [KeyHash: [Int]] = [:]
      for (place, removal) in removals.enumerated().reversed() { places[removal, default: []].append(place) }
      return keys.enumerated().map { (places[hash($0.element)]?.popLast() ?? .max, $0.offset, $0.element) }
        .sorted { ($0.0, $0.1) < ($1.0, $1.1) }
        .map { $0.2 }
    }
  }
}
