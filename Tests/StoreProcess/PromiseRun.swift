import Glibc
import Synchronization
import Vitrine

/// The promises of a store under load: readers beside writers that evict and compact, and a reader in a separate
/// process, all of which check every byte; and the folder's disk usage against its budget.
///
/// A key has one writer, so the allowed results of a get are known: a version no older than the last one
/// acknowledged before the get began, none that was begun after it ended, and none whose removal was acknowledged.
final class PromiseRun: @unchecked Sendable {
  struct Plan {
    var seconds = 60.0
    var budget = 64 << 20
    var folder: String
    var hasStalledClients = false
    var hasGiantBatches = false
    /// One URL has very many styles.
    var hasCrowd = false
    var hasShortSessions = false
    /// The store has the largest budget until the end.
    var isLarge = false
    static let styleCount = 100_000
    static let readers = 2
    static let writers = 2
    /// Values take about three times the budget, so most puts evict.
    var keyCount: Int { budget / 1200 }
  }

  private let plan: Plan
  private let store: CacheStore
  private let names: [String]
  /// For each key, the oldest version that a get may return, and the newest that was begun.
  private let bounds: [KeyBounds]
  private let phase = Atomic(Phase.idle.rawValue)
  private let results = Guarded(PromiseResults())

  private enum Phase: Int {
    case idle, load, over
  }

  final class KeyBounds: Sendable {
    let oldest = Atomic(0)
    let newest = Atomic(0)
  }

  init(_ plan: Plan) throws(StoreError) {
    self.plan = plan
    names = (0..<plan.keyCount).map(String.init)
    bounds = names.map { _ in KeyBounds() }
    let small = try CacheStore.open(at: plan.folder, options: StoreOptions(byteBudget: plan.budget))
    if plan.isLarge {
      // The log keeps the size it was made with.
      try small.close()
      store = try CacheStore.open(at: plan.folder, options: StoreOptions(byteBudget: .max))
    } else {
      store = small
    }
  }

  private var isOver: Bool { phase.load(ordering: .relaxed) == Phase.over.rawValue }

  private func fail(_ text: String) { results.withLock { $0.violations.append(text) } }

  /// Blocks until all is done.
  func run() throws(StoreError) -> PromiseResults {
    try fill()
    let reader = ReaderProcess()
    if reader?.ask("open \(plan.folder) readonly") != "done" { fail("the reader process cannot open the store") }
    reader?.send("follow \(plan.seconds) \(plan.keyCount) 1000")
    let readers = (0..<Plan.readers).map { index in SystemThread { self.read(index) } }
    // A fifth of the time, and at most ten seconds, without writers.
    let idle = min(plan.seconds / 5, 10)
    sample(until: monotonicNanoseconds() + UInt64(idle * 1e9))
    phase.store(Phase.load.rawValue, ordering: .relaxed)
    let writers = (0..<Plan.writers).map { index in SystemThread { self.write(index) } }
    let compactor = SystemThread { self.compact() }
    let stalled = plan.hasStalledClients ? StalledClients(store) { self.isOver } : nil
    let crowder = plan.hasCrowd ? SystemThread { self.crowd() } : nil
    let sessions = plan.hasShortSessions ? ShortSessions("\(plan.folder)-sessions") { self.isOver } : nil
    let giants = plan.hasGiantBatches ? GiantBatches(store, budget: plan.budget) { self.isOver } : nil
    sample(until: monotonicNanoseconds() + UInt64((plan.seconds - idle) * 1e9))
    phase.store(Phase.over.rawValue, ordering: .relaxed)
    for thread in readers + writers + [compactor] { thread.join() }
    crowder?.join()
    for text in (stalled?.join() ?? []) + (giants?.join() ?? []) + (sessions?.join() ?? []) { fail(text) }
    finish(reader)
    try reopen()
    return results.withLock { $0 }
  }

  private func fill() throws(StoreError) {
    // With the same mixture as later: every third version is stored compressed.
    for key in names.indices {
      bounds[key].newest.store(key % 3, ordering: .relaxed)
      try put(key)
    }
    try store.flush()
  }

  // MARK: Reading

  private func read(_ thread: Int) {
    var words = SystemRandomNumberGenerator()
    var newest = [Int](repeating: 0, count: names.count)
    var blobs: [HeldBlob] = []
    var own = PromiseResults()
    while !isOver {
      let isIdle = phase.load(ordering: .relaxed) == Phase.idle.rawValue
      // A few at a time, as a screen asks for pictures; then other threads may run.
      for turn in 0..<32 {
        let key = hotKey(&words)
        let oldest = bounds[key].oldest.load(ordering: .acquiring)
        var version: Int??
        if turn == 0, blobs.count < 64 {
          let blob = store.blob(names[key])
          version = blob.map { $0.withBytes { $0.withUnsafeBytes { StressValue.version(of: $0, key: key) } } }
          if let blob, let version, let version { blobs.append(HeldBlob(blob: blob, key: key, version: version)) }
          own.blobCount += blob == nil ? 0 : 1
        } else {
          let start = monotonicNanoseconds()
          var found: UInt64 = 0
          version = store.get(names[key]) { bytes in
            found = monotonicNanoseconds()
            return bytes.withUnsafeBytes { StressValue.version(of: $0, key: key) }
          }
          if let version {
            let isCopied = StressValue.isCompressible(version ?? 1)
            own.add(found - start, isIdle: isIdle, isCopied: isCopied)
          } else {
            own.missCount += 1
          }
        }
        guard let version else { continue }
        guard let version else {
          fail("foreign bytes under \(key)")
          continue
        }
        let begun = bounds[key].newest.load(ordering: .acquiring)
        if version < max(oldest, newest[key]) || version > begun {
          fail("\(key) has version \(version), not \(oldest) (or \(newest[key]), seen before) to \(begun)")
        }
        newest[key] = max(newest[key], version)
      }
      if blobs.count >= 64 { check(&blobs) }
      usleep(500)
    }
    check(&blobs)
    results.withLock { $0.add(own) }
  }

  private func check(_ blobs: inout [HeldBlob]) {
    for blob in blobs where !blob.isWhole { fail("a Blob of \(blob.key) changed") }
    blobs.removeAll()
  }

  /// Low keys are read and written more often than high ones.
  private func hotKey(_ words: inout SystemRandomNumberGenerator) -> Int {
    let number = Double.random(in: 0..<1, using: &words)
    return min(Int(number * number * Double(names.count)), names.count - 1)
  }

  // MARK: Writing

  private func write(_ thread: Int) {
    var words = SystemRandomNumberGenerator()
    var own = PromiseResults()
    var turn = 0
    while !isOver {
      turn += 1
      // One of its own keys.
      let key = min(hotKey(&words) / Plan.writers * Plan.writers + thread, names.count - Plan.writers + thread)
      do throws(StoreError) {
        switch turn % 100 {
        case 0..<3: try remove(key)
        case 3..<7: _ = try store.setMetadata([UInt8(turn & 0xFF)], for: CacheKey(names[key]))
        case 7: try put(key, durability: .synced)
        case 8 where turn % 1000 == 8: try store.flush()
        default: try put(key)
        }
        own.changeCount += 1
      } catch {
        if error == .noSpace { own.refusedCount += 1 } else { fail("a change failed: \(error)") }
      }
    }
    results.withLock { $0.add(own) }
  }

  private func put(_ key: Int, durability: Durability? = nil) throws(StoreError) {
    let version = bounds[key].newest.load(ordering: .relaxed) + 1
    let bytes = StressValue.make(key, version)
    bounds[key].newest.store(version, ordering: .releasing)
    try store.put(bytes, for: names[key], options: PutOptions(durability: durability))
    bounds[key].oldest.store(version, ordering: .releasing)
  }

  private func remove(_ key: Int) throws(StoreError) {
    try store.remove(names[key])
    bounds[key].oldest.store(bounds[key].newest.load(ordering: .relaxed) + 1, ordering: .releasing)
  }

  /// Compacts everything, as a user may do at times, beside the evictions for puts.
  private func compact() {
    var own = PromiseResults()
    while !isOver {
      do throws(StoreError) {
        _ = try store.compact { _, _ in !self.isOver }
        own.compactionCount += 1
      } catch {
        fail("compaction failed: \(error)")
      }
      for _ in 0..<20 where !isOver { usleep(100_000) }
    }
    results.withLock { $0.add(own) }
  }

  /// One URL with very many styles. Its original changes once all of them were put: no style outlives that.
  private func crowd() {
    var own = PromiseResults()
    var turn = 0
    func style(_ turn: Int) -> Style { Style("w\(turn % Plan.styleCount)") ?? .original }
    func value(_ turn: Int) -> [UInt8] { Array("\(turn)".utf8) }
    while !isOver {
      let isOriginal = turn % Plan.styleCount == 0
      let key = CacheKey("crowd", isOriginal ? .original : style(turn))
      do throws(StoreError) {
        try store.put(value(turn), for: key)
        own.changeCount += 1
        if let bytes = store.bytes(key), bytes != value(turn) { fail("foreign bytes under \(key.style.name)") }
        for earlier in max(1, turn - 100)..<max(1, turn) where isOriginal {
          // A style put without an original has no source.
          guard case .found(let entry) = store.lookup(CacheKey("crowd", style(earlier))), let source = entry.source,
            case .found(let original) = store.lookup(key)
          else { continue }
          if source != Source(original.digest) { fail("a style outlives its original") }
        }
        turn += 1
      } catch {
        if error == .noSpace { own.refusedCount += 1 } else { fail("a put of a style failed: \(error)") }
      }
    }
    results.withLock { $0.add(own) }
  }

  // MARK: Watching

  private func sample(until end: UInt64) {
    while monotonicNanoseconds() < end {
      usleep(50_000)
      // A walk through the folder takes time: a removed file may be counted with its successor.
      let usage = (0..<3).lazy.map { _ in FolderTree.diskUsage(self.plan.folder) }
      let least = usage.first { $0 <= plan.budget } ?? usage.min() ?? 0
      let told = store.statistics().bytesOnDisk
      results.withLock { results in
        results.sampleCount += 1
        results.mostBytesOnDisk = max(results.mostBytesOnDisk, least)
        if plan.isLarge { return }
        if least > plan.budget { results.violations.append("the folder takes \(least) bytes") }
        if told > plan.budget { results.violations.append("the ledger has \(told) bytes") }
      }
    }
  }

  private func finish(_ reader: ReaderProcess?) {
    guard let reader else { return }
    let words = reader.line().split(separator: " ")
    if words.first != "followed" || words.count < 3 { fail("the reader process: \(words.joined(separator: " "))") }
    let answers = [reader.ask("refresh"), reader.ask("verify")]
    if answers[1] != "done" { fail("the reader process: \(answers)") }
    let counts = words.compactMap { Int($0) }
    results.withLock { results in
      results.refreshCount = counts.first ?? 0
      results.processReadCount = counts.dropFirst().first ?? 0
    }
  }

  /// Evicted entries stay evicted, the others are intact, and the last acknowledged version is present or evicted.
  private func reopen() throws(StoreError) {
    let statistics = store.statistics()
    results.withLock { results in
      results.evictedCount = statistics.evictedCount
      results.movedCount = statistics.compaction.recordsMoved
    }
    if statistics.damagedCount + statistics.lostCount > 0 { fail("entries were dropped as damaged") }
    try store.close()
    // A smaller budget holds once the opening has returned.
    let again = try CacheStore.open(
      at: plan.folder, options: StoreOptions(byteBudget: plan.isLarge ? plan.budget : nil))
    let opened = FolderTree.diskUsage(plan.folder)
    if opened > plan.budget { fail("the folder takes \(opened) bytes after an opening") }
    let report = try again.verify()
    if !report.isOK || !report.lost.isEmpty { fail("verify: \(report.damaged.prefix(3)) \(report.lost.prefix(3))") }
    for key in names.indices {
      let version = again.get(names[key]) { $0.withUnsafeBytes { StressValue.version(of: $0, key: key) } }
      guard let version else { continue }
      if version != bounds[key].oldest.load(ordering: .relaxed) { fail("\(key) has \(version ?? -1) at the end") }
    }
    try again.close()
    let usage = FolderTree.diskUsage(plan.folder)
    if usage > plan.budget { fail("the folder takes \(usage) bytes at the end") }
  }
}
