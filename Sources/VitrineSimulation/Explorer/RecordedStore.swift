import Vitrine

/// A store on a simulated disk, and the history of all that was done to it through this: what a crash may leave follows
/// from the two.
///
/// Changes go through the methods here, so that they are in the history; ``store`` is for all that changes nothing. What a
/// method throws is the store's own error; the history then has a step that may have happened or not. Use from one thread.
public final class RecordedStore {
  package let world: SimulatedWorld
  package let history: History
  package var options: StoreOptions
  /// The store itself, to look at. It is another one after ``reopen()``.
  public internal(set) var store: CacheStore

  package static let path = "/store"

  package internal(set) var isClosed = false
  /// What was retained, with the bytes that it must go on showing.
  var heldBlobs: [(name: String, blob: Blob, bytes: [UInt8])] = []
  /// The order of what several threads did is not known: nothing can be said of what is left.
  var isUncertain = false
  /// What was evicted and entered into the history.
  private(set) var notedEvictions: [CacheKey] = []
  private var byteBudget: Int
  private var byteBudgetSince = 0
  private var overAnEarlierBudget: String?
  /// What may be wrong by what the store has said in earlier lives.
  var toldBefore = Harm.none
  /// How many entries it has said to have lost in earlier lives.
  var lossesBefore = 0
  /// After how many operations of the disk it was last opened.
  var openedAt = 0
  /// No crash before so many operations of the disk is explored.
  package private(set) var firstMoment = 0
  /// Whether what came before that is forgotten, to save time.
  private let forgets: Bool
  /// Whether a change that fails is entered as such and nothing more, so that what comes behind it is done too.
  let isTolerant: Bool

  /// Crashes are explored from here on, unless the making of the store is of interest too. `files` are of a store that
  /// somebody has left: what a reader finds there is what the history begins with, as durable.
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
      try RecordedStore.noteWhatIsThere(world, history)
      firstMoment = world.disk.operationCount
    }
    prepare(world)
    store = try CacheStore.open(at: RecordedStore.path, options: options, environment: world.environment)
    byteBudget = store.statistics().byteBudget
    openedAt = world.disk.operationCount
    if !isRecordedFromTheStart { markBeginning() }
  }

  /// What a crash has left, opened: what it has under `keys` is what the new history begins with, as durable.
  package init(recovering world: SimulatedWorld, keys: Set<CacheKey>) throws {
    self.world = world
    history = History(world)
    options = StoreOptions()
    byteBudget = .max
    forgets = true
    isTolerant = true
    store = try CacheStore.open(at: RecordedStore.path, options: options, environment: world.environment)
    history.begin(with: Inspection.contents(store, keys), of: keys)
    // What is there may have been put under a larger budget.
    history.hasOtherBudgets = true
    markBeginning()
  }

  private static func noteWhatIsThere(_ world: SimulatedWorld, _ history: History) throws {
    // A fault may take the index, or the log, or of each so much that both are of no use: what is left may tell of what came
    // before.
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

  /// The numbers of operations behind which crashes are explored.
  var moments: ClosedRange<Int> { firstMoment...world.disk.operationCount }

  /// The disks that a loss of power could have left, at all moments or at those given.
  package func crashes(
    mixtures: Int, seed: UInt64, maximumAlone: Int, maximumAloneNowAndThen: Int = 0, after moments: [Int]? = nil
  ) -> CrashExploration {
    let expectations = history.expectations
    return world.disk.crashes(
      mixtures: mixtures, seed: seed, maximumAlone: maximumAlone,
      maximumAloneNowAndThen: maximumAloneNowAndThen, after: moments ?? Array(self.moments),
      comparesShapes: !forgets, expectation: { moment in expectations.count { $0 <= moment } })
  }

  /// Bytes that follow from a number and differ for each, and that nothing compresses.
  public static func bytes(_ count: Int, _ number: Int) -> [UInt8] {
    // Of an empty array the initializer writes to storage that all threads share.
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

  /// The store has another budget from now on.
  func noteBudget(_ byteCount: Int) {
    overAnEarlierBudget = overBudget
    history.hasOtherBudgets = true
    (byteBudget, byteBudgetSince) = (byteCount, world.disk.operationCount)
    world.disk.resetMostUsedByteCount()
  }

  /// What may be wrong by what the store has ever said: what it gives up, it counts, and that something may have come back,
  /// it notes.
  var toldHarm: Harm {
    let statistics = store.statistics()
    let opening = statistics.lastOpen
    // Segments tell of the newest change of each key, save of removals: none of those has been without the other note.
    if opening.mayHaveLostRemovals, opening.kind != .rebuilt { return max(toldBefore, .entriesMayBeOlder) }
    return toldLosses > 0 ? max(toldBefore, .entriesMayMiss) : toldBefore
  }

  /// How many entries may be missing by what the store has ever said: as many as it has counted, and any number where it
  /// notes that something could not be read.
  var toldLosses: Int {
    let statistics = store.statistics()
    let opening = statistics.lastOpen
    let noted = opening.notes.contains(where: RecordedStore.tellsOfLoss) ? RecordedStore.anyNumber : 0
    return lossesBefore + statistics.damagedCount + statistics.lostCount + opening.droppedCount + noted
  }

  /// More than a workload has, and far from the ends of the numbers.
  static let anyNumber = 1 << 40

  /// That an index was built anew costs nothing by itself.
  static func tellsOfLoss(_ note: String) -> Bool { !note.hasPrefix("rebuilt from the segments") }

  /// A life of the store ends.
  func noteWhatWasTold() {
    toldBefore = toldHarm
    lossesBefore = toldLosses
  }

  /// That the folder has been larger than its budget, in words.
  package var overBudget: String? {
    let most = world.disk.mostUsedByteCount
    if overAnEarlierBudget != nil || most <= byteBudget { return overAnEarlierBudget }
    return "\(most) bytes were used at most behind operation \(byteBudgetSince), in a budget of \(byteBudget)"
  }

  /// Runs anything that makes these changes. `again` makes them in a store that a crash has left; without it `body` does,
  /// which then must not hang on what was there.
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

  /// Runs a change. One that the store refuses ends the workload, unless this is tolerant.
  func attempt(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      guard isTolerant, error is StoreError else { throw error }
    }
  }

  /// Runs what may evict, and enters into the history what it has evicted.
  func evicting<R>(_ body: () throws -> R) rethrows -> R {
    let watch = EvictionWatch(self)
    defer { watch.note(in: self) }
    return try body()
  }

  /// What there was before something that may evict. One within another enters its own.
  struct EvictionWatch {
    private let notedCount: Int
    private let step: Int
    private let began: Int
    private let evictedCount: Int
    /// Whoever goes first first.
    private let order: [CacheKey]

    init(_ recorded: RecordedStore) {
      notedCount = recorded.notedEvictions.count
      step = recorded.history.steps.count
      began = recorded.world.disk.operationCount
      evictedCount = recorded.store.statistics().evictedCount
      // Expired entries go before them, and not by eviction.
      order = ((try? recorded.store.keysByRecency()) ?? []).reversed().filter { recorded.store.contains($0) }
    }

    /// Steps that were begun meanwhile have other numbers then.
    func note(in recorded: RecordedStore) {
      let noted = recorded.notedEvictions[notedCount...]
      let count = recorded.store.statistics().evictedCount - evictedCount - noted.count
      guard count > 0 else { return }
      // What is missing and was not touched has gone. Beyond that, an entry may have gone for its own successor. (Of entries
      // that were used at the same time it is not known who goes first.)
      let touched = recorded.history.keys(since: step)
      let candidates = order.filter { !noted.contains($0) }
      let missing = candidates.filter { !touched.contains($0) && !recorded.store.contains($0) }
      let replaced = candidates.filter(touched.contains).prefix(max(0, count - missing.count))
      let isGone = Set(missing.prefix(count) + replaced)
      let gone = order.filter(isGone.contains)
      recorded.notedEvictions += gone
      recorded.history.evicted(gone, before: step, began: began)
    }
  }
}
