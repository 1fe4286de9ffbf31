/// Makes segments and frames durable before a call returns.
final class Syncer: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let syncLock = SyncLock(())
  /// The frames that async calls wait for.
  private let awaited = Guarded(AwaitedFrames())

  init(_ context: StoreContext, gate: WriteGate) {
    self.context = context
    self.gate = gate
  }

  /// Waits until the frame is durable; inside ``upToFrame(_:)``, only notes the frame. A sequence of 0 is a change that
  /// a checkpoint has made durable.
  func acknowledgeSynced(_ sequence: UInt64) throws(StoreError) {
    guard let wal else { throw .readOnly }
    let context = ThreadContext.current
    if context.leavesFrames {
      context.frameLeft = (max(context.frameLeft?.sequence ?? 0, sequence), self)
      return
    }
    if sequence > 0 {
      do throws(SystemError) { try wal.makeDurable(below: sequence + 1) } catch { throw gate.fail(error) }
    }
    try gate.requireNamed()
  }

  /// Makes the payload at a location durable before a durable reference names it (rule 3).
  func makeDurable(payloadAt location: Location) throws(StoreError) {
    if catalog.segments.isVouched(location) { return }
    guard let segment = catalog.segments.segment(location.slot) else { return }
    try sync(segment)
  }

  /// Makes the bytes of a segment durable that were written before the call. Concurrent callers share a sync. The
  /// kernel reports a failed sync to one caller only. The other callers wait until that caller has recorded the
  /// failure, and then throw it.
  func sync(_ segment: Segment) throws(StoreError) {
    segment.storage?.window?.retreat()
    try segment.syncs.sync { () throws(StoreError) in
      try withFile(segment) { file throws(SystemError) in try file.sync() }
    }
  }

  /// Runs `body`, which syncs a segment or writes it back. Errors other than shortages end writing. For each
  /// segment, one thread runs `body` at a time.
  private func withFile(
    _ segment: Segment, _ body: (any File) throws(SystemError) -> Void
  ) throws(StoreError) {
    try gate.requireNoFailedSync()
    do throws(SystemError) {
      if let file = try segment.openFile() { try body(file) }
    } catch {
      // A missing file means that the segment was retired meanwhile. Without a descriptor no sync was tried, so a later
      // call may succeed.
      if error.code == SystemError.missing, segment.isRetired { return }
      throw SystemCode.isShortage(error.code) ? .system(error) : gate.fail(error)
    }
  }

  /// Runs a change up to its frame, without the wait of ``acknowledgeSynced(_:)``. Returns the frame that the caller
  /// must wait for, if any. `body` must not call code of the user, because a synced change in that code would return
  /// before it is durable.
  static func upToFrame<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> (result: R, left: LeftFrame?) {
    let context = ThreadContext.current
    context.leavesFrames = true
    defer {
      context.leavesFrames = false
      context.frameLeft = nil
    }
    let result = try body()
    guard let left = context.frameLeft, let syncer = left.syncer as? Syncer else { return (result, nil) }
    return (result, LeftFrame(sequence: left.sequence, syncer: syncer))
  }

  /// A frame that the caller of a change must wait for, with the syncer of the log that has the frame. If the store was
  /// suspended and resumed meanwhile, its present log is another one.
  struct LeftFrame {
    let sequence: UInt64
    let syncer: Syncer
  }

  /// Like ``acknowledgeSynced(_:)``, but does not wait. A thread of the pool calls `end`; if none can be
  /// started, this call does.
  func acknowledgeSynced(_ sequence: UInt64, then end: @escaping @Sendable (Result<Void, StoreError>) -> Void) {
    if awaited.withLock({ $0.add(AwaitedFrames.Wait(sequence: sequence, end: end)) }) { leadAwaited() }
  }

  /// Queues a job of the pool that makes all awaited frames durable with one sync. The job is queued behind the changes
  /// that wait in the pool, so that their frames share the sync.
  private func leadAwaited() {
    BlockingPool.shared.submit {
      let waits = self.awaited.withLock { $0.take() }
      let outcome: Result<Void, StoreError>
      do throws(StoreError) {
        outcome = .success(try self.acknowledgeSynced(waits.reduce(0) { max($0, $1.sequence) }))
      } catch {
        outcome = .failure(error)
      }
      for wait in waits { wait.end(outcome) }
      if self.awaited.withLock({ $0.endLeading() }) { self.leadAwaited() }
    }
  }

  /// Syncs each segment that has unsynced records which no frame carries. Then raises the segment's mark to the offset
  /// up to which it is filled, apart from the room of bodies and drawings. A segment with unchecked records of an
  /// earlier opening keeps its mark.
  func syncSegments() throws(StoreError) {
    try syncLock.withLock { flush throws(StoreError) in try syncDirtySegments(flush) }
  }

  /// A segment that a flush syncs. The flush does not keep the segment itself, because a retired segment frees its disk
  /// space with its last reference.
  private struct Dirty {
    let slot: Int
    let id: UInt64
    let filled: Int

    func segment(_ held: borrowing CommitLock.Held) -> Segment? { held.state.segment(slot, id: id) }
  }

  private func syncDirtySegments(_ flush: borrowing SyncLock.Held) throws(StoreError) {
    let dirty = commitLock.withLock { held in
      held.state.index.segments.all.compactMap { segment -> Dirty? in
        guard let segment, held.state[segment].sync.owesSync, held.state[segment].state != .retired else { return nil }
        held.state[segment].sync.beginFlush()
        return Dirty(slot: segment.slot, id: segment.id, filled: held.state[segment].fill.takeMark())
      }
    }
    defer {
      commitLock.withLock { held in
        for segment in dirty.compactMap({ $0.segment(held) }) { held.state[segment].sync.endFlush() }
      }
    }
    for part in dirty {
      do throws(StoreError) {
        guard let segment = commitLock.withLock({ held in part.segment(held) }) else { continue }
        try sync(segment)
      } catch {
        commitLock.withLock { held in
          for segment in dirty.compactMap({ $0.segment(held) }) { held.state[segment].sync.owe() }
        }
        throw error
      }
      commitLock.withLock { held in
        guard let segment = part.segment(held), !held.state.leftovers.contains(segment) else { return }
        catalog.segments.raiseMark(of: segment, to: part.filled)
      }
    }
  }

  /// Makes all changes acknowledged before the call durable: payloads first, then the frames that name them.
  func flush() throws(StoreError) {
    try gate.requireWritable()
    try makeAllDurable()
    try gate.requireNamed()
  }

  func makeAllDurable() throws(StoreError) {
    guard let wal else { throw .readOnly }
    let appended = wal.appendedSequence
    try syncSegments()
    do throws(SystemError) { try wal.makeDurable(below: appended) } catch { throw gate.fail(error) }
  }

  /// Starts writeback early so that a checkpoint's syncs are short.
  ///
  /// Writes chunk by chunk. After a chunk with dirty pages, pauses for about as long as the write took, at least 1 ms.
  /// Syncs of the log, for which callers wait, run in the pauses. A sync of a whole segment would delay them. Holds no
  /// lock between chunks. Stops after 250 ms, when the log needs its checkpoint, or when the store is being closed. A
  /// later sync of the segment writes the rest.
  func flushGently() throws(StoreError) {
    // Keeps no segment between chunks, because a retired segment frees its disk space with its last reference.
    let dirty = commitLock.withLock { held in
      held.state.index.segments.all.compactMap { segment -> (slot: Int, id: UInt64, end: Int)? in
        guard let segment, held.state[segment].sync.isDirty, held.state[segment].state != .retired else { return nil }
        return (segment.slot, segment.id, held.state[segment].fill.filledUpTo)
      }
    }
    let deadline = environment.clock.monotonicNanoseconds() + 250_000_000
    for (slot, id, end) in dirty {
      for start in stride(from: 0, to: end, by: Syncer.writtenAtOnce) {
        let began = environment.clock.monotonicNanoseconds()
        let isUrgent = commitLock.withLock { held in held.state.log.freeCount < 2 }
        if began > deadline || isUrgent || (try? gate.requireWritable()) == nil { return }
        try writeBack(start..<min(start + Syncer.writtenAtOnce, end), ofSegment: id, in: slot)
        let microseconds = Int((environment.clock.monotonicNanoseconds() - began) / 1000)
        // Below 50 µs the pages were clean.
        if microseconds > 50 { environment.clock.sleep(milliseconds: max(1, microseconds / 1000)) }
      }
    }
  }

  private func writeBack(_ range: Range<Int>, ofSegment id: UInt64, in slot: Int) throws(StoreError) {
    let segment = commitLock.withLock { held in
      held.state.segment(slot, id: id)
    }
    guard let segment else { return }
    segment.storage?.window?.retreat()
    try segment.syncs.exclude { () throws(StoreError) in
      try withFile(segment) { file throws(SystemError) in try file.writeBack(range) }
    }
  }

  /// Bytes of a chunk, about as much as a disk writes in 250 µs.
  private static let writtenAtOnce = 256 << 10
}
