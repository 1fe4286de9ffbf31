import Synchronization

/// Counts the work of a store, and publishes the counts in `COUNTERS`.
final class Meters: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let countersFile: (any File)?
  private let put = Atomic<Int>(0)
  private let written = Atomic<Int>(0)
  private let damaged = Atomic<Int>(0)
  private let lost = Atomic<Int>(0)
  /// The counters of earlier openings, read from `COUNTERS` at opening.
  private let earlier: Counters
  private let published: Guarded<Counters>

  init(_ context: StoreContext, counters: Counters, gate: WriteGate) {
    self.context = context
    self.gate = gate
    earlier = counters
    var counters = counters
    // The lookups of this opening count from here on.
    counters.history.note(
      .init(time: context.environment.clock.wallMilliseconds(), hits: counters.hits, misses: counters.misses))
    published = Guarded(counters)
    if context.wal != nil { context.catalog.misses.begin(byteBudget: context.opening.identity.byteBudget) }
    countersFile =
      context.wal == nil ? nil : try? context.folders.root.openFile(CacheFormat.countersFile, .readWrite)
  }

  func count(lost isLost: Bool) {
    if isLost {
      lost.wrappingAdd(1, ordering: .relaxed)
    } else {
      damaged.wrappingAdd(1, ordering: .relaxed)
    }
  }

  func count(bytesPut: Int) { put.wrappingAdd(bytesPut, ordering: .relaxed) }

  func count(bytesWritten: Int) { written.wrappingAdd(bytesWritten, ordering: .relaxed) }

  /// Bytes of payload that were put since the opening.
  var bytesPut: Int { put.load(ordering: .relaxed) }

  /// Entries that were found damaged since the opening, without those that a crash took.
  var damagedCount: Int { damaged.load(ordering: .relaxed) }

  /// Entries that a crash took and that were found missing since the opening.
  var lostCount: Int { lost.load(ordering: .relaxed) }

  /// The present content of `COUNTERS`.
  var publishedCounters: Counters { published.withLock { $0 } }

  /// The present counters. A read-only opening returns those that the writer published last.
  func counters() -> Counters {
    if gate.isReadOnly { return Counters.read(from: folders.root) ?? earlier }
    var counters = earlier
    counters.history = published.withLock { $0.history }
    let lookups = catalog.keys.lookups
    counters.hits &+= lookups.hits
    counters.misses &+= lookups.misses
    counters.bytesPut &+= bytesPut
    counters.bytesWritten &+= written.load(ordering: .relaxed) &+ (wal?.writtenByteCount ?? 0)
    counters.openKind = OpeningKind.order.firstIndex(of: lastOpen.kind).map { $0 + 1 } ?? 0
    counters.openMicroseconds = Int(lastOpen.milliseconds * 1000)
    counters.recovery.replayed = lastOpen.replayedCount
    counters.recovery.dropped = lastOpen.droppedCount
    counters.recovery.lostRemovals = lastOpen.mayHaveLostRemovals ? 1 : 0
    counters.pinned = catalog.segments.account.pinnedByteCount
    let content = commitLock.withLock { held in
      counters.eviction = held.state.record.eviction
      counters.compaction = held.state.record.compaction
      return MissCurveRecord.Content(held.state)
    }
    counters.curve = catalog.misses.curve(lookups, content) ?? counters.curve
    counters.history.note(
      .init(time: environment.clock.wallMilliseconds(), hits: counters.hits, misses: counters.misses))
    return counters
  }

  /// Writes `COUNTERS` if a counter has changed.
  func publishCounters() {
    let counters = counters()
    published.withLock { published in
      guard !counters.hasSameCounts(as: published), let countersFile,
        (try? countersFile.write(counters.encoded(), at: 0)) != nil
      else {
        return
      }
      published = counters
    }
  }
}
