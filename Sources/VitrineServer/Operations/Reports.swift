import Synchronization
import Vitrine

/// The statistics of a server, under memcached's names. The names of Vitrine's own statistics begin with `vitrine_`.
final class Reports: ServerReports {
  private let store: CacheStore
  private let options: ServerOptions
  private let loops: [EventLoop]
  private let started = Time.milliseconds()
  /// The counters at the last reset.
  private let offsets = Mutex<[UInt64]>(Array(repeating: 0, count: Counter.allCases.count))

  init(_ store: CacheStore, _ options: ServerOptions, _ loops: [EventLoop]) {
    self.store = store
    self.options = options
    self.loops = loops
  }

  var allowsFlush: Bool { options.allowsFlush && !options.isReadOnly }

  func resetStatistics() {
    let sums = Counter.allCases.map { sum($0) }
    offsets.withLock { $0 = sums }
  }

  private func sum(_ counter: Counter) -> UInt64 { loops.reduce(0) { $0 &+ $1.counters[counter] } }

  /// The number of events since the start or the last reset.
  func count(_ counter: Counter) -> UInt64 {
    let offset = offsets.withLock { $0[counter.rawValue] }
    return sum(counter) &- offset
  }

  func statistics(of group: String?) -> [(name: String, value: String)]? {
    switch group {
    case nil: general()
    case "settings": settings()
    case "items", "slabs", "sizes", "conns": []
    default: nil
    }
  }

  private func general() -> [(name: String, value: String)] {
    let statistics = store.statistics()
    let gets = count(.getHits) + count(.getMisses)
    let now = Time.milliseconds()
    let numbers: [(String, UInt64)] = [
      ("pid", UInt64(Processors.processID)),
      ("uptime", UInt64(max(0, (now - started) / 1000))),
      ("time", UInt64(max(0, now / 1000))),
      ("pointer_size", 64),
      ("curr_connections", UInt64(connectionCount)),
      ("max_connections", UInt64(options.maximumConnections)),
      ("total_connections", count(.connections)),
      ("rejected_connections", count(.rejectedConnections)),
      ("accepting_conns", 1),
      ("listen_disabled_num", count(.acceptPauses)),
      ("conn_yields", count(.yields)),
      ("cmd_get", gets),
      ("cmd_set", count(.sets)),
      ("cmd_flush", count(.flushes)),
      ("cmd_touch", count(.touchHits) + count(.touchMisses)),
      ("cmd_meta", count(.metaCommands)),
      ("get_hits", count(.getHits)),
      ("get_misses", count(.getMisses)),
      ("delete_misses", count(.deleteMisses)),
      ("delete_hits", count(.deleteHits)),
      ("incr_misses", count(.incrementMisses)),
      ("incr_hits", count(.incrementHits)),
      ("decr_misses", count(.decrementMisses)),
      ("decr_hits", count(.decrementHits)),
      ("cas_misses", count(.compareMisses)),
      ("cas_hits", count(.compareHits)),
      ("cas_badval", count(.compareMismatches)),
      ("touch_hits", count(.touchHits)),
      ("touch_misses", count(.touchMisses)),
      ("store_too_large", count(.tooLarge)),
      ("store_no_memory", count(.noRoom)),
      ("auth_errors", count(.authenticationErrors)),
      ("idle_kicks", count(.timeouts)),
      ("bytes_read", count(.bytesRead)),
      ("bytes_written", count(.bytesSent)),
      ("limit_maxbytes", UInt64(statistics.byteBudget)),
      ("threads", UInt64(loops.count)),
      ("bytes", UInt64(statistics.bytesOnDisk)),
      ("curr_items", UInt64(statistics.entryCount)),
      ("total_items", count(.stored)),
      ("evictions", UInt64(statistics.evictedCount)),
      ("vitrine_request_errors", count(.requestErrors)),
      ("vitrine_live_bytes", UInt64(statistics.liveByteCount)),
      ("vitrine_dead_bytes", UInt64(statistics.deadByteCount)),
      ("vitrine_damaged", UInt64(statistics.damagedCount)),
      ("vitrine_pinned_bytes", UInt64(statistics.pinnedByteCount)),
    ]
    return [("version", CacheStore.version)] + numbers.map { ($0.0, String($0.1)) }
  }

  private var connectionCount: Int { loops.reduce(0) { $0 + $1.connectionCount.load(ordering: .relaxed) } }

  private func settings() -> [(name: String, value: String)] {
    [
      ("maxbytes", String(store.byteBudget)),
      ("maxconns", String(options.maximumConnections)),
      ("inter", options.addresses.map(\.description).joined(separator: ",")),
      ("num_threads", String(loops.count)),
      ("item_size_max", String(options.largestValue)),
      ("idle_timeout", String(options.idleMilliseconds / 1000)),
      ("cas_enabled", "yes"),
      ("flush_enabled", allowsFlush ? "yes" : "no"),
      ("auth_enabled_ascii", options.credentials == nil ? "no" : "yes"),
      ("vitrine_policy", store.statistics().policy.name),
    ]
  }
}
