import Vitrine

/// Makes pictures from the storage and from servers: the pipeline without its memory. Concurrent requests for the same
/// picture share one piece of work.
///
/// An error of the storage counts as a miss, so pictures are shown without it. Thread-safe.
final class PictureLoader: Sendable {
  typealias Configuration = PicturePipeline.Configuration

  struct Loaded: Sendable {
    var response: PictureResponse
    /// The end of freshness in milliseconds since 1970, or nil if it never ends.
    var freshUntil: Int64?
    /// The time when the server sent or confirmed the original, in milliseconds since 1970, or nil if unknown.
    var confirmedAt: Int64?
    /// The version of the key that the picture belongs to; nil if the picture must not be kept, or the key has
    /// changed.
    var version: UInt64?
    /// The request headers that selected the original.
    var vary: [String: String] = [:]
    /// The digest of the original, or nil for an entry that another program wrote.
    var original: Digest?
    /// Whether the server of the original forbids to store it.
    var isNoStore = false
    /// The headers of the request that this work was begun for.
    var headers: [String: String] = [:]
    /// The place of the server's answer in the order of downloads and requests; 0 if no server was asked for this.
    var answered: UInt64 = 0
  }

  struct Job: Hashable, Sendable {
    let key: KeyText
    let style: ImageStyle
    let policy: PictureRequest.CachePolicy
    /// Work that began under an older version does not answer requests made after the key changed.
    let version: UInt64
  }

  let configuration: Configuration
  let versions: KeyVersions
  let fetcher: HTTPFetcher
  let decodes: Decodes
  let writes: KeyedWrites
  /// The queue of decoding, drawing into new memory, and encoding. Its limit also bounds the number of decoded pictures
  /// in memory.
  let work: LimitedQueue
  /// The queue of downloads.
  let loads: LimitedQueue
  let threads = WorkerThreads()
  let originals: Originals
  let joined = JoinedWork<Job, Loaded>()
  let drawings = Drawings()
  /// Revalidations of stale pictures that were shown.
  let renewals = BackgroundWork()

  init(_ configuration: Configuration, _ versions: KeyVersions) {
    self.configuration = configuration
    self.versions = versions
    let preheating = configuration.preheatingLimit
    let loadLimit = max(1, configuration.loadLimit)
    work = LimitedQueue(limit: configuration.decodeLimit, preheatingLimit: 1)
    loads = LimitedQueue(limit: loadLimit, preheatingLimit: preheating)
    writes = KeyedWrites(limit: configuration.writeLimit)
    var options = HTTPFetcher.Options()
    options.mostBytes = configuration.mostBytes
    options.attemptCount = max(1, configuration.attemptCount)
    fetcher = HTTPFetcher(configuration.loader, options, now: configuration.uptime)
    originals = Originals(
      configuration.storage, versions, writes, fetcher,
      loads: loads,
      bodies: LimitedQueue(
        limit: loadLimit.multipliedReportingOverflow(by: 2).overflow ? loadLimit : loadLimit * 2,
        preheatingLimit: preheating),
      Originals.Rules(
        silenceMilliseconds: configuration.silenceMilliseconds,
        maximumAgeMilliseconds: configuration.maximumAgeMilliseconds, isShared: configuration.isShared,
        mostParts: configuration.partialPictureCount, now: configuration.now))
    decodes = Decodes(configuration.decoder, work, threads)
  }

  /// `begun`: the place of the request in the order of downloads and requests, by default the next one. A request that
  /// must ask the network shares only answers with a later place.
  func load(_ request: PictureRequest, begun: UInt64? = nil, interest: Interest) async throws -> Loaded {
    let version = versions.begin(request.key)
    defer { versions.end(request.key) }
    let begun = begun ?? versions.takeOrdinal()
    let job = Job(key: KeyText(request.key), style: request.style, policy: request.cachePolicy, version: version)
    while true {
      let isOwn = Locked(false)
      var loaded: Loaded
      do {
        loaded = try await joined.value(for: job, interest: interest) { [self] interest in
          isOwn.withLock { $0 = true }
          var loaded = try await FailedLoad.noting(request) {
            try await make(request, version, begun: begun, interest)
          }
          loaded.headers = request.headers
          return loaded
        }
      } catch let failure as FailedLoad {
        if isOwn.withLock({ $0 }) || failure.concerns(request) { throw failure.error }
        continue
      }
      if isOwn.withLock({ $0 }) { return loaded }
      // The server's answer to the joined work may be older than this request. 0 means that no server was asked,
      // because the original needs no revalidation yet. Only a reload asks in that case.
      if !request.mayShowKept, loaded.answered < begun, loaded.answered > 0 || request.cachePolicy == .reload {
        continue
      }
      // The headers of the joined request selected another picture, so this request does its own work.
      if request.cachePolicy != .cacheOnly, !ResponseRecord.mayShare(loaded.vary, request.headers) { continue }
      // An answer that must not be stored is only for requests like the one that it answers (RFC 9111, 4).
      if loaded.isNoStore, loaded.headers != request.headers { continue }
      (loaded.response.requestCount, loaded.response.receivedByteCount) = (0, 0)
      loaded.response.decodeCount = 0
      return loaded
    }
  }

  /// Returns a picture that is available without waiting: stored as pixels, and readable without a read of the disk.
  func atHand(_ request: PictureRequest) -> Loaded? {
    guard request.mayShowKept, request.style != .original else { return nil }
    let version = versions.current(of: request.key)
    guard let kept = configuration.storage?.styledAtHand(request.style, for: request.key),
      case .pixels(let bitmap) = kept.content
    else { return nil }
    let record = record(kept)
    return mayShow(record, request) && isFresh(record, request) ? loaded(bitmap, record, request, version) : nil
  }

  /// Returns a picture that is stored as pixels, so there is no work to share. Returns nil if there is none, if it
  /// must be decoded, or if the request must not use it.
  func kept(_ request: PictureRequest) async throws -> Loaded? {
    if !request.mayShowKept { return nil }
    let version = versions.current(of: request.key)
    return try await styled(request, version, Interest(request.priority), mayDecode: false)
  }

  private func make(
    _ request: PictureRequest, _ version: UInt64, begun: UInt64, _ interest: Interest
  ) async throws -> Loaded {
    let family = configuration.families.first { $0.contains(request.style) } ?? [request.style]
    decodes.want(family, of: request.key)
    defer { decodes.wantNoMore(family, of: request.key) }
    if request.mayShowKept, let kept = try await styled(request, version, interest) { return kept }
    var useless: Set<Digest> = []
    while true {
      let original = try await originals.original(
        for: request, version: version, begun: begun, interest, besides: useless)
      if original.isToBeRenewed { renew(request, original.answer, min(interest.priority, .low)) }
      do {
        return try await picture(request, family, of: original, besides: useless, version, interest)
      } catch let error as UnusableOriginal {
        // The stored original, or the answer to another URL of the key, is not a picture. A request that may use the
        // network downloads it, even if the removal failed.
        useless.insert(error.digest)
      }
    }
  }

  private func picture(
    _ request: PictureRequest, _ family: [ImageStyle], of original: Originals.Found, besides useless: Set<Digest>,
    _ version: UInt64, _ interest: Interest
  ) async throws -> Loaded {
    // If another download brought the original, another request may already have drawn this style.
    if original.isNew ? original.requestCount == 0 : request.cachePolicy != .reload,
      var kept = try await styled(request, version, interest, of: original)
    {
      if original.isNew { kept.version = settle(original, of: request.key, begunAt: version) }
      kept.response.requestCount = original.requestCount
      kept.response.receivedByteCount = original.receivedByteCount
      kept.answered = original.answered
      return kept
    }
    // The stored styled picture cannot be shown, or only another style of the original is stored.
    guard let bytes = original.bytes else { throw UnusableOriginal(digest: original.digest) }
    do {
      return try await make(
        PictureOrder(
          request: request, family: family, original: original, bytes: bytes, version: version, interest: interest))
    } catch let error as ImageError where original.isNew && error.condemnsPicture {
      // The answer is not a picture, such as a login page of the network.
      if original.requestCount == 0, original.arrival?.load != LoadRequest(request) {
        throw UnusableOriginal(digest: original.digest)
      }
      guard var kept = try await originals.standIn(for: request, besides: useless) else { throw error }
      (kept.requestCount, kept.receivedByteCount) = (original.requestCount, original.receivedByteCount)
      return try await picture(request, family, of: kept, besides: useless, version, interest)
    }
  }

  /// Revalidates in the background, for later requests. Also accepts an answer of joined work that arrived before this
  /// call. The task `answer` keeps its download under way, so that the revalidation can join the download.
  func renew(
    _ request: PictureRequest, _ answer: Task<Originals.Found, any Error>?, _ priority: PictureRequest.Priority
  ) {
    var request = request
    request.cachePolicy = .revalidate
    renewals.begin { [self, request] in
      if request.wantsFrames {
        _ = try? await animation(request, begun: 0, interest: Interest(priority))
      } else {
        _ = try? await load(request, begun: 0, interest: Interest(priority))
      }
      answer?.cancel()
    }
  }

  // MARK: From storage

  /// Returns the stored picture of the request's style, or nil. `original` has just been found valid. If it is new,
  /// only a picture made from exactly this original counts.
  private func styled(
    _ request: PictureRequest, _ version: UInt64, _ interest: Interest, of original: Originals.Found? = nil,
    mayDecode: Bool = true
  ) async throws -> Loaded? {
    guard request.style != .original,
      let kept = try await configuration.storage.trying({ try await $0.styled(request.style, for: request.key) })
        ?? nil
    else { return nil }
    if !mayDecode, case .encoded = kept.content { return nil }
    var record = record(kept)
    if let original, original.isNew, record.original != original.digest { return nil }
    if !mayShow(record, request) || original == nil && !isFresh(record, request) { return nil }
    let isForbidden = original?.record?.isNoStore == true
    if let original, record.original == original.digest, !isForbidden {
      record.set(original.record)
      if record.metadata != kept.metadata { try await renew(record, request, version, interest) }
    }
    guard let shown = try await shown(kept, request.style, of: request.key, interest) else { return nil }
    var loaded = loaded(shown.bitmap, record, request, version)
    loaded.response.decodeCount = shown.decodeCount
    // An answer 304 may forbid what an earlier answer allowed.
    loaded.isNoStore = isForbidden
    if let original, isForbidden, !original.isNew {
      try await originals.forget(original, of: request.key, begunAt: version, interest)
      loaded.version = nil
      return loaded
    }
    if case .encoded = kept.content, configuration.styledForm == .automatic, let version = loaded.version,
      let pixels = try await noteShowing(of: shown.bitmap, record, request, version, interest)
    {
      loaded.response = PictureResponse(pixels, .styled)
      loaded.response.decodeCount = shown.decodeCount
    }
    return loaded
  }

  /// Reads the record of a styled picture, with the age limit of the configuration.
  func record(_ kept: StoredStyled) -> StyledRecord {
    StyledRecord(metadata: kept.metadata, ageLimit: configuration.maximumAgeMilliseconds)
  }

  /// Whether the request's headers select the same original.
  func mayShow(_ record: StyledRecord, _ request: PictureRequest) -> Bool {
    request.cachePolicy == .cacheOnly || ResponseRecord.answers(record.vary, request.headers)
  }

  func isFresh(_ record: StyledRecord, _ request: PictureRequest) -> Bool {
    request.cachePolicy == .cacheOnly || record.isFresh(at: configuration.now())
  }

  private func loaded(_ bitmap: Bitmap, _ record: StyledRecord, _ request: PictureRequest, _ version: UInt64) -> Loaded
  {
    var loaded = Loaded(response: PictureResponse(bitmap, .styled), freshUntil: record.freshUntil)
    loaded.confirmedAt = record.confirmedAt
    loaded.vary = record.vary
    loaded.original = record.original
    loaded.version = versions.confirm(record.original, of: request.key, begunAt: version)
    return loaded
  }

  /// Returns the pixels of a stored picture, or nil if it can no longer be decoded and must be made again.
  func shown(
    _ kept: StoredStyled, _ style: ImageStyle, of key: String, _ interest: Interest
  ) async throws -> (bitmap: Bitmap, decodeCount: Int)? {
    switch kept.content {
    case .pixels(let bitmap): return (bitmap, 0)
    case .encoded(let bytes):
      do {
        let (picture, count) = try await decodes.picture(bytes, bytes.digest, of: key, for: [.original], interest)
        let bitmap = try await threads.run { try picture.image.rendered([.original])[0].converted(to: style.format) }
        return (bitmap, count)
      } catch is ImageError {
        return nil
      }
    }
  }
}
