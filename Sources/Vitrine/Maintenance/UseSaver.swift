/// Writes the uses of entries to the file of uses, so that hits cause no checkpoint.
///
/// Upkeep calls `save` about once a minute while there are hits, and a close calls it for the last time. In an hour,
/// upkeep writes at most 1 MiB and one byte for each entry. If the new uses would take more than half of the remaining
/// allowance, they wait for up to ten minutes. Then the latest of them are written, and the close writes the others. A
/// store of the first format writes its uses into checkpoints instead.
final class UseSaver: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let meters: Meters

  init(_ context: StoreContext, gate: WriteGate, meters: Meters) {
    self.context = context
    self.gate = gate
    self.meters = meters
  }

  /// The state that the upkeep lock guards.
  struct State {
    /// Nil until the store has uses to write, and in a store of the first format.
    fileprivate(set) var ring: UseRing?
    /// The recency clock up to which uses are in the file or in pieces.
    var saved: UInt64 = 0
    /// The value of `saved` when uses were first left out; nil if none were. The close writes all uses after it.
    private(set) var leftOut: UInt64?
    /// Bytes that may be written.
    private(set) var allowance = leastHourly
    /// When the allowance was last raised, and when uses were last written, in nanoseconds of the monotonic clock.
    private var raised: UInt64 = 0
    private(set) var written: UInt64 = 0

    init(ring: UseRing?, saved: UInt64, now: UInt64) {
      (self.ring, self.saved) = (ring, saved)
      (raised, written) = (now, now)
    }

    /// Whether uses were left out that a close has to write.
    var hasLeftOut: Bool { leftOut != nil }

    /// Notes that all uses up to a reading of the clock were written, but for those left out.
    fileprivate mutating func noteWritten(upTo clock: UInt64, at now: UInt64) {
      saved = clock
      written = now
    }

    /// Notes that the earliest uses since the last call are not written now.
    fileprivate mutating func leaveOut() { leftOut = leftOut ?? saved }

    fileprivate mutating func spend(_ byteCount: Int) { allowance -= byteCount }

    /// Notes that the file is gone, and with it the uses that no piece has.
    fileprivate mutating func loseFile() {
      ring = nil
      saved = 0
    }

    /// Adds to the allowance for the time that has passed.
    fileprivate mutating func raiseAllowance(entries: Int, at now: UInt64) {
      let hourly = UseSaver.leastHourly + entries
      let share = Double(now &- raised) / 3_600_000_000_000
      allowance = Int(min(Double(hourly), Double(allowance) + share * Double(hourly)))
      raised = now
    }
  }

  fileprivate static let leastHourly = 1 << 20
  /// Nanoseconds for which uses may wait for their allowance.
  private static let longestWait: UInt64 = 600_000_000_000

  /// Writes the uses since the last call, if the allowance permits it. The last call of an opening writes all of them.
  /// A failure to write is not an error: the next call tries again.
  func save(isLast: Bool = false, _ upkeep: borrowing UpkeepLock.Held) {
    guard policyRules.countsHits, upkeep.state.pieces != nil else { return }
    let now = environment.clock.monotonicNanoseconds()
    let hits = catalog.keys.lookups.hits
    // Later uses get stamps above this reading.
    catalog.keys.clock.endBlocks()
    let clock = catalog.keys.clock.count
    let (entryCount, sequence) = commitLock.withLock { held in
      (held.state.index.keyCount, held.state.log.nextSequence)
    }
    upkeep.state.uses.raiseAllowance(entries: entryCount, at: now)
    let state = upkeep.state.uses
    var uses: [KeyUse] = []
    let earlier = isLast ? state.leftOut ?? state.saved : state.saved
    for shard in 0..<KeyTable.shardCount { uses += catalog.keys.uses(shard: shard, after: earlier, at: clock) }
    uses.sort { $0.stamp < $1.stamp }
    // A call writes two blocks that may not be full, and at most two blocks for each block of new uses.
    let most = max(0, state.allowance / UseBlock.byteCount - 2) / 2 * UseBlock.mostUses
    if !isLast, uses.count > most {
      if now &- state.written < UseSaver.longestWait || most == 0 { return upkeep.state.quiet.putOffUses(at: now) }
      uses.removeFirst(uses.count - most)
      upkeep.state.uses.leaveOut()
    }
    let moment = UseRing.Moment(clock: clock, sequence: sequence, time: environment.clock.wallMilliseconds())
    if !uses.isEmpty, !write(uses, at: moment, entryCount: entryCount, upkeep) {
      return upkeep.state.quiet.putOffUses(at: now)
    }
    upkeep.state.uses.noteWritten(upTo: clock, at: now)
    upkeep.state.quiet.noteUses(at: now, hits: hits)
  }

  /// Returns false if there is no room for the file, or if the disk refuses a write.
  private func write(
    _ uses: [KeyUse], at moment: UseRing.Moment, entryCount: Int, _ upkeep: borrowing UpkeepLock.Held
  ) -> Bool {
    if upkeep.state.uses.ring == nil { upkeep.state.uses.ring = makeRing() }
    guard upkeep.state.uses.ring != nil else { return false }
    let saved = savedShards(upkeep)
    let most = UseRing.mostBlocks(keys: entryCount)
    let keys = catalog.keys
    let (lock, folder) = (commitLock, folders.checkpoints)
    let written = try? upkeep.state.uses.ring?.append(
      uses, at: moment,
      last: { hash in
        guard let use = keys.use(of: hash, at: moment.clock), use.stamp > saved[hash.shard] else { return nil }
        return use
      },
      grow: { wanted in
        guard let file = try? folder.openFile(CacheFormat.usesListFile, .readWrite) else { return 0 }
        return UseSaver.allocate(file, blockCount: min(wanted, most), in: folder, lock)
      })
    guard let written else { return false }
    upkeep.state.uses.spend(written)
    meters.count(bytesWritten: written)
    return true
  }

  /// Removes a file that is far longer than the uses of all entries. The next call writes the uses that it had.
  func removeLongFile(_ upkeep: borrowing UpkeepLock.Held) {
    let keyCount = commitLock.withLock { held in held.state.index.keyCount }
    guard let ring = upkeep.state.uses.ring, ring.blockCount > 2 * UseRing.mostBlocks(keys: keyCount),
      let file = try? folders.checkpoints.openFile(CacheFormat.usesListFile, .readOnly),
      case let charged = FoundUses.charge(of: file),
      (try? folders.checkpoints.remove(CacheFormat.usesListFile)) != nil
    else { return }
    upkeep.state.uses.loseFile()
    commitLock.withLock { held in held.state.ledger.add(-charged, to: .checkpoints) }
  }

  /// By shard, the recency clock of the part that has its stamps.
  private func savedShards(_ upkeep: borrowing UpkeepLock.Held) -> [UInt64] {
    var saved = [UInt64](repeating: 0, count: KeyTable.shardCount)
    for piece in upkeep.state.pieces?.list ?? [] where piece.kind == .part {
      for shard in saved.indices where piece.shards & 1 << UInt64(shard) != 0 { saved[shard] = piece.clock }
    }
    return saved
  }

  private func makeRing() -> UseRing? {
    // The file is not made in a folder that has another store by now.
    guard (try? gate.requireNamedNow()) != nil,
      let file = try? Creation.fresh(CacheFormat.usesListFile, folders.checkpoints)
    else { return nil }
    let blockCount = UseSaver.allocate(file, blockCount: UseRing.leastBlocks, in: folders.checkpoints, commitLock)
    if blockCount < UseRing.leastBlocks {
      let charged = FoundUses.charge(of: file)
      commitLock.withLock { held in held.state.ledger.add(-charged, to: .checkpoints) }
      try? folders.checkpoints.remove(CacheFormat.usesListFile)
      return nil
    }
    return UseRing(file, store: identity.store, blockCount: blockCount, found: nil)
  }

  /// Enlarges the file if the budget has room. Returns the number of its blocks.
  private static func allocate(
    _ file: any File, blockCount: Int, in folder: any Directory, _ commitLock: CommitLock
  ) -> Int {
    let before = FoundUses.usableByteCount(file, in: folder)
    let byteCount = blockCount * UseBlock.byteCount
    guard byteCount > before, commitLock.withLock({ held in held.state.ledger.admits(byteCount - before) }) else {
      return before / UseBlock.byteCount
    }
    let charged = FoundUses.charge(of: file)
    if (try? file.allocate(byteCount: byteCount)) == nil { try? file.truncate(to: before) }
    let growth = FoundUses.charge(of: file) - charged
    commitLock.withLock { held in held.state.ledger.add(growth, to: .checkpoints) }
    return FoundUses.usableByteCount(file, in: folder) / UseBlock.byteCount
  }
}
