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
  private var opening: StoreOpening
  let evictions: EvictionRecorder
  var heldBlobs = HeldBlobs()
  private var budget: BudgetWatch
  private var reports = HarmReports()
  /// No crash before this many operations of the disk is explored.
  package private(set) var firstMoment = 0
  /// Whether operations before ``firstMoment`` are forgotten, to save time.
  private let forgets: Bool
  /// Whether the workload goes on after a failed change, which the history records as failed.
  let isTolerant: Bool

  package static let path = "/store"

  /// Crashes are explored after this opening, and also during it if `isRecordedFromTheStart`. `files` belong to an
  /// existing store: the history begins with the state that a reader finds there, as durable content.
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
    evictions = EvictionRecorder(history)
    self.options = options
    if !files.isEmpty {
      try RecordedStore.noteExistingEntries(world, history)
      firstMoment = world.disk.operationCount
    }
    prepare(world)
    let store = try RecordedStore.open(world, options)
    // The statistics make a call to the disk, so an event may happen before the opening counts as begun.
    budget = BudgetWatch(world.disk, byteCount: store.statistics().byteBudget)
    opening = StoreOpening(store, world.disk)
    if !isRecordedFromTheStart { markBeginning() }
  }

  /// Opens the store that a crash has left. The new history begins with its contents under `keys`, as durable.
  package init(recovering world: SimulatedWorld, keys: Set<CacheKey>) throws {
    self.world = world
    history = History(world)
    evictions = EvictionRecorder(history)
    options = StoreOptions()
    budget = BudgetWatch(world.disk, byteCount: .max)
    forgets = true
    isTolerant = true
    opening = StoreOpening(try RecordedStore.open(world, options), world.disk)
    history.begin(with: Inspection.contents(opening.store, keys), of: keys)
    // The entries may have been put under a larger budget.
    history.noteOtherBudget()
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
    history.markKeysFromBefore()
  }

  private static func note(_ disk: SimulatedDisk, _ world: SimulatedWorld, _ history: History) throws {
    let reader = try CacheStore.open(
      at: path, options: StoreOptions(isReadOnly: true), environment: world.rebooted(disk.copy()).environment)
    let keys = history.keys.union(try reader.keysInOrder())
    history.begin(with: Inspection.contents(reader, keys), of: keys)
  }

  // MARK: Crashes

  /// Forgets the moments so far: no crash at them is explored.
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

  /// Whether the order of the changes of several threads is not known: no verdict is possible.
  var isUncertain: Bool { history.isUncertain }

  // MARK: Openings

  /// The store itself, for inspection. ``reopen()`` replaces it.
  public var store: CacheStore { opening.store }

  package var isClosed: Bool { opening.isClosed }

  /// The number of disk operations when the last opening of the store was complete.
  var openedAt: Int { opening.moment }

  /// Opens the closed store again.
  func open() throws { opening = StoreOpening(try RecordedStore.open(world, options), world.disk) }

  private static func open(_ world: SimulatedWorld, _ options: StoreOptions) throws -> CacheStore {
    try CacheStore.open(at: path, options: options, environment: world.environment)
  }

  /// Closes the store. Only ``reopen()`` may follow. Throws the store's errors.
  public func close() throws {
    // A store that has failed makes nothing durable when it closes.
    let isWell = isWell
    // The opening ends even if the last writes of the close fail.
    opening.end()
    // Closing checks the records that a crash had left.
    defer { reports.add(store) }
    try history.flush(isPromise: false) {
      try store.close()
      return isWell
    }
  }

  /// Whether the store has not failed.
  var isWell: Bool { (try? store.requireWell()) != nil }

  /// Rebuilds the index of the closed store from its segments.
  func repair() throws {
    reports.add(try CacheStore.repair(at: RecordedStore.path, environment: world.environment))
  }

  /// The harm that the store has ever reported.
  var toldHarm: Harm { reports.harm(store) }

  /// The number of entries that may be missing by the store's reports.
  var toldLosses: Int { reports.losses(store) }

  // MARK: Budgets

  /// Notes that the store has another budget from now on.
  func noteBudget(_ byteCount: Int) {
    history.noteOtherBudget()
    budget.change(to: byteCount)
  }

  /// Returns whether the folder has been larger than its budget, in words.
  package var overBudget: String? { budget.violation }

  // MARK: Changes

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

  /// Runs a change. An error of the store ends the workload, unless ``isTolerant`` is set.
  func attempt(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      guard isTolerant, error is StoreError else { throw error }
    }
  }

  /// Runs an operation that may evict, and enters the evictions into the history.
  func evicting<R>(_ body: () throws -> R) rethrows -> R {
    let watch = evictions.watch(store)
    defer { evictions.note(watch, store) }
    return try body()
  }

  // MARK: Content

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
}
