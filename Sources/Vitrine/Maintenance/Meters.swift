import Synchronization

/// Counts the work of a store, and publishes the counts in `COUNTERS`.
final class Meters: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let countersFile: (any File)?
  let bytesPut = Atomic<Int>(0)
  let bytesWritten = Atomic<Int>(0)
  let damagedCount = Atomic<Int>(0)
  let lostCount = Atomic<Int>(0)
  /// The counters of earlier openings, read from `COUNTERS` at opening.
  private let earlier: Counters
  /// The present content of `COUNTERS`.
  let published: Guarded<Counters>

  init(_ context: StoreContext, counters: Counters, gate: WriteGate) {
    self.context = context
    self.gate = gate
    earlier = counters
    published = Guarded(counters)
    countersFile =
      context.wal == nil ? nil : try? context.folders.root.openFile(CacheFormat.countersFile, .readWrite)
  }

  func count(lost: Bool) {
    if lost {
      lostCount.wrappingAdd(1, ordering: .relaxed)
    } else {
      damagedCount.wrappingAdd(1, ordering: .relaxed)
    }
  }

  /// The present counters. A read-only opening returns those that the writer published last.
  func counters() -> Counters {
    if gate.isReadOnly { return Counters.read(from: folders.root) ?? earlier }
    var counters = earlier
    let lookups = catalog.keys.lookups
    counters.hits &+= lookups.hits
    counters.misses &+= lookups.misses
    counters.bytesPut &+= bytesPut.load(ordering: .relaxed)
    counters.bytesWritten &+= bytesWritten.load(ordering: .relaxed) &+ (wal?.writtenByteCount ?? 0)
    counters.openKind = OpeningKind.order.firstIndex(of: lastOpen.kind).map { $0 + 1 } ?? 0
    counters.openMicroseconds = Int(lastOpen.milliseconds * 1000)
    counters.replayed = lastOpen.replayedCount
    counters.dropped = lastOpen.droppedCount
    counters.lostRemovals = lastOpen.mayHaveLostRemovals ? 1 : 0
    counters.pinned = catalog.segments.account.pinnedByteCount
    commitLock.withLock { held in
      counters.eviction = held.state.record.eviction
      counters.compaction = held.state.record.compaction
    }
    return counters
  }

  /// Writes `COUNTERS` if a counter has changed.
  func publishCounters() {
    let counters = counters()
    published.withLock { published in
      guard counters != published, let countersFile, (try? countersFile.write(counters.encoded(), at: 0)) != nil else {
        return
      }
      published = counters
    }
  }
}
