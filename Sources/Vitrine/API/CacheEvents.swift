import Synchronization

/// An event of a store, for logs, metrics and indexes beside the cache.
public enum CacheEvent: Sendable, Equatable {
  /// How the store was opened, and thus whether it was recovered. The first event of each sequence. Comes again after
  /// ``CacheStore/resume()``, and after the store was recreated (``StoreOptions/recreatesIfRemoved``).
  case opened(StoreStatistics.LastOpen)
  /// An entry is gone. The key is nil if its record could not be read.
  case removed(CacheKey?, RemovalReason)
  /// All entries were removed by one call.
  case removedAll
  /// A budget, the free space of the disk, or a trim made the store evict. Comes at most once a minute, with the sums
  /// since the last one.
  case pressure(evictedEntryCount: Int, evictedByteCount: Int)
  /// A write or a sync has failed, also in the background: the store refuses all further changes.
  case failed(StoreError)

  /// The reason why an entry is gone.
  public enum RemovalReason: String, Sendable, Hashable {
    /// The budgets, the free space of the disk, or a trim needed its room.
    case evicted
    /// It was older than its expiration or the age limits of the store. Comes when upkeep or a call removes the entry,
    /// which may be long after it has expired.
    case expired
    /// A call removed it.
    case removed
    /// A put gave its key other bytes.
    case replaced
    /// It was not made from the URL's new original, or not from the source that a get named.
    case outdated
    /// Its bytes are damaged or lost.
    case damaged
  }

  /// The importance of an event, by the levels of swift-log; those of OSLog have the same names but for `warning`
  /// (`default`).
  public enum Level: String, Sendable, Hashable {
    /// For the search of faults.
    case debug
    /// Ordinary work.
    case info
    /// Lost entries, or an opening after a crash; the store goes on.
    case warning
    /// The end of writing.
    case error
  }

  /// The level at which a log notes the event.
  public var level: Level {
    switch self {
    case .removed(_, .damaged): .warning
    case .removed: .debug
    case .opened(let last): last.kind == .clean || last.kind == .created ? .info : .warning
    case .removedAll, .pressure: .info
    case .failed: .error
    }
  }
}

extension CacheEvent: CustomStringConvertible {
  public var description: String {
    switch self {
    case .opened(let last): "the store was opened: \(last.kind)"
    case .removed(let key?, let reason): "\(reason): \(key.urlText) \(key.style)"
    case .removed(nil, let reason): "\(reason): an entry whose key cannot be read"
    case .removedAll: "all entries were removed"
    case .pressure(let entries, let bytes): "evicted \(entries) entries with \(bytes) bytes"
    case .failed(let error): "the store writes no more: \(error)"
    }
  }
}

/// The events of a store, as a sequence that one task iterates.
///
/// The sequence buffers a fixed number of events. If it is full, the oldest one is lost, and ``lostCount`` counts it.
/// So a slow task never slows the store, and no code of the task runs under a lock of the store. The sequence ends when
/// the store is closed or released; it does not keep the store open.
public struct CacheEvents: AsyncSequence, Sendable {
  public typealias Element = CacheEvent
  public typealias AsyncIterator = AsyncStream<CacheEvent>.Iterator

  private let stream: AsyncStream<CacheEvent>
  private let lost: LostEvents

  init(_ feed: EventFeed, capacity: Int, first: CacheEvent) {
    let (stream, continuation) = AsyncStream.makeStream(
      of: CacheEvent.self, bufferingPolicy: .bufferingNewest(Swift.max(1, capacity)))
    self.stream = stream
    lost = LostEvents()
    continuation.yield(first)
    feed.add(continuation, lost)
  }

  /// Begins the iteration. One task iterates.
  public func makeAsyncIterator() -> AsyncIterator { stream.makeAsyncIterator() }

  /// Number of events that were lost because the sequence was full.
  public var lostCount: Int { lost.count.load(ordering: .relaxed) }
}

extension CacheStore {
  /// Returns the events of the store from now on. `capacity` is the number of events that wait to be read, at least 1.
  ///
  /// ```swift
  /// Task {
  ///   for await event in store.events() { logger.log(event.level, "\(event)") }
  /// }
  /// ```
  ///
  /// Each sequence gets every event. From this call until the last sequence ends or is released, every removal also
  /// reads the key of the removed entry, which takes about a microsecond. A read-only opening has only the first event.
  /// Thread-safe.
  public func events(capacity: Int = 1000) -> CacheEvents {
    let core = core
    return CacheEvents(core.context.events, capacity: capacity, first: .opened(core.context.opening.lastOpen))
  }
}
