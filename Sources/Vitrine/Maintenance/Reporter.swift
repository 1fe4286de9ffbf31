/// Reports the contents and the counters of a store.
final class Reporter: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let meters: Meters
  private let expirer: Expirer

  init(_ context: StoreContext, gate: WriteGate, meters: Meters, expirer: Expirer) {
    self.context = context
    self.gate = gate
    self.meters = meters
    self.expirer = expirer
  }

  /// Returns the store's contents and counters. O(segments), plus the cost of ``CacheStore/count``.
  func statistics() -> StoreStatistics {
    let counters = meters.counters()
    let entryCount = expirer.countEntries()
    let lookups = gate.isReadOnly ? catalog.keys.lookups : (hits: 0, misses: 0)
    let now = environment.clock.wallMilliseconds()
    let available = try? folders.root.availableByteCount()
    return commitLock.withLock { held in
      var segments: [StoreStatistics.Segment] = []
      var live = 0
      var dead = 0
      for case let segment? in held.state.index.segments.all where held.state[segment].state != .retired {
        let liveBytes = held.state[segment].live.units * Unit.byteCount
        let used = held.state[segment].fill.tail - SegmentHeader.byteCount
        live += liveBytes
        dead += max(0, used - liveBytes)
        segments.append(
          .init(
            file: segment.fileName, stream: held.state[segment].stream.name,
            byteCount: held.state[segment].allocatedByteCount,
            liveByteCount: liveBytes, deadByteCount: max(0, used - liveBytes),
            freeByteCount: max(0, held.state[segment].byteCount - held.state[segment].fill.tail),
            livePartCount: held.state[segment].live.count,
            isOpen: held.state[segment].state == .open))
      }
      return StoreStatistics(
        formatVersion: identity.version, entryCount: entryCount, blobCount: held.state.index.blobCount,
        bytesOnDisk: held.state.ledger.total, liveByteCount: live, deadByteCount: dead,
        pinnedByteCount: counters.pinned, logicalByteCount: held.state.index.logicalByteCount,
        byteBudget: held.state.current.byteBudget,
        entryBudget: held.state.current.entryBudget, styles: held.state.styleUses, pins: held.state.pinUse,
        minimumFreeBytes: held.state.current.minimumFree,
        availableBytes: available, policy: held.state.current.policy,
        hitCount: counters.hits &+ lookups.hits,
        missCount: counters.misses &+ lookups.misses, lastMinute: counters.history.lastMinute(at: now),
        lastHour: counters.history.lastHour(at: now), missCurve: counters.curve.curve,
        writeAmplification: counters.bytesPut == 0 ? 0 : Double(counters.bytesWritten) / Double(counters.bytesPut),
        damagedCount: meters.damagedCount,
        lostCount: meters.lostCount,
        evictedCount: counters.eviction.entryCount, evictedByteCount: counters.eviction.byteCount,
        evictedByAge: counters.eviction.ages,
        compaction: .init(
          stepCount: counters.compaction.stepCount, recordsMoved: counters.compaction.recordCount,
          bytesMoved: counters.compaction.byteCount, segmentsFreed: counters.compaction.segmentCount),
        lastCheckpointMilliseconds: held.state.checkpoint.madeMilliseconds, lastOpen: lastOpen,
        lastOpenForWriting: gate.isReadOnly ? counters.lastOpen : lastOpen, segments: segments)
    }
  }

  /// Counts the entries and live records of each segment, in the index. O(entries).
  func segmentContents() -> [String: SegmentContents] {
    var counts: [SegmentContents] = []
    func count(_ slot: Int, _ field: WritableKeyPath<SegmentContents, Int>) {
      while counts.count <= slot { counts.append(SegmentContents()) }
      counts[slot][keyPath: field] += 1
    }
    for shard in 0..<KeyTable.shardCount {
      catalog.keys.forEach(shard: shard) { entry in
        let slot = entry.location.slot
        count(slot, \.entryCount)
        // A record that carries its payload is counted below, with the payload.
        if entry.flags.contains(.reference) { count(slot, \.recordCount) }
      }
    }
    for shard in 0..<ContentTable.shardCount {
      catalog.contents.forEach(shard: shard) { count(ContentTable.location(ofWord: $0).slot, \.recordCount) }
    }
    return commitLock.withLock { held in
      var contents: [String: SegmentContents] = [:]
      for case let segment? in held.state.index.segments.all where held.state[segment].state != .retired {
        contents[segment.fileName] = segment.slot < counts.count ? counts[segment.slot] : SegmentContents()
      }
      return contents
    }
  }
}
