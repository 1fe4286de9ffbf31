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
  public private(set) var store: CacheStore

  package static let path = "/store"

  package private(set) var isClosed = false
  /// After how many operations of the disk it was last opened.
  private(set) var openedAt = 0
  /// No crash before so many operations of the disk is explored.
  package private(set) var firstMoment = 0
  /// Whether what came before that is forgotten, to save time.
  private let forgets: Bool
  /// Whether a change that fails is entered as such and nothing more, so that what comes behind it is done too.
  private let isTolerant: Bool

  /// Crashes are explored from here on, unless the making of the store is of interest too.
  package init(
    seed: UInt64 = 1, options: StoreOptions = StoreOptions(byteBudget: 1 << 20), isRecordedFromTheStart: Bool = false,
    forgets: Bool = true, isTolerant: Bool = false, prepare: (SimulatedWorld) -> Void = { _ in }
  ) throws {
    self.forgets = forgets
    self.isTolerant = isTolerant
    var disk = SimulatedDisk.Options()
    disk.reusesMemory = !forgets
    world = SimulatedWorld(seed: seed, disk: SimulatedDisk(disk))
    history = History(world.disk)
    self.options = options
    prepare(world)
    store = try CacheStore.open(at: RecordedStore.path, options: options, environment: world.environment)
    openedAt = world.disk.operationCount
    if !isRecordedFromTheStart { markBeginning() }
  }

  /// What a crash has left, opened: what it has under `keys` is what the new history begins with, as durable.
  package init(recovering world: SimulatedWorld, keys: Set<CacheKey>) throws {
    self.world = world
    history = History(world.disk)
    options = StoreOptions()
    forgets = true
    isTolerant = true
    store = try CacheStore.open(at: RecordedStore.path, options: options, environment: world.environment)
    let found = Inspection.contents(store, keys)
    history.run(keys.map { key in found[key].map { .put(key, $0) } ?? .remove(key) }, synced: true) {}
    history.flush { true }
    markBeginning()
  }

  private func markBeginning() {
    firstMoment = world.disk.operationCount
    if forgets { world.disk.foldHistory() }
  }

  /// The disks that a loss of power could have left.
  package func crashes(mixtures: Int, seed: UInt64, maximumAlone: Int) -> CrashExploration {
    let expectations = history.expectations
    return world.disk.crashes(
      mixtures: mixtures, seed: seed, maximumAlone: maximumAlone, after: Array(firstMoment...world.disk.operationCount),
      comparesShapes: !forgets, expectation: { moment in expectations.count { $0 <= moment } })
  }

  /// Bytes that follow from a number and differ for each, and that nothing compresses.
  public static func bytes(_ count: Int, _ number: Int) -> [UInt8] {
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

  // MARK: Entries

  /// Stores an entry of the URL `name`.
  public func put(
    _ name: String, _ bytes: [UInt8], style: Style = .original, synced: Bool = false, metadata: [UInt8] = []
  ) throws {
    try put(
      CacheKey(name, style), bytes, options: PutOptions(metadata: metadata, durability: synced ? .synced : .buffered))
  }

  /// The same with any options. A source by name, or an original that outdates styles, is not known to the history: see
  /// ``replace(_:_:outdating:synced:)``.
  public func put(_ key: CacheKey, _ bytes: [UInt8], options: PutOptions) throws {
    let mayExpire = options.expirationMilliseconds != nil || options.slidingExpirationMilliseconds != nil
    let content = Content(bytes, metadata: options.metadata, mayExpire: mayExpire)
    try change([.put(key, content)], synced: options.durability == .synced) {
      try store.put(bytes, for: key, options: options)
    }
  }

  /// Changes the metadata of an entry that is there.
  public func setMetadata(_ name: String, style: Style = .original, _ metadata: [UInt8], synced: Bool = false) throws {
    let key = CacheKey(name, style)
    guard let bytes = store.bytes(key) else { return }
    try change([.put(key, Content(bytes, metadata: metadata))], synced: synced) {
      _ = try store.setMetadata(metadata, for: key, durability: synced ? .synced : .buffered)
    }
  }

  /// Stores an original with other bytes than before, which takes the named styles of its URL with it.
  public func replace(_ name: String, _ bytes: [UInt8], outdating styles: [Style], synced: Bool = false) throws {
    let key = CacheKey(name)
    let outdated = styles.map { History.Change.remove(CacheKey(name, $0)) }
    try change([.put(key, Content(bytes))] + outdated, synced: synced) {
      try store.put(bytes, for: key, options: PutOptions(durability: synced ? .synced : .buffered))
    }
  }

  /// Removes one entry.
  public func remove(_ name: String, style: Style = .original, synced: Bool = false) throws {
    let key = CacheKey(name, style)
    try change([.remove(key)], synced: synced) {
      try store.remove(key, durability: synced ? .synced : .buffered)
    }
  }

  /// Removes several together.
  public func removeMany(_ names: [String], synced: Bool = false) throws {
    try removeAll(
      synced, { names.contains($0.urlText) && $0.style == .original },
      { _ = try store.removeMany(names.map { CacheKey($0) }, durability: $0) })
  }

  /// Removes a name in all its styles.
  public func removeAllStyles(_ name: String, synced: Bool = false) throws {
    try removeAll(synced, { $0.urlText == name }, { _ = try store.removeAllStyles(name, durability: $0) })
  }

  /// Removes all entries of a style.
  public func removeAll(style: Style, synced: Bool = false) throws {
    try removeAll(synced, { $0.style == style }, { _ = try store.removeAll(style: style, durability: $0) })
  }

  /// So few as a history has go in one frame.
  private func removeAll(
    _ synced: Bool, _ isMeant: (CacheKey) -> Bool, _ body: (Durability) throws -> Void
  ) throws {
    try change(history.keys.filter(isMeant).map { .remove($0) }, synced: synced) {
      try body(synced ? .synced : .buffered)
    }
  }

  /// Removes everything.
  public func removeAll(synced: Bool = false) throws {
    try change([.removeAll], synced: synced) {
      try store.removeAll(durability: synced ? .synced : .buffered)
    }
  }

  /// Removes all entries whose URL begins with `prefix`.
  public func removeAll(prefix: String, synced: Bool = false) throws {
    try removeAll(synced, { $0.urlText.hasPrefix(prefix) }, { _ = try store.removeAll(prefix: prefix, durability: $0) })
  }

  /// Removes all entries whose URL begins with `prefix` but those of these URLs.
  public func retain(only names: [String], prefix: String = "") throws {
    try removeAll(
      false, { $0.urlText.hasPrefix(prefix) && !names.contains($0.urlText) },
      { _ in _ = try store.retain(only: names, prefix: prefix) })
  }

  // MARK: Several at once

  /// Puts under many styles of one name together.
  public func batch(_ name: String, styles: [(Style, [UInt8])], synced: Bool = false) throws {
    var batch = WriteBatch()
    for (style, bytes) in styles { batch.put(bytes, for: CacheKey(name, style)) }
    try write(batch, styles.map { .put(CacheKey(name, $0), Content($1)) }, synced: synced)
  }

  /// Puts and removals of different URLs that happen together.
  public func batch(puts: [(String, [UInt8])], removals: [String] = [], synced: Bool = false) throws {
    var batch = WriteBatch()
    var changes: [History.Change] = []
    for (name, bytes) in puts {
      batch.put(bytes, for: CacheKey(name))
      changes.append(.put(CacheKey(name), Content(bytes)))
    }
    for name in removals {
      batch.remove(CacheKey(name))
      changes.append(.remove(CacheKey(name)))
    }
    try write(batch, changes, synced: synced)
  }

  private func write(_ batch: WriteBatch, _ changes: [History.Change], synced: Bool) throws {
    try change(changes, synced: synced) { try store.write(batch, durability: synced ? .synced : .buffered) }
  }

  // MARK: Bodies

  /// Writes a body in pieces of the given length; nothing may change before its commit.
  public func write(
    _ name: String, _ bytes: [UInt8], isLengthKnown: Bool, pieces: Int = 40_000, synced: Bool = false
  ) throws {
    let writer = try self.writer(name, length: isLengthKnown ? bytes.count : nil, synced: synced)
    try evicting {
      for start in stride(from: 0, to: bytes.count, by: pieces) {
        try writer.write(Array(bytes[start..<min(start + pieces, bytes.count)]))
      }
    }
    try commit(writer, name, bytes, synced: synced)
  }

  /// A body to write in pieces: end it with ``commit(_:_:_:synced:)``, or leave it.
  public func writer(_ name: String, length: Int?, synced: Bool = false) throws -> BodyWriter {
    try evicting {
      try store.writer(
        for: CacheKey(name), length: length, options: PutOptions(durability: synced ? .synced : .buffered))
    }
  }

  /// `bytes` are what was written into it.
  public func commit(_ writer: BodyWriter, _ name: String, _ bytes: [UInt8], synced: Bool = false) throws {
    try change([.put(CacheKey(name), Content(bytes))], synced: synced) { try writer.commit() }
  }

  /// Draws `bytes`, which are so many rows of 64 bytes; `meanwhile` runs in the middle of it.
  public func draw(
    _ name: String, _ bytes: [UInt8], synced: Bool = false, meanwhile: () throws -> Void = {}
  ) throws {
    guard let layout = BitmapLayout(width: 16, height: bytes.count / 64, format: .rgba8888) else { return }
    var step: History.StepID?
    try attempt {
      // What `meanwhile` does notes its own evictions.
      var watch = EvictionWatch(self)
      defer { watch.note(in: self) }
      do {
        try store.draw(
          CacheKey(name), layout: layout, options: PutOptions(durability: synced ? .synced : .buffered)
        ) { memory, _ in
          watch.note(in: self)
          memory.withUnsafeMutableBytes { $0.copyBytes(from: bytes.prefix(bytes.count / 2)) }
          do {
            defer { watch = EvictionWatch(self) }
            try meanwhile()
          }
          memory.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
          step = history.begin([.put(CacheKey(name), Content(bytes))], synced: synced)
        }
      } catch {
        if let step { history.fail(step) }
        throw error
      }
      if let step { history.acknowledge(step) }
    }
  }

  // MARK: The store

  /// From here on, all so far must survive a loss of power.
  public func flush() throws {
    try attempt {
      try history.flush {
        try store.flush()
        return true
      }
    }
  }

  /// Writes the index out; as ``flush()``, for what must survive.
  public func checkpoint() throws {
    try attempt {
      try history.flush {
        try store.checkpoint()
        return true
      }
    }
  }

  /// What the store does in the background, now.
  public func upkeep() {
    history.flush(isPromise: false) {
      evicting { world.background.runAll() }
      return isWell
    }
  }

  /// Nothing that anybody could see changes.
  @discardableResult
  public func compact() throws -> CompactionReport {
    var report = CompactionReport()
    try attempt { try evicting { report = try store.compact() } }
    return report
  }

  /// Changes the budget of bytes; a smaller one evicts.
  public func setByteBudget(_ byteCount: Int) throws {
    try attempt { try evicting { try store.setBudgets(byteBudget: byteCount) } }
  }

  /// Changes the budget of entries, 0 for none; a smaller one evicts.
  public func setEntryBudget(_ count: Int) throws {
    try attempt { try evicting { try store.setBudgets(entryBudget: count) } }
  }

  /// What came so far is durable, and no crash before this is explored.
  public func begin() throws {
    try flush()
    markBeginning()
  }

  /// Closes the store and opens it again.
  public func reopen() throws {
    try close()
    try open()
  }

  private func open() throws {
    store = try CacheStore.open(at: RecordedStore.path, options: options, environment: world.environment)
    openedAt = world.disk.operationCount
    isClosed = false
  }

  // MARK: Around it

  /// Opens the store read-only beside this one, as another process would.
  public func reader() throws -> CacheStore? {
    var reader: CacheStore?
    try attempt {
      var options = options
      options.isReadOnly = true
      reader = try CacheStore.open(at: RecordedStore.path, options: options, environment: world.environment)
    }
    return reader
  }

  /// Moves a reader forward, and throws ``Unexpected`` where it does not find what the store has.
  public func check(_ reader: CacheStore) throws {
    try attempt {
      try reader.refresh()
      for key in history.keys {
        let (expected, found) = (Inspection.content(store, key), Inspection.content(reader, key))
        if found == expected || isTolerant && history.hasEverPut(key, found) { continue }
        throw Unexpected(text: "a reader finds \(found?.bytes.count ?? -1) bytes of \(key.urlText)")
      }
    }
  }

  /// What a workload finds that must not be.
  public struct Unexpected: Error, CustomStringConvertible {
    let text: String
    public var description: String { text }
  }

  /// Steps the wall clock, in either direction; time that passes moves both.
  public func stepClock(milliseconds: Int) {
    world.clock.setWall(milliseconds: world.clock.wallMilliseconds() + Int64(milliseconds))
  }

  /// Milliseconds since 1970, by the store's clock.
  public var now: Int64 { world.clock.wallMilliseconds() }

  /// Closes the store. Only ``reopen()`` may follow.
  public func close() throws {
    // A store that has failed closes without a word, and without making anything durable.
    let isWell = isWell
    try history.flush(isPromise: false) {
      try store.close()
      isClosed = true
      return isWell
    }
  }

  /// Takes the index away from a closed store, as damage does, and builds it anew from the segments: by `cachectl repair`,
  /// or by the next opening. Removed keys may come back then, so none should have been removed.
  public func loseIndexAndReopen(repairs: Bool) throws {
    try close()
    RecordedStore.loseIndex(world.disk)
    markBeginning()
    if repairs { _ = try CacheStore.repair(at: RecordedStore.path, environment: world.environment) }
    try open()
  }

  /// Every checkpoint is damaged.
  static func loseIndex(_ disk: SimulatedDisk) {
    for file in disk.filePaths where file.hasPrefix("\(path)/checkpoints/") {
      disk.damage(file) { bytes in for index in bytes.indices { bytes[index] = 0 } }
    }
  }

  private var isWell: Bool { (try? store.requireWell()) != nil }

  /// Runs anything that makes these changes.
  package func change(_ changes: [History.Change], synced: Bool, _ body: () throws -> Void) throws {
    try attempt { try evicting { try history.run(changes, synced: synced, body) } }
  }

  /// Runs a change. One that the store refuses ends the workload, unless this is tolerant.
  private func attempt(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      guard isTolerant, error is StoreError else { throw error }
    }
  }

  /// Runs what may evict, and enters into the history what it has evicted.
  private func evicting<R>(_ body: () throws -> R) rethrows -> R {
    let watch = EvictionWatch(self)
    defer { watch.note(in: self) }
    return try body()
  }

  /// What there was before something that may evict.
  private struct EvictionWatch {
    private let step: Int
    private let began: Int
    private let evictedCount: Int
    /// Whoever goes first first.
    private let order: [CacheKey]

    init(_ recorded: RecordedStore) {
      step = recorded.history.steps.count
      began = recorded.world.disk.operationCount
      evictedCount = recorded.store.statistics().evictedCount
      let keys = (try? recorded.store.keysByRecency()) ?? []
      order = keys.reversed().filter { recorded.store.contains($0) }
    }

    /// Steps that were begun meanwhile have other numbers then.
    func note(in recorded: RecordedStore) {
      let count = recorded.store.statistics().evictedCount - evictedCount
      guard count > 0 else { return }
      // An entry may have gone for its own successor.
      let touched = recorded.history.keys(since: step)
      let gone = order.filter { touched.contains($0) || !recorded.store.contains($0) }
      recorded.history.evicted(Array(gone.prefix(count)), before: step, began: began)
    }
  }
}
