import Vitrine

/// The numbers of a server and of its store, for its operators. In contrast to those of `stats`, no client can reset
/// them.
///
/// Thread-safe. A report costs what ``CacheStore/statistics()`` costs.
final class ServerOperations: OperationsReports {
  private let items: ItemStore
  private let options: ServerOptions
  private let loops: [EventLoop]
  private let started = Time.milliseconds()

  init(_ items: ItemStore, _ options: ServerOptions, _ loops: [EventLoop]) {
    self.items = items
    self.options = options
    self.loops = loops
  }

  func failure() -> StoreError? {
    // An empty removal throws the error that prevents changes. An opening for reading only is not a failure.
    do throws(StoreError) { try items.store.removeMany([]) } catch { return error == .readOnly ? nil : error }
    return nil
  }

  private func sum(_ counter: Counter) -> UInt64 { loops.reduce(0) { $0 &+ $1.counters[counter] } }

  private func histogram(_ kind: RequestKind) -> LatencyHistogram {
    loops.reduce(into: LatencyHistogram()) { $0.add($1.counters.latencies.histogram(kind)) }
  }

  private var connectionCount: Int { loops.reduce(0) { $0 + $1.connectionCount.load(ordering: .relaxed) } }

  // MARK: Metrics

  func metrics() -> String {
    var text = MetricsText()
    addServer(&text)
    addRequests(&text)
    addStore(&text, items.store.statistics())
    return text.text
  }

  private func addServer(_ text: inout MetricsText) {
    text.add(
      .gauge, "vitrine_build_info", "The version of the library.", [([("version", CacheStore.version)], 1)])
    text.add("vitrine_start_time_seconds", "The start of the server, in seconds since 1970.", Double(started) / 1000)
    text.add(.gauge, "vitrine_event_loops", "Event loops, each with a thread.", loops.count)
    text.add(.gauge, "vitrine_connections", "Open connections.", connectionCount)
    text.add(.gauge, "vitrine_connections_limit", "The most connections at a time.", options.maximumConnections)
    text.add(.counter, "vitrine_connections_total", "Connections that were opened.", sum(.connections))
    text.add(
      .counter, "vitrine_connections_refused_total", "Connections beyond the limit.", sum(.rejectedConnections))
    text.add(
      .counter, "vitrine_connections_timed_out_total", "Connections that were closed after a time limit.",
      sum(.timeouts))
    text.add(
      .counter, "vitrine_accept_pauses_total", "Pauses of accepting because descriptors were short.",
      sum(.acceptPauses))
    text.add(.counter, "vitrine_received_bytes_total", "Bytes received from clients.", sum(.bytesRead))
    text.add(.counter, "vitrine_sent_bytes_total", "Bytes sent to clients.", sum(.bytesSent))
    text.add(
      .gauge, "vitrine_value_memory_bytes", "Memory of values that are collected or sent from copies.",
      items.memory.usedByteCount + items.copies.usedByteCount)
    text.add(
      .gauge, "vitrine_value_memory_limit_bytes", "The limit of vitrine_value_memory_bytes.",
      items.memory.byteCount + items.copies.byteCount)
    text.add(
      .counter, "vitrine_log_dropped_lines_total", "Lines of the log that were not written.",
      options.log?.droppedLineCount ?? 0)
  }

  private func addRequests(_ text: inout MetricsText) {
    let histograms = RequestKind.allCases.map { kind in
      (labels: [("protocol", kind.protocolName), ("command", kind.command)] as MetricsText.Labels, histogram(kind))
    }
    text.add(
      .counter, "vitrine_requests_total", "Requests that were answered.",
      histograms.map { ($0.labels, $0.1.count) })
    text.add(
      "vitrine_request_duration_seconds", "Time that the server worked on a request, without waiting for its client.",
      histograms.map { ($0.labels, $0.1) })
    text.add(.counter, "vitrine_hits_total", "Requests for a value that found it.", sum(.getHits))
    text.add(.counter, "vitrine_misses_total", "Requests for a value that did not find it.", sum(.getMisses))
    text.add(
      .counter, "vitrine_http_responses_total", "Answers of HTTP by the class of their status.",
      [
        ([("class", "2xx")], sum(.successResponses)), ([("class", "3xx")], sum(.redirectResponses)),
        ([("class", "4xx")], sum(.clientErrorResponses)), ([("class", "5xx")], sum(.serverErrorResponses)),
      ])
    text.add(
      .counter, "vitrine_errors_total", "Refused requests by their reason. A request may count for several.",
      [
        ([("reason", "request")], sum(.requestErrors)), ([("reason", "no_space")], sum(.noRoom)),
        ([("reason", "too_large")], sum(.tooLarge)), ([("reason", "authentication")], sum(.authenticationErrors)),
      ])
  }

  private func addStore(_ text: inout MetricsText, _ statistics: StoreStatistics) {
    text.add(.gauge, "vitrine_store_writable", "0 if an error prevents changes, else 1.", failure() == nil ? 1 : 0)
    text.add(.gauge, "vitrine_store_budget_bytes", "The largest size of the folder.", statistics.byteBudget)
    text.add(
      .gauge, "vitrine_store_budget_entries", "The largest number of entries; 0 for no limit.",
      statistics.entryBudget)
    text.add(.gauge, "vitrine_store_disk_bytes", "Bytes of the folder on the disk.", statistics.bytesOnDisk)
    text.add(.gauge, "vitrine_store_live_bytes", "Bytes of live records.", statistics.liveByteCount)
    text.add(
      .gauge, "vitrine_store_dead_bytes", "Bytes of dead records, until compaction.", statistics.deadByteCount)
    text.add(.gauge, "vitrine_store_logical_bytes", "Bytes that gets of all keys return.", statistics.logicalByteCount)
    text.add(
      .gauge, "vitrine_store_held_bytes", "Bytes of segments that values in use hold.", statistics.pinnedByteCount)
    text.add(.gauge, "vitrine_store_entries", "Unexpired entries.", statistics.entryCount)
    text.add(.gauge, "vitrine_store_blobs", "Different payloads.", statistics.blobCount)
    text.add(.gauge, "vitrine_store_segments", "Segment files.", statistics.segments.count)
    text.add(
      "vitrine_store_write_amplification", "Bytes written to the disk for each byte put.",
      statistics.writeAmplification)
    text.add(.counter, "vitrine_store_hits_total", "Lookups that found an entry.", statistics.hitCount)
    text.add(.counter, "vitrine_store_misses_total", "Lookups that found no entry.", statistics.missCount)
    text.add(.counter, "vitrine_store_evicted_entries_total", "Evicted entries.", statistics.evictedCount)
    text.add(.counter, "vitrine_store_evicted_bytes_total", "Bytes of evicted entries.", statistics.evictedByteCount)
    text.add(
      .counter, "vitrine_store_damaged_entries_total", "Entries that failed their check.", statistics.damagedCount)
    text.add(.counter, "vitrine_store_lost_entries_total", "Entries lost in a crash.", statistics.lostCount)
    let compaction = statistics.compaction
    text.add(.counter, "vitrine_compaction_steps_total", "Rounds of compaction.", compaction.stepCount)
    text.add(.counter, "vitrine_compaction_moved_records_total", "Records copied.", compaction.recordsMoved)
    text.add(.counter, "vitrine_compaction_moved_bytes_total", "Bytes copied.", compaction.bytesMoved)
    text.add(.counter, "vitrine_compaction_freed_segments_total", "Segments freed.", compaction.segmentsFreed)
  }

  // MARK: The page

  func statusPage() -> String {
    let requests = RequestKind.allCases.map { ($0, histogram($0)) }.filter { $0.1.count > 0 }
    return StatusPage(
      path: items.store.path, statistics: items.store.statistics(), failure: failure(), requests: requests,
      connectionCount: connectionCount, connectionLimit: options.maximumConnections,
      uptimeSeconds: max(0, (Time.milliseconds() - started) / 1000), hits: sum(.getHits), misses: sum(.getMisses),
      bytesSent: sum(.bytesSent), bytesReceived: sum(.bytesRead)
    ).html
  }
}
