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

  /// The bytes that a file counts with in the budget.
  static func charge(of file: any File) -> Int {
    (try? file.status().chargedByteCount(atMost: byteCounts.upperBound)) ?? byteCounts.upperBound
  }

  // MARK: Reading openings

  /// Begins to remember uses, if the writer has made the file and this process may write to it.
  func begin() {
    guard let file = try? folders.root.openFile(CacheFormat.usesFile, .readWrite), let status = try? file.status(),
      case let byteCount = status.byteCount / 4096 * 4096, UseHints.byteCounts.contains(byteCount)
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

  /// Counts the uses that readers have left. Makes the file if it is missing and the budget has room.
  func takeIn() {
    upkeepLock.withLock { _ in
      guard !gate.isClosed, (try? gate.requireWritable()) != nil, let (file, byteCount) = openOrMake(),
        let hashes = UseHints.read(file, byteCount), hashes.contains(where: { $0 != 0 }),
        (try? file.write([UInt8](repeating: 0, count: byteCount), at: 0)) != nil
      else { return }
      for hash in hashes where hash != 0 { catalog.keys.touch(KeyHash(bits: hash)) }
    }
  }

  private func openOrMake() -> (file: any File, byteCount: Int)? {
    if let found = state.withLock({ state in state.file.map { ($0, state.byteCount) } }) { return found }
    guard let file = open() else { return nil }
    grow(file)
    // Another program may have lengthened it. The first bytes serve as well.
    guard let length = try? file.status().byteCount, length >= UseHints.byteCounts.lowerBound else { return nil }
    let byteCount = min(length / 4096 * 4096, UseHints.byteCounts.upperBound)
    state.withLock { state in (state.file, state.byteCount) = (file, byteCount) }
    return (file, byteCount)
  }

  private func open() -> (any File)? {
    if let file = try? folders.root.openFile(CacheFormat.usesFile, .readWrite) { return file }
    return try? folders.root.openFile(CacheFormat.usesFile, .create)
  }

  /// Allocates a new file, or one whose creation a crash has undone in part, if the budget has room.
  private func grow(_ file: any File) {
    let byteCount = UseHints.byteCount(budget: commitLock.withLock { held in held.state.ledger.budget })
    guard let status = try? file.status(), min(status.byteCount, status.allocatedByteCount) < byteCount else { return }
    let before = UseHints.charge(of: file)
    guard commitLock.withLock({ held in held.state.ledger.admits(byteCount - before) }) else { return }
    try? file.allocate(byteCount: byteCount)
    let growth = UseHints.charge(of: file) - before
    commitLock.withLock { held in held.state.ledger.add(growth, to: .rootFiles) }
  }
}
