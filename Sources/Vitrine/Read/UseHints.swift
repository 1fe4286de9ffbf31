/// Uses of entries by read-only openings. They count too, so the pictures of a process that only reads stay in the
/// cache.
///
/// A read-only opening leaves the keys that it has used in the file `USES`, at each refresh and when it closes. The
/// writer takes them in at its opening and in each round of upkeep. The file has a fixed size and is inside the budget.
/// It holds hashes of keys and nothing else, so any bytes in it at most count a use of the wrong entry. Nothing is
/// synced: a crash, or two readers at once, may lose uses.
final class UseHints: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let state = Guarded(State())

  private struct State {
    var file: (any File)?
    var byteCount = 0
    /// When a reader last left its uses, in nanoseconds.
    var left: UInt64 = 0
  }

  init(_ context: StoreContext, gate: WriteGate) {
    self.context = context
    self.gate = gate
  }

  private static let byteCounts = 4096...16384

  /// The size of the file: 512 keys in the smallest store, 2,048 from a budget of 16 MiB on.
  static func byteCount(budget: Int) -> Int {
    min(max(roundUp(budget / 1024, to: 4096), byteCounts.lowerBound), byteCounts.upperBound)
  }

  /// The bytes that a file counts with in the budget. Without its blocks it is not written to, so it takes none.
  static func charge(of file: any File, in root: any Directory) -> Int {
    guard let status = try? file.status() else { return byteCounts.upperBound }
    return root.promisesAllocation
      ? min(status.allocatedByteCount, byteCounts.upperBound)
      : status.chargedByteCount(atMost: byteCounts.upperBound)
  }

  /// The bytes of a file that may be written without taking room; nil if they are too few. A file that another program
  /// has lengthened serves with its first bytes.
  private func usableByteCount(_ file: any File) -> Int? {
    guard let status = try? file.status() else { return nil }
    let byteCount =
      folders.root.promisesAllocation ? min(status.byteCount, status.allocatedByteCount) : status.byteCount
    return byteCount < UseHints.byteCounts.lowerBound
      ? nil : min(byteCount / 4096 * 4096, UseHints.byteCounts.upperBound)
  }

  // MARK: Reading openings

  /// Begins to remember uses, if the writer has made the file and this process may write to it.
  func begin() {
    guard let file = try? folders.root.openFile(CacheFormat.usesFile, .readWrite),
      let byteCount = usableByteCount(file)
    else { return }
    catalog.keys.rememberUses(byteCount / 8)
    state.withLock { state in (state.file, state.byteCount) = (file, byteCount) }
  }

  /// Leaves the keys used since the last time in the file, at most once a second unless `isLast`. After a crash, a store
  /// that no process has open for writing stays as it is.
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
      guard let found = UseHints.read(target.file, target.byteCount) else { return }
      try? target.file.write(UseHints.encoded(zip(used, found).map { $0 == 0 ? $1 : $0 }), at: 0)
    }
  }

  /// Nanoseconds between two writes of a reader that goes on.
  private static let pause: UInt64 = 1_000_000_000

  private var hasRunningWriter: Bool {
    guard let file = try? folders.root.openFile(CacheFormat.lockFile, .readOnly) else { return false }
    return isRunning(LockFile.read(file).processID)
  }

  private static func read(_ file: any File, _ byteCount: Int) -> [UInt64]? {
    guard let bytes = try? file.read(0..<byteCount), bytes.count == byteCount else { return nil }
    return stride(from: 0, to: byteCount, by: 8).map { offset in
      bytes[offset..<offset + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
  }

  private static func encoded(_ hashes: [UInt64]) -> [UInt8] {
    let buffer = ByteBuffer(capacity: hashes.count * 8)
    for hash in hashes { buffer.append(hash) }
    return Array(buffer.bytes)
  }

  // MARK: The writer

  /// Counts the uses that readers have left. With `makesFile`, makes the file if it is missing and the budget has room.
  /// An opening does not, so that it takes no room.
  func takeIn(makesFile: Bool = true) {
    upkeepLock.withLock { _ in
      guard !gate.isClosed, (try? gate.requireWritable()) != nil, let (file, byteCount) = open(makesFile: makesFile),
        let hashes = UseHints.read(file, byteCount), hashes.contains(where: { $0 != 0 }),
        (try? file.write([UInt8](repeating: 0, count: byteCount), at: 0)) != nil
      else { return }
      for hash in hashes where hash != 0 { catalog.keys.touch(KeyHash(bits: hash)) }
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
    // In an emptied folder, the file would keep another store from being made.
    guard makesFile, (try? gate.requireNamedNow()) != nil else { return nil }
    return try? folders.root.openFile(CacheFormat.usesFile, .create)
  }

  /// Allocates a new file, or one whose creation a crash has undone in part, if the budget has room.
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
