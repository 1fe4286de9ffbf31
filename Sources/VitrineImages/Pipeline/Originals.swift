import Vitrine

/// Brings originals: from the storage where what is kept is good, else from the network; one download for all who ask.
///
/// Safe from any thread.
final class Originals: Sendable {
  struct Download: Hashable, Sendable {
    let key: KeyText
    let version: UInt64
  }

  private let storage: (any ImageStorage)?
  private let fetcher: HTTPFetcher
  private let versions: KeyVersions
  private let writes: KeyedWrites
  private let loads: LimitedQueue
  /// Bodies that are on their way, or have come and are not decoded yet: where decoding falls behind, downloads wait.
  let bodies: LimitedQueue
  private let now: @Sendable () -> Int64
  let joined = JoinedWork<Download, Found>()
  private let arrivals = Arrivals<Download>()
  private let keptOriginals: KeptOriginals

  /// `now`: milliseconds since 1970.
  init(
    _ storage: (any ImageStorage)?, _ versions: KeyVersions, _ writes: KeyedWrites, _ fetcher: HTTPFetcher,
    loads: LimitedQueue, bodies: LimitedQueue, now: @escaping @Sendable () -> Int64
  ) {
    self.storage = storage
    keptOriginals = KeptOriginals(storage)
    self.versions = versions
    self.writes = writes
    self.fetcher = fetcher
    self.loads = loads
    self.bodies = bodies
    self.now = now
  }

  /// How many downloads are under way.
  var count: Int { joined.count }

  /// `version`: the key's; a download that began before something else came under the key is not joined. `useless`: digests
  /// of what was found to be of no use, and counts as not kept. Throws ``LoadError``, `CancellationError`, and what the
  /// loader throws; what the storage throws counts as nothing kept.
  func original(
    for request: ImageRequest, version: UInt64, _ interest: Interest, besides useless: Set<Digest> = []
  ) async throws -> Found {
    var kept = try await keptOriginals.original(for: request, besides: useless)
    if let record = kept?.record, request.cachePolicy == .use {
      kept?.isToBeRenewed = record.standing(at: now()) == .staleButShown
    }
    if let kept, !asksNetwork(request, kept.record) { return kept }
    if request.cachePolicy == .cacheOnly { throw LoadError.notCached }
    let download = Download(key: KeyText(request.key), version: version)
    do {
      while true {
        let isOwn = Locked(false)
        var found = try await joined.value(for: download, interest: interest) { [self, kept] interest in
          isOwn.withLock { $0 = true }
          // The download that was to be joined may have ended in this moment.
          if let found = try await arrived(download, request, besides: useless) { return found }
          return try await fetched(request, kept, download, interest)
        }
        if isOwn.withLock({ $0 }) { return found }
        // Chosen by the headers of who was joined.
        if !ResponseRecord.mayShare(found.record?.vary ?? [:], request.headers) { continue }
        if !found.isNew, useless.contains(found.digest) { continue }
        (found.requestCount, found.receivedByteCount) = (0, 0)
        return found
      }
    } catch let error as LoadError {
      // Each by their own policy: who joined may be content with what the first would not have.
      guard let kept, mayShow(kept.record, request, after: error) else { throw error }
      return kept
    }
  }

  /// What another's download has brought since this one looked: it is held while it is decoded and drawn, and kept before it
  /// is let go. Nil where it is not good enough.
  private func arrived(
    _ download: Download, _ request: ImageRequest, besides useless: Set<Digest>
  ) async throws -> Found? {
    if asksNetwork(request, nil) { return nil }
    if let arrival = arrivals[download], arrival.record.answers(request.headers),
      !asksNetwork(request, arrival.record)
    {
      return Found(arrival)
    }
    guard let kept = try await keptOriginals.original(for: request, besides: useless),
      !asksNetwork(request, kept.record)
    else { return nil }
    return kept
  }

  /// What is kept, and may be shown to a request in place of an answer that is no picture; nil for nothing.
  func standIn(for request: ImageRequest, besides useless: Set<Digest>) async throws -> Found? {
    request.cachePolicy == .staleIfError ? try await keptOriginals.original(for: request, besides: useless) : nil
  }

  private func asksNetwork(_ request: ImageRequest, _ record: ResponseRecord?) -> Bool {
    switch request.cachePolicy {
    case .cacheOnly: false
    case .reload: true
    case .revalidate: record?.forbidsAsking(at: now()) != true
    case .use, .staleIfError: (record?.standing(at: now()) ?? .fresh) == .stale
    }
  }

  private func mayShow(_ record: ResponseRecord?, _ request: ImageRequest, after error: LoadError) -> Bool {
    switch request.cachePolicy {
    case .staleIfError: true
    // The server's own word, where it cannot give another.
    case .use: error.isTransient && (record?.mayShowAfterError(at: now()) ?? true)
    case .reload, .revalidate, .cacheOnly: false
    }
  }

  private func fetched(
    _ request: ImageRequest, _ kept: Found?, _ download: Download, _ interest: Interest
  ) async throws -> Found {
    let places = DownloadPlaces(loads: loads, bodies: bodies, interest)
    let conditions = request.cachePolicy == .reload ? [:] : kept?.record?.conditions ?? [:]
    let load = LoadRequest(url: request.url, headers: request.headers)
    let fetched = try await fetcher.fetch(
      load, conditions: conditions, forgets: request.cachePolicy == .reload, in: places)
    let record = ResponseRecord(headers: fetched.headers, requestHeaders: request.headers, now: now())
    keptOriginals.forgetRenewal(of: request.key)
    if let body = fetched.body {
      let arrival = Arrival(.array(body), record, places.body)
      arrivals.note(arrival, of: download)
      var found = Found(arrival)
      found.requestCount = fetched.requestCount
      found.receivedByteCount = fetched.receivedByteCount
      return found
    }
    // Still good: only what is known of it changes.
    guard var kept else { throw LoadError.interrupted("nothing was kept of what has not changed") }
    let refreshed =
      kept.record?.refreshed(by: fetched.headers, requestHeaders: request.headers, now: now()) ?? record
    kept.record = refreshed
    kept.isToBeRenewed = false
    kept.requestCount = fetched.requestCount
    kept.receivedByteCount = fetched.receivedByteCount
    // What stands beside styled pictures is renewed by who shows them.
    if kept.bytes == nil {
      keptOriginals.note(refreshed, ofUnkept: kept.digest, for: request.key)
      return kept
    }
    let (digest, metadata) = (kept.digest, refreshed.metadata)
    try await writes.run(request.key, interest) {
      // Not of what an app has saved there meanwhile.
      guard versions.admits(digest, of: request.key, begunAt: download.version) else { return }
      try await storage.trying { try await $0.setMetadata(metadata, ofOriginalFor: request.key) }
    }
    return kept
  }
}

extension Optional where Wrapped == any ImageStorage {
  /// What `body` gives; nil where there is no storage, or where it fails: pictures can be shown without it. Throws
  /// `CancellationError` only.
  @discardableResult
  func trying<R: Sendable>(_ body: (any ImageStorage) async throws -> R) async throws -> R? {
    guard let self else { return nil }
    do {
      return try await body(self)
    } catch {
      try Task.checkCancellation()
      return nil
    }
  }
}
