import Testing
import Vitrine
import VitrineSimulation

/// A store on a simulated disk, and the history of what was done to it.
final class Workload {
  let world: SimulatedWorld
  let history: History
  var options: StoreOptions
  private(set) var store: CacheStore

  static let path = "/store"

  /// Crashes are explored from here on, unless the making of the store is of interest too.
  init(
    seed: UInt64 = 1, options: StoreOptions = Workload.smallOptions, isRecordedFromTheStart: Bool = false
  ) throws {
    world = SimulatedWorld(seed: seed)
    history = History(world.disk)
    self.options = options
    store = try CacheStore.open(at: Workload.path, options: options, environment: world.environment)
    if !isRecordedFromTheStart { world.disk.foldHistory() }
  }

  /// Cuts the power after every operation, in every way that is asked for, and checks what is left.
  func explore(
    mixtures: Int = 3, maximumAlone: Int = 6, verification: Verification = .firstRead,
    at location: SourceLocation = #_sourceLocation
  ) {
    var count = 0
    var failures: [String] = []
    let history = history
    let expectations = history.expectations
    let crashes = world.disk.crashes(
      mixtures: mixtures, seed: 7, maximumAlone: maximumAlone,
      expectation: { moment in expectations.count { $0 <= moment } })
    for crash in crashes {
      count += 1
      guard count % Thoroughness.stride == 0 else { continue }
      let inspection = Inspection(
        history: history, moment: crash.operationCount, powerLost: true, verification: verification)
      if let wrong = inspection.run(world.rebooted(crash.disk())) {
        failures.append("\(crash): \(wrong)")
        if failures.count >= 4 { break }
      }
    }
    #expect(failures.isEmpty, "\(failures.joined(separator: "\n"))", sourceLocation: location)
    #expect(count > 30, sourceLocation: location)
    #expect(world.disk.misuse.isEmpty, sourceLocation: location)
  }

  static var smallOptions: StoreOptions { StoreOptions(byteBudget: 1 << 20) }

  /// Bytes that follow from a number and differ for each.
  static func bytes(_ count: Int, _ number: Int) -> [UInt8] {
    var state = UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15 | 1
    return (0..<count).map { _ in
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return UInt8(truncatingIfNeeded: state >> 32)
    }
  }

  func put(_ name: String, _ bytes: [UInt8], style: Style = .original, synced: Bool = false) throws {
    let key = CacheKey(name, style)
    var options = PutOptions()
    options.durability = synced ? .synced : .buffered
    try evicting {
      try history.run([.put(key, bytes)], synced: synced) { try store.put(bytes, for: key, options: options) }
    }
  }

  /// Runs what may evict, and enters into the history what it has evicted.
  private func evicting(_ body: () throws -> Void) rethrows {
    let step = history.steps.count
    let began = world.disk.operationCount
    let before = history.keys.filter { store.contains($0) }
    let evictedCount = store.statistics().evictedCount
    defer {
      if store.statistics().evictedCount != evictedCount {
        let gone = before.filter { !store.contains($0) }
        let order = gone.map { (history.lastPut($0), $0) }.sorted { $0.0 < $1.0 }.map(\.1)
        history.evicted(order, before: step, began: began)
      }
    }
    try body()
  }

  /// Writes a body in pieces of the given length; nothing may change before its commit.
  func write(
    _ name: String, _ bytes: [UInt8], isLengthKnown: Bool, pieces: Int = 40_000, synced: Bool = false
  ) throws {
    let writer = try self.writer(name, length: isLengthKnown ? bytes.count : nil, synced: synced)
    for start in stride(from: 0, to: bytes.count, by: pieces) {
      try writer.write(Array(bytes[start..<min(start + pieces, bytes.count)]))
    }
    try commit(writer, name, bytes, synced: synced)
  }

  func writer(_ name: String, length: Int?, synced: Bool = false) throws -> BodyWriter {
    try store.writer(
      for: CacheKey(name), length: length, options: PutOptions(durability: synced ? .synced : .buffered))
  }

  func commit(_ writer: BodyWriter, _ name: String, _ bytes: [UInt8], synced: Bool = false) throws {
    try history.run([.put(CacheKey(name), bytes)], synced: synced) { try writer.commit() }
  }

  /// Draws `bytes`, which are so many rows of 64 bytes; `meanwhile` runs in the middle of it.
  func draw(_ name: String, _ bytes: [UInt8], synced: Bool = false, meanwhile: () throws -> Void = {}) throws {
    let layout = BitmapLayout(width: 16, height: bytes.count / 64, format: .rgba8888)!
    let step = try store.draw(
      CacheKey(name), layout: layout, options: PutOptions(durability: synced ? .synced : .buffered)
    ) { memory, _ in
      memory.withUnsafeMutableBytes { $0.copyBytes(from: bytes.prefix(bytes.count / 2)) }
      try meanwhile()
      memory.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
      return history.begin([.put(CacheKey(name), bytes)], synced: synced)
    }
    history.acknowledge(step)
  }

  /// Stores an original with other bytes than before, which takes the named styles of its URL with it.
  func replace(_ name: String, _ bytes: [UInt8], outdating styles: [Style], synced: Bool = false) throws {
    let key = CacheKey(name)
    let outdated = styles.map { History.Change.remove(CacheKey(name, $0)) }
    try history.run([.put(key, bytes)] + outdated, synced: synced) {
      try store.put(bytes, for: key, options: PutOptions(durability: synced ? .synced : .buffered))
    }
  }

  func remove(_ name: String, synced: Bool = false) throws {
    let key = CacheKey(name)
    try history.run([.remove(key)], synced: synced) {
      try store.remove(key, durability: synced ? .synced : .buffered)
    }
  }

  func removeAll(synced: Bool = false) throws {
    try history.run([.removeAll], synced: synced) {
      try store.removeAll(durability: synced ? .synced : .buffered)
    }
  }

  /// Puts under many styles of one name together.
  func batch(_ name: String, styles: [(Style, [UInt8])], synced: Bool = false) throws {
    var batch = WriteBatch()
    for (style, bytes) in styles { batch.put(bytes, for: CacheKey(name, style)) }
    try history.run(styles.map { .put(CacheKey(name, $0), $1) }, synced: synced) {
      try store.write(batch, durability: synced ? .synced : .buffered)
    }
  }

  func batch(puts: [(String, [UInt8])], removals: [String] = [], synced: Bool = false) throws {
    var batch = WriteBatch()
    var changes: [History.Change] = []
    for (name, bytes) in puts {
      batch.put(bytes, for: CacheKey(name))
      changes.append(.put(CacheKey(name), bytes))
    }
    for name in removals {
      batch.remove(CacheKey(name))
      changes.append(.remove(CacheKey(name)))
    }
    try history.run(changes, synced: synced) {
      try store.write(batch, durability: synced ? .synced : .buffered)
    }
  }

  func flush() throws {
    try store.flush()
    history.flushed()
  }

  func checkpoint() throws {
    try store.checkpoint()
    history.flushed()
  }

  func upkeep() {
    evicting { world.background.runAll() }
    history.flushed()
  }

  /// Nothing that anybody could see changes.
  func compact() throws -> CompactionReport { try store.compact() }

  func setByteBudget(_ byteCount: Int) throws {
    try evicting { try store.setBudgets(byteBudget: byteCount) }
  }

  /// What came so far is durable, and no crash before this is explored.
  func begin() throws {
    try flush()
    world.disk.foldHistory()
  }

  func reopen() throws {
    try store.close()
    history.flushed()
    store = try CacheStore.open(at: Workload.path, options: options, environment: world.environment)
  }

  func close() throws {
    try store.close()
    history.flushed()
  }
}

/// Opens a disk that a crash left, and checks the contracts on it.
struct Inspection {
  let history: History
  let moment: Int
  let powerLost: Bool
  var verification = Verification.firstRead

  /// Answers what is wrong, or nil.
  func run(_ world: SimulatedWorld) -> String? {
    do {
      return try check(world)
    } catch {
      return "opening or using the store failed: \(error)"
    }
  }

  private func open(_ world: SimulatedWorld, readOnly: Bool = false) throws -> CacheStore {
    try CacheStore.open(
      at: Workload.path, options: StoreOptions(verification: verification, isReadOnly: readOnly),
      environment: world.environment)
  }

  private func contents(_ store: CacheStore) -> [CacheKey: [UInt8]] {
    var found: [CacheKey: [UInt8]] = [:]
    for key in history.keys { found[key] = store.bytes(key) }
    return found
  }

  /// A key that has not what it had. Those that were evicted have nothing.
  private func changed(_ found: [CacheKey: [UInt8]], _ store: CacheStore) -> String? {
    let mayBeEvicted = store.statistics().evictedCount > 0
    for (key, bytes) in found {
      let now = store.bytes(key)
      if !sameBytes(now, bytes), !(now == nil && mayBeEvicted) { return key.urlText }
    }
    return nil
  }

  /// What a reader finds in what was left. It changes nothing on the disk.
  private func readOnly(_ world: SimulatedWorld) throws -> [CacheKey: [UInt8]] {
    let before = world.disk.operationCount
    let reader = try open(world, readOnly: true)
    let found = contents(reader)
    if world.disk.operationCount != before { throw Changed() }
    try reader.close()
    return found
  }

  private struct Changed: Error, CustomStringConvertible { let description = "a reader changed the disk" }

  private func check(_ world: SimulatedWorld) throws -> String? {
    guard world.disk.contents("\(Workload.path)/STORE") != nil else {
      // The making was broken off: nothing was ever acknowledged, and opening makes it anew.
      let store = try open(world)
      try store.put([1], for: "after")
      return store.bytes("after") == [1] ? history.judge([:], crashedAfter: moment, powerLost: powerLost) : "unusable"
    }
    let seen = try readOnly(world)
    let store = try open(world)
    let notes = store.statistics().lastOpen.notes
    if !notes.isEmpty { return "recovery complains: \(notes)" }
    let found = contents(store)
    if !sameBytes(seen, found) { return "a read-only opening found something else" }
    if let wrong = history.judge(found, crashedAfter: moment, powerLost: powerLost) { return wrong }
    if let wrong = Accounts.check(store) { return wrong }
    // Goes on working.
    let extra = CacheKey("after the crash")
    try store.put(Workload.bytes(300, 999), for: extra, options: PutOptions(durability: .synced))
    if let changed = changed(found, store) { return "\(changed) changed after a put" }
    world.background.runAll()
    try store.flush()
    let report = try store.verify()
    if !report.isOK { return "verify: \(report.damaged)" }
    if !report.lost.isEmpty { return "lost after the leftovers were checked: \(report.lost)" }
    if let changed = changed(found, store) { return "\(changed) changed behind the serving" }
    if let wrong = Accounts.check(store) { return "later: \(wrong)" }
    let files = world.disk.filePaths.filter { $0.hasPrefix("\(Workload.path)/segments/") }
    let known = Set(store.statistics().segments.map { "\(Workload.path)/segments/\($0.file)" })
    if let left = files.first(where: { !known.contains($0) }) { return "\(left) is nobody's" }
    let last = contents(store)
    let kept = store.bytes(extra)
    if kept == nil, store.statistics().evictedCount == 0 { return "the put after the crash is gone" }
    try store.close()
    // And is the same the next time.
    let again = try open(world)
    let second = contents(again)
    if !sameBytes(second, last) { return "a second opening finds something else" }
    if again.bytes(extra) != kept { return "the put after the crash is gone" }
    if again.statistics().lastOpen.kind != .clean {
      return "a clean close is not recognised: \(again.statistics().lastOpen)"
    }
    if let wrong = Accounts.check(again) { return "second opening: \(wrong)" }
    return nil
  }
}
