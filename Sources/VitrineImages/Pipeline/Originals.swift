import Vitrine

/// Loads originals: from the storage if a stored one is valid, else from the network, with one download for all
/// requests.
///
/// Thread-safe.
final class Originals: Sendable {
  struct Download: Hashable, Sendable {
    let key: KeyText
    let version: UInt64
  }

  struct Rules: Sendable {
    var silenceMilliseconds: Int
    var maximumAgeMilliseconds: Int64?
    /// Whether the storage serves several users.
    var isShared = false
    /// The number of parts of a progressive JPEG that a download shows at most.
    var mostParts = 0
    /// Returns the milliseconds since 1970.
    var now: @Sendable () -> Int64
  }

  private let storage: (any ImageStorage)?
  private let fetcher: HTTPFetcher
  private let versions: KeyVersions
  private let writes: KeyedWrites
  private let loads: LimitedQueue
  /// Bodies that are being received, or wait for their decoding. If decoding falls behind, downloads wait.
  let bodies: LimitedQueue
  private let rules: Rules
  private let watches: DownloadWatches<Download>
  let joined = JoinedWork<Download, Found>()
  private let arrivals = Arrivals<Download>()
  private let keptOriginals: KeptOriginals

  init(
    _ storage: (any ImageStorage)?, _ versions: KeyVersions, _ writes: KeyedWrites, _ fetcher: HTTPFetcher,
    loads: LimitedQueue, bodies: LimitedQueue, _ rules: Rules
  ) {
    self.storage = storage
    keptOriginals = KeptOriginals(storage, ageLimit: rules.maximumAgeMilliseconds)
    self.versions = versions
    self.writes = writes
    self.fetcher = fetcher
    self.loads = loads
    self.bodies = bodies
    self.rules = rules
    watches = DownloadWatches(mostParts: rules.mostParts)
  }

  private func now() -> Int64 { rules.now() }

  /// The number of downloads under way.
  var count: Int { joined.count }

  /// The watch of the download for a key as it is now.
  func watch(of key: String) -> DownloadWatch {
    watches[Download(key: KeyText(key), version: versions.current(of: key))]
  }

  /// Returns the original for a request.
  ///
  /// - Parameters:
  ///   - version: The version of the key. A download that began under another version is not joined.
  ///   - begun: The place of the request in the order of downloads and requests.
  ///   - useless: Digests of originals that proved unusable and count as not stored.
  /// - Throws: ``LoadError``, `CancellationError`, and errors of the loader. An error of the storage counts as a miss.
  func original(
    for request: PictureRequest, version: UInt64, begun: UInt64, _ interest: Interest, besides useless: Set<Digest> = []
  ) async throws -> Found {
    var kept = try await keptOriginals.original(for: request, besides: useless)
    if let record = kept?.record, request.cachePolicy == .use {
      kept?.isToBeRenewed = record.standing(at: now()) == .staleButShown
    }
    if let kept, !asksNetwork(request, kept.record) { return kept }
    if request.cachePolicy == .cacheOnly { throw LoadError.notCached }
    let download = Download(key: KeyText(request.key), version: version)
    guard let kept, mayShow(kept.record, request, after: .timedOut) else {
      return try await answer(to: request, begun: begun, kept, download, interest, besides: useless)
    }
    let first = FirstResult<Found?>()
    // Silence does not end the wait of preheating, which shows no picture and may wait long for its places. If a
    // request joins it after the silence, the stale original is returned at once.
    let isSilent = Locked(false)
    interest.follow { interest in
      if interest.priority != .preheating, isSilent.withLock({ $0 }) { first.set(.success(nil)) }
    }
    let watch = watches[download]
    let answer = Task { [self] in
      do {
        let found = try await self.answer(to: request, begun: begun, kept, download, interest, besides: useless)
        first.set(.success(found))
        return withExtendedLifetime(watch) { found }
      } catch {
        first.set(.failure(error))
        throw error
      }
    }
    do {
      let found = try await watch.observe(silence: rules.silenceMilliseconds) {
        isSilent.withLock { $0 = true }
        if interest.priority != .preheating { first.set(.success(nil)) }
      } during: {
        try await first.value()
      }
      if let found { return found }
    } catch {
      answer.cancel()
      throw error
    }
    var stale = kept
    stale.isToBeRenewed = true
    stale.answer = answer
    return stale
  }

  /// Returns the answer of the network, or the stored original if it may be shown after an error.
  private func answer(
    to request: PictureRequest, begun: UInt64, _ kept: Found?, _ download: Download, _ interest: Interest,
    besides useless: Set<Digest>
  ) async throws -> Found {
    do {
      while true {
        let isOwn = Locked(false)
        var found: Found
        do {
          found = try await joined.value(for: download, interest: interest) { [self, kept] interest in
            isOwn.withLock { $0 = true }
            return try await FailedLoad.noting(request) {
              // The download to join may have ended just before.
              if let found = try await arrived(download, request, begun: begun, besides: useless) { return found }
              return try await fetched(request, kept, download, interest)
            }
          }
        } catch let failure as FailedLoad {
          if isOwn.withLock({ $0 }) || failure.concerns(request) { throw failure.error }
          continue
        }
        if isOwn.withLock({ $0 }) { return found }
        // The original of the joined work may have arrived, or have been stored, before this request.
        if found.answered < begun, asksNetwork(request, nil) { continue }
        // The headers of the joined request selected this original.
        if !ResponseRecord.mayShare(found.record?.vary ?? [:], request.headers) { continue }
        // An answer that must not be stored is only for requests like the one that it answers (RFC 9111, 4).
        if found.record?.isNoStore == true, found.load?.headers != request.headers { continue }
        // The answer to another URL of the key is not a picture.
        if useless.contains(found.digest), found.arrival?.load != LoadRequest(request) { continue }
        (found.requestCount, found.receivedByteCount) = (0, 0)
        return found
      }
    } catch let error as LoadError {
      // Each request applies its own policy: this one may accept a stored original that the joined request refused.
      guard let kept, mayShow(kept.record, request, after: error) else { throw error }
      return kept
    }
  }

  /// Returns the original that another download brought since the first lookup, or nil if it is not valid for this
  /// request. A downloaded original is held while it is decoded and drawn, and stored before its release, so one of
  /// the two lookups finds it.
  private func arrived(
    _ download: Download, _ request: PictureRequest, begun: UInt64, besides useless: Set<Digest>
  ) async throws -> Found? {
    // The renewal of a picture that was shown accepts an answer that arrived before it began.
    if begun == 0, let arrival = arrivals[download], !useless.contains(arrival.digest),
      arrival.load == LoadRequest(request)
    {
      var found = Found(arrival)
      // A request that joins the renewal and must ask the network does not take this for a later answer.
      found.answered = arrival.ordinal
      return found
    }
    if asksNetwork(request, nil) { return nil }
    if let arrival = arrivals[download], !useless.contains(arrival.digest), arrival.record.answers(request.headers),
      !asksNetwork(request, arrival.record)
    {
      return Found(arrival)
    }
    guard let kept = try await keptOriginals.original(for: request, besides: useless),
      !asksNetwork(request, kept.record)
    else { return nil }
    return kept
  }

  /// Lets requests that begin with a new version of the key find a downloaded original until it is stored.
  func note(_ arrival: Arrival, of key: String, version: UInt64) {
    arrivals.note(arrival, of: Download(key: KeyText(key), version: version))
  }

  /// Returns the stored original that may replace a response that is not a picture, or nil.
  func standIn(for request: PictureRequest, besides useless: Set<Digest>) async throws -> Found? {
    request.cachePolicy == .staleIfError ? try await keptOriginals.original(for: request, besides: useless) : nil
  }

  private func asksNetwork(_ request: PictureRequest, _ record: ResponseRecord?) -> Bool {
    switch request.cachePolicy {
    case .cacheOnly: false
    case .reload: true
    case .revalidate: record?.forbidsAsking(at: now()) != true
    case .use: (record?.standing(at: now()) ?? .fresh) == .stale
    case .staleIfError: (record?.standing(at: now()) ?? .fresh) != .fresh
    }
  }

  private func mayShow(_ record: ResponseRecord?, _ request: PictureRequest, after error: LoadError) -> Bool {
    switch request.cachePolicy {
    case .staleIfError: true
    // The server's own rule about stale answers after an error applies.
    case .use: error.isTransient && (record?.mayShowAfterError(at: now()) ?? true)
    case .reload, .revalidate, .cacheOnly: false
    }
  }

  private func fetched(
    _ request: PictureRequest, _ kept: Found?, _ download: Download, _ interest: Interest
  ) async throws -> Found {
    let places = DownloadPlaces(loads: loads, bodies: bodies, interest)
    let conditions = request.cachePolicy == .reload ? [:] : kept?.record?.conditions ?? [:]
    let load = LoadRequest(request)
    let ordinal = versions.takeOrdinal()
    let fetched = try await fetcher.fetch(
      load, conditions: conditions, forgets: request.cachePolicy == .reload, in: places, watch: watches[download])
    let time = now()
    let record = record(of: fetched.response, to: request, nil, at: time)
    let answered = versions.takeOrdinal()
    keptOriginals.forgetRenewal(of: request.key)
    if let body = fetched.body {
      let arrival = Arrival(.array(body), record, places.body, load: load, ordinal: ordinal)
      arrivals.note(arrival, of: download)
      var found = Found(arrival)
      found.requestCount = fetched.requestCount
      found.receivedByteCount = fetched.receivedByteCount
      found.answered = answered
      return found
    }
    // The stored original is still valid, and only its record changes.
    guard var kept else { throw LoadError.interrupted("the server declared an original valid that is not stored") }
    let refreshed = kept.record.map { self.record(of: fetched.response, to: request, $0, at: time) } ?? record
    kept.record = refreshed
    kept.isToBeRenewed = false
    kept.requestCount = fetched.requestCount
    kept.receivedByteCount = fetched.receivedByteCount
    kept.answered = answered
    kept.load = load
    // The record beside a styled picture is updated by the request that shows it.
    if kept.bytes == nil {
      keptOriginals.note(refreshed, ofUnkept: kept.digest, for: request.key)
      return kept
    }
    if refreshed.isNoStore {
      try await forget(kept, of: request.key, begunAt: download.version, interest)
      return kept
    }
    let (basis, metadata) = (kept.basis, refreshed.metadata)
    try await writes.run(request.key, interest) {
      // The answer does not apply to a picture that an app saved under the key in the meantime.
      guard versions.admits(basis, of: request.key, begunAt: download.version) else { return }
      try await storage.trying { try await $0.setMetadata(metadata, ofOriginalFor: request.key) }
    }
    return kept
  }

  /// Removes the stored pictures of a key after an answer 304 that forbids to keep them. Does not apply to a picture
  /// that an app saved under the key in the meantime.
  func forget(_ found: Found, of key: String, begunAt version: UInt64, _ interest: Interest) async throws {
    let basis = found.basis
    try await writes.run(key, interest) {
      guard versions.admits(basis, of: key, begunAt: version) else { return }
      try await storage.trying { try await $0.remove([key]) }
      versions.forget(basis, of: key)
    }
  }

  /// Returns the record of a response; `kept` is the record that an answer 304 refreshes.
  private func record(
    of response: LoadResponse, to request: PictureRequest, _ kept: ResponseRecord?, at time: Int64
  ) -> ResponseRecord {
    let (headers, sent) = (response.headers, request.headers)
    var record =
      kept?.refreshed(by: headers, requestHeaders: sent, now: time, isShared: rules.isShared)
      ?? ResponseRecord(headers: headers, requestHeaders: sent, now: time, isShared: rules.isShared)
    if [201, 202, 226].contains(response.status) { record = record.needingLifetime(at: time) }
    return record.reached(by: response.redirects, requestHeaders: sent, now: time)
      .limited(to: rules.maximumAgeMilliseconds)
  }
}

extension Optional where Wrapped == any ImageStorage {
  /// Returns the result of `body`, or nil without a storage or if it fails, since pictures can be shown without it.
  /// Throws only `CancellationError`.
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
