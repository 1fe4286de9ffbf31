/// Writes frames of changes and applies them to the index, under the commit lock.
final class CommitLog: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let signal: UpkeepSignal
  private let lifetimes: Lifetimes

  init(_ context: StoreContext, gate: WriteGate, signal: UpkeepSignal, lifetimes: Lifetimes) {
    self.context = context
    self.gate = gate
    self.signal = signal
    self.lifetimes = lifetimes
  }

  /// Throws if the index would not accept the changes: a frame that replay cannot follow ends the log for every later
  /// opening.
  func requireAccepted(_ changes: [Change], _ held: borrowing CommitLock.Held) throws(StoreError) {
    if changes.fit(held.state.index) { return }
    throw .system(SystemError(code: SystemError.invalid, operation: "change", path: "index"))
  }

  /// Applies the changes of a written frame to the index. If memory runs out, the index no longer follows the log: all
  /// writing ends, and the next opening replays the log.
  func apply(
    _ changes: [Change], sequence: UInt64, _ held: borrowing CommitLock.Held
  ) throws(StoreError) {
    lifetimes.noteUseTime()
    if !held.state.index.apply(changes, sequence: sequence, isChecked: true) {
      throw gate.fail(SystemError(code: SystemError.noMemory, operation: "enter", path: "index"))
    }
    // The facts of a long log would take as much memory as the index.
    if held.state.hasLongJournal, !signal.wantsCheckpoint { signal.requestCheckpoint() }
  }

  /// Writes the frame that was begun, and returns its sequence number.
  func append(
    _ changeCount: Int, awaitsSync: Bool = false, _ held: borrowing CommitLock.Held
  ) throws(StoreError) -> UInt64 {
    if wal == nil { throw .readOnly }
    do throws(SystemError) {
      return try held.state.log.append(held.state.frame, changeCount: changeCount, awaitsSync: awaitsSync)
    } catch {
      throw gate.fail(error)
    }
  }

  /// Notes a synced record that no frame carries because the log is too short. If the log should grow, requests the
  /// checkpoint that enlarges it.
  func noteUncarried(_ byteCount: Int, _ held: borrowing CommitLock.Held) {
    let largest = held.state.largestLogFile
    guard byteCount <= LogDemand.largestRecord(capacity: largest - WALFileHeader.frameStart) else { return }
    let suitable = min(LogSizer.powerOfTwo(atLeast: LogDemand.fileByteCount(forRecord: byteCount)), largest)
    guard
      held.state.log.demand.noteUncarried(byteCount, suitable: suitable, active: held.state.log.activeByteCount),
      held.state.ledger.admitsLog(held.state.log.demand.fileByteCount)
    else { return }
    signal.requestCheckpoint()
    signal.wake()
  }

  /// Writes a frame of changes to segments and applies it. Returns false if the log has no room for it. `reason`: why
  /// the entries are gone that the changes remove.
  func record(
    _ changes: [Change], because reason: CacheEvent.RemovalReason = .removed, _ held: borrowing CommitLock.Held
  ) throws(StoreError) -> Bool {
    guard try rotateIfFull(Frame.headerByteCount + changes.count * 128, held) else { return false }
    try requireAccepted(changes, held)
    Frame.begin(held.state.frame)
    for change in changes { change.encode(into: held.state.frame) }
    let sequence = try append(changes.count, held)
    try apply(changes, sequence: sequence, held)
    context.events.send(changes, because: reason, held)
    return true
  }

  /// Makes room for a frame in the active log file or in the next one. One file stays free for the next recovery, by
  /// rule 8. If only that file is left, the result is false: a checkpoint must free other files first.
  func rotateIfFull(
    _ byteCount: Int, _ held: borrowing CommitLock.Held
  ) throws(StoreError) -> Bool {
    if wal == nil { throw .readOnly }
    if held.state.log.room >= byteCount { return true }
    guard held.state.log.freeCount >= 2 else { return false }
    do throws(SystemError) {
      guard try held.state.log.rotate(cut: held.state.log.position) else { return false }
    } catch {
      throw gate.fail(error)
    }
    signal.requestCheckpoint()
    signal.wake()
    return held.state.log.room >= byteCount
  }

  /// Notes that room was reserved and will hold no record.
  func noteAbandoned() { signal.noteActivity() }

  /// Runs `body` under the commit lock with the record heads that were read ahead.
  @inline(__always)
  func locked<R>(
    with heads: HeadsAhead?, _ body: (borrowing CommitLock.Held) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try commitLock.withLock { held throws(StoreError) in
      if heads == nil { return try body(held) }
      held.state.index.heads = heads
      defer { held.state.index.heads = nil }
      return try body(held)
    }
  }

  /// The most entries that one frame removes when they need not be removed together.
  var largestRemoval: Int { max(1, min(10_000, (wal?.capacity ?? 0) / 256)) }

  /// Seals the stream's full segment and opens a spare in its place. Returns false if the log has no room.
  func open(
    _ spare: Segment, for stream: StreamKind, firstSequence: UInt64, _ held: borrowing CommitLock.Held
  ) throws(StoreError) -> Bool {
    var changes: [Change] = []
    let full = held.state.writable[stream]
    if let full {
      changes.append(.segmentSealed(slot: full.slot, byteCount: held.state[full].byteCount))
    }
    changes.append(.segmentOpened(slot: spare.slot, stream: stream, firstSequence: firstSequence))
    guard try record(changes, held) else { return false }
    held.state.writable.open(spare, for: stream)
    let next = held.state.index.nextSegment
    if let full { held.state.queues.segments.close(full.id, of: stream, before: next) }
    held.state.queues.segments.open(spare.id, for: stream, before: next)
    signal.wake()
    return true
  }
}
