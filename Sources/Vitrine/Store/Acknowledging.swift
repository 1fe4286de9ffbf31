// What has to be on the disk before a call returns.
extension StoreCore {
  /// Waits until the frame is durable. 0 stands for a change that a checkpoint has made durable.
  func acknowledgeSynced(_ sequence: UInt64) throws(StoreError) {
    guard let wal else { throw .readOnly }
    if sequence > 0 {
      do throws(SystemError) { try wal.makeDurable(below: sequence + 1) } catch { throw fail(error) }
    }
    try requireNamed()
  }

  /// Rule 3: a durable reference needs a durable payload.
  func makeDurable(payloadAt location: Location) throws(StoreError) {
    if catalog.segments.isVouched(location) { return }
    guard let segment = catalog.segments.segment(location.slot) else { return }
    try sync(segment)
  }

  func sync(_ segment: Segment) throws(StoreError) {
    try withFile(segment) { file throws(SystemError) in try file.sync() }
  }

  /// Brings what was written to segments to the disk ahead of the sync that a checkpoint needs: piece by piece, and at rest
  /// for as long as a piece took. Syncs of the log, for which callers wait, come in between; behind a sync of a whole
  /// segment they would wait for all of it. Takes no lock. What is too much for a quarter of a second is left to the sync,
  /// as is the rest when the log needs its checkpoint now, or the store is being closed.
  func flushGently() throws(StoreError) {
    // Nothing is held from one piece to the next: a segment may go meanwhile, and its bytes be waited for.
    let dirty = locked {
      catalog.segments.segments.compactMap { segment -> (slot: Int, id: UInt64, end: Int)? in
        guard let segment, segment.isDirty, segment.state != .retired else { return nil }
        return (segment.slot, segment.id, segment.filledUpTo)
      }
    }
    let deadline = environment.clock.monotonicNanoseconds() + 250_000_000
    for (slot, id, end) in dirty {
      for start in stride(from: 0, to: end, by: StoreCore.writtenAtOnce) {
        let began = environment.clock.monotonicNanoseconds()
        let isUrgent = locked { (wal?.freeCount ?? 0) < 2 }
        if began > deadline || isUrgent || (try? requireWritable()) == nil { return }
        try writeBack(start..<min(start + StoreCore.writtenAtOnce, end), ofSegment: id, in: slot)
        let microseconds = Int((environment.clock.monotonicNanoseconds() - began) / 1000)
        // Less is a look at pages that are clean.
        if microseconds > 50 { environment.clock.sleep(milliseconds: max(1, microseconds / 1000)) }
      }
    }
  }

  private func writeBack(_ range: Range<Int>, ofSegment id: UInt64, in slot: Int) throws(StoreError) {
    let segment = locked {
      catalog.segments.segment(slot).flatMap { $0.id == id && $0.state != .retired ? $0 : nil }
    }
    guard let segment else { return }
    try withFile(segment) { file throws(SystemError) in try file.writeBack(range) }
  }

  /// About what a disk writes in a quarter of a millisecond.
  private static let writtenAtOnce = 256 << 10

  private func withFile(
    _ segment: Segment, _ body: (any File) throws(SystemError) -> Void
  ) throws(StoreError) {
    segment.window?.retreat()
    do throws(SystemError) {
      if let file = try segment.openFile() { try body(file) }
    } catch {
      // Without a name it was retired meanwhile; without a descriptor nothing happened, and a later call may succeed.
      if error.code == SystemError.missing { return }
      throw SystemCode.isShortage(error.code) ? .system(error) : fail(error)
    }
  }
}
