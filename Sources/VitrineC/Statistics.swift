import CVitrine
import CacheCtlKit
import Vitrine

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension vitrine_stat {
  init(_ statistics: StoreStatistics) {
    self.init()
    setSizes(statistics)
    setCounters(statistics)
    let open = statistics.lastOpen
    open_milliseconds = open.milliseconds
    entries_replayed = UInt64(open.replayedCount)
    entries_dropped = UInt64(open.droppedCount)
    may_have_lost_removals = open.mayHaveLostRemovals ? 1 : 0
    switch open.kind {
    case .created: open_kind = Int32(VITRINE_CREATED)
    case .clean: open_kind = Int32(VITRINE_CLEAN)
    case .recovered: open_kind = Int32(VITRINE_RECOVERED)
    case .rebuilt: open_kind = Int32(VITRINE_REBUILT)
    }
  }

  private mutating func setSizes(_ statistics: StoreStatistics) {
    entries = UInt64(clamping: statistics.entryCount)
    blobs = UInt64(clamping: statistics.blobCount)
    bytes_on_disk = UInt64(clamping: statistics.bytesOnDisk)
    bytes_live = UInt64(clamping: statistics.liveByteCount)
    bytes_dead = UInt64(clamping: statistics.deadByteCount)
    bytes_pinned = UInt64(clamping: statistics.pinnedByteCount)
    bytes_logical = UInt64(clamping: statistics.logicalByteCount)
    budget_bytes = UInt64(clamping: statistics.byteBudget)
    budget_entries = UInt64(clamping: statistics.entryBudget)
    minimum_free_bytes = UInt64(clamping: statistics.minimumFreeBytes)
    disk_free_bytes = Int64(statistics.availableBytes ?? Int(VITRINE_NONE))
    format_version = statistics.formatVersion
    policy = Int32(statistics.policy.rawValue)
    segments = UInt64(statistics.segments.count)
    pinned_entries = Int64(statistics.pins?.entryCount ?? Int(VITRINE_NONE))
  }

  private mutating func setCounters(_ statistics: StoreStatistics) {
    hits = UInt64(clamping: statistics.hitCount)
    misses = UInt64(clamping: statistics.missCount)
    damaged = UInt64(clamping: statistics.damagedCount)
    lost = UInt64(clamping: statistics.lostCount)
    evicted = UInt64(clamping: statistics.evictedCount)
    evicted_bytes = UInt64(clamping: statistics.evictedByteCount)
    last_checkpoint = statistics.lastCheckpointMilliseconds ?? 0
    write_amplification = statistics.writeAmplification
  }
}

/// See `vitrine_get_stat` in vitrine.h.
@_cdecl("vitrine_get_stat")
public func statistics(
  _ store: OpaquePointer?, _ stat: UnsafeMutablePointer<vitrine_stat>?, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    let open = try OpenStore.of(store)
    let result = try Input.result(stat, "stat")
    try vitrine_stat.check(result)
    try vitrine_stat(open.store.statistics()).write(to: result)
    return Status.ok
  }
}

/// See `vitrine_stat_json` in vitrine.h.
@_cdecl("vitrine_stat_json")
public func statisticsText(
  _ store: OpaquePointer?, _ text: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
  _ length: UnsafeMutablePointer<Int>?, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  text?.pointee = nil
  length?.pointee = 0
  return reporting(error) {
    let open = try OpenStore.of(store)
    let result = try Input.result(text, "text")
    let json = StatisticsJSON.report(open.store.statistics()).line
    guard let copy = strdup(json) else { throw Failure.noMemory }
    result.pointee = copy
    length?.pointee = json.utf8.count
    return Status.ok
  }
}

/// See `vitrine_text_release` in vitrine.h.
@_cdecl("vitrine_text_release")
public func releaseText(_ text: UnsafeMutablePointer<CChar>?) { free(text) }
