// What spares the syncs of checkpoints their work.
extension StoreCore {
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
}
