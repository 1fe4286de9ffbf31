/// Passes the uses of entries by read-only openings to the writer, so that eviction keeps these entries.
///
/// A read-only opening writes the hashes of its used keys to the file `USES`, at each refresh and when it closes. The
/// writer reads them at its opening, before each round of background upkeep, and before evictions on request. The file
/// takes at most 16 KiB, and the budget includes it. It holds only hashes of keys, so damaged bytes at most count a use
/// of a wrong entry. Nothing is synced. A crash, or two readers that write at once, may lose uses.
final class UseHints: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let lifetimes: Lifetimes
  private let state = Guarded(State())

  private struct State {
    var file: (any File)?
    var byteCount = 0
    /// When this reader last wrote its uses, in nanoseconds of the monotonic clock.
    var left: UInt64 = 0
  }

  init(_ context: StoreContext, gate: WriteGate, lifetimes: Lifetimes) {
    self.context = context
    self.gate = gate
    self.lifetimes = lifetimes
  }

  private static let byteCounts = 4096...16384

  /// Returns the size of the file: 512 keys up to a budget of 4 MiB, 2,048 keys above 12 MiB.
  static func byteCount(budget: Int) -> Int {
    min(max(roundUp(budget / 1024, to: 4096), byteCounts.lowerBound), byteCounts.upperBound)
  }

  /// Returns the bytes by which the file counts against the budget. A file without allocated blocks is not written to,
  /// so it counts 0.
  static func charge(of file: any File, in root: any Directory) -> Int {
    guard let status = try? file.status() else { return byteCounts.upperBound }
    let byteCount =
      root.promisesAllocation ? status.allocatedByteCount : status.chargedByteCount(atMost: byteCounts.upperBound)
    return min(byteCount, byteCounts.upperBound)
  }

  /// Whether the file holds no hashes, and no bytes of another program.
  static func isBlank(_ file: any File) -> Bool {
    guard let bytes = try? file.read(0..<byteCounts.upperBound + 1) else { return false }
    return bytes.count <= byteCounts.upperBound && bytes.allSatisfy { $0 == 0 }
  }

  /// Returns the number of bytes that may be written to the file without an allocation; nil if it is below 4 KiB.
  /// Another program may have lengthened the file. Then its first 16 KiB are used.
  private func usableByteCount(_ file: any File) -> Int? {
    guard let status = try? file.status() else { return nil }
    let byteCount =
      folders.root.promisesAllocation ? min(status.byteCount, status.allocatedByteCount) : status.byteCount
    return byteCount < UseHints.byteCounts.lowerBound
      ? nil : min(byteCount / 4096 * 4096, UseHints.byteCounts.upperBound)
  }

  // MARK: Read-only openings

  /// Begins to remember uses, if the writer has made the file and this process may write to it.
  func begin() {
    guard let file = try? folders.root.openFile(CacheFormat.usesFile, .readWrite),
      let byteCount = usableByteCount(file)
    else { return }
    catalog.keys.rememberUses(byteCount / 8)
    state.withLock { state in (state.file, state.byteCount) = (file, byteCount) }
  }

  /// Writes the hashes of the keys used since the last call, at most once a second unless `isLast`. Writes nothing if
  /// the store was not closed cleanly before this opening and the process in `LOCK` does not run.
  func leave(isLast: Bool) {
    let now = environment.clock.monotonicNanoseconds()
    let target = state.withLock { state -> (file: any File, byteCount: Int)? in
      guard let file = state.file, isLast || now &- state.left >= UseHints.pause else { return nil }
      state.left = now
      return (file, state.byteCount)
    }
    guard let target else { return }
    let used = catalog.keys.takeUsed()
    guard used.contains(where: { $0 != 0 }), lastOpen.kind == .clean || hasRunningWriter else { return }
    upkeepLock.withLock { _ in
      guard let found = UseHints.read(target.file, target.byteCount).map(UseHints.hashes) else { return }
      try? target.file.write(UseHints.encoded(zip(used, found).map { $0 == 0 ? $1 : $0 }), at: 0)
    }
  }

  /// The least time between two writes of a reader, in nanoseconds. The write at its close does not wait.
  private static let pause: UInt64 = 1_000_000_000

  private var hasRunningWriter: Bool {
    guard let file = try? folders.root.openFile(CacheFormat.lockFile, .readOnly) else { return false }
    return isRunning(LockFile.read(file).processID)
  }

  private static func read(_ file: any File, _ byteCount: Int) -> [UInt8]? {
    guard let bytes = try? file.read(0..<byteCount), bytes.count == byteCount else { return nil }
    return bytes
  }

  private static func hashes(_ bytes: [UInt8]) -> [UInt64] {
    bytes.withUnsafeBytes { bytes in
      stride(from: 0, to: bytes.count, by: 8).map { bytes.baseAddress!.u64($0) }
    }
  }

  private static func encoded(_ hashes: [UInt64]) -> [UInt8] {
    let buffer = ByteBuffer(capacity: hashes.count * 8)
    for hash in hashes { buffer.append(hash) }
    return Array(buffer.bytes)
  }

  // MARK: The writer

  /// Counts the uses that readers have written. With `makesFile`, makes the file if it is missing, and allocates its
  /// blocks if the budget has room. An opening passes false, because an opening allocates nothing for uses.
  func takeIn(makesFile: Bool = true) {
    upkeepLock.withLock { upkeep in
      guard !gate.isClosed, (try? gate.requireWritable()) != nil, let (file, byteCount) = open(makesFile: makesFile),
        let bytes = UseHints.read(file, byteCount), bytes.contains(where: { $0 != 0 }),
        (try? file.write([UInt8](repeating: 0, count: byteCount), at: 0)) != nil
      else { return }
      // The stamps of uses get the time of now, not that of the previous round.
      lifetimes.noteUseTime()
      upkeep.state.quiet.noteTakenUses()
      for hash in UseHints.hashes(bytes) where hash != 0 { catalog.keys.touch(KeyHash(bits: hash)) }
    }
  }

  private func open(makesFile: Bool) -> (file: any File, byteCount: Int)? {
    if let found = state.withLock({ state in state.file.map { ($0, state.byteCount) } }) { return found }
    guard let file = openFile(makesFile: makesFile) else { return nil }
    if makesFile { grow(file) }
    guard let byteCount = usableByteCount(file) else { return nil }
    if makesFile { state.withLock { state in (state.file, state.byteCount) = (file, byteCount) } }
    return (file, byteCount)
  }

  private func openFile(makesFile: Bool) -> (any File)? {
    if let file = try? folders.root.openFile(CacheFormat.usesFile, .readWrite) { return file }
    // The file is not made in a folder that has another store by now.
    guard makesFile, (try? gate.requireNamedNow()) != nil else { return nil }
    return try? folders.root.openFile(CacheFormat.usesFile, .create)
  }

  /// Allocates the file up to the size for the budget, if the budget has room. The file is new, was made for a smaller
  /// budget, or lost blocks in a crash.
  private func grow(_ file: any File) {
    let byteCount = UseHints.byteCount(budget: commitLock.withLock { held in held.state.ledger.budget })
    guard let status = try? file.status(), min(status.byteCount, status.allocatedByteCount) < byteCount else { return }
    let before = UseHints.charge(of: file, in: folders.root)
    guard commitLock.withLock({ held in held.state.ledger.admits(byteCount - before) }) else { return }
    try? file.allocate(byteCount: byteCount)
    let growth = UseHints.charge(of: file, in: folders.root) - before
    commitLock.withLock { held in held.state.ledger.add(growth, to: .rootFiles) }
  }
}
