import Vitrine

/// Makes pictures of what is kept and of what servers give: the pipeline without its memory. One piece of work for all who
/// ask for the same at a time.
///
/// What the storage throws counts as nothing kept: a picture is shown without it. Safe from any thread.
final class PictureLoader: Sendable {
  typealias Configuration = ImagePipeline.Configuration

  struct Loaded: Sendable {
    var response: ImageResponse
    /// In milliseconds since 1970; nil for always.
    var freshUntil: Int64?
    /// Of the key that it is a picture of; nil for what is not to be kept, or is older than what the key stands for by now.
    var version: UInt64?
    /// Headers that chose the original.
    var vary: [String: String] = [:]
  }

  struct Job: Hashable, Sendable {
    let key: KeyText
    let style: ImageStyle
    let policy: ImageRequest.CachePolicy
    /// What came under the key meanwhile is not answered by work that began before.
    let version: UInt64
  }

  let configuration: Configuration
  let versions: KeyVersions
  let fetcher: HTTPFetcher
  let decodes: Decodes
  let writes: KeyedWrites
  /// Decoding, drawing into memory of their own, and encoding: as many as there may be decoded pictures.
  let work: LimitedQueue
  /// Downloading.
  let loads: LimitedQueue
  let threads = WorkerThreads()
  let originals: Originals
  let joined = JoinedWork<Job, Loaded>()
  let drawings = JoinedWork<Drawing, Drawn>()

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
      now: configuration.now)
    decodes = Decodes(configuration.decoder, work, threads)
  }

  func load(_ request: ImageRequest, interest: Interest) async throws -> Loaded {
    let version = versions.begin(request.key)
    defer { versions.end(request.key) }
    let job = Job(key: KeyText(request.key), style: request.style, policy: request.cachePolicy, version: version)
    while true {
      let isOwn = Locked(false)
      var loaded = try await joined.value(for: job, interest: interest) { [self] interest in
        isOwn.withLock { $0 = true }
        return try await make(request, version, interest)
      }
      if isOwn.withLock({ $0 }) { return loaded }
      // Joined somebody whose headers chose another picture: then it takes work of its own.
      if request.cachePolicy != .cacheOnly, !ResponseRecord.mayShare(loaded.vary, request.headers) { continue }
      (loaded.response.requestCount, loaded.response.receivedByteCount) = (0, 0)
      loaded.response.decodeCount = 0
      return loaded
    }
  }

  /// What is there in this moment, without waiting for anything: kept as it is to be shown, and at hand.
  func atHand(_ request: ImageRequest) -> Loaded? {
    guard request.mayShowKept, request.style != .original else { return nil }
    let version = versions.current(of: request.key)
    guard let kept = configuration.storage?.styledAtHand(request.style, for: request.key),
      case .pixels(let bitmap) = kept.content
    else { return nil }
    let record = StyledRecord(metadata: kept.metadata)
    return mayShow(record, request) && isFresh(record, request) ? loaded(bitmap, record, request, version) : nil
  }

  /// What is there at once: kept as it is to be shown, so that there is no work to share. Nil for nothing, for what has to be
  /// decoded, and where it must not be used.
  func kept(_ request: ImageRequest) async throws -> Loaded? {
    if !request.mayShowKept { return nil }
    let version = versions.current(of: request.key)
    return try await styled(request, version, Interest(request.priority), mayDecode: false)
  }

  private func make(_ request: ImageRequest, _ version: UInt64, _ interest: Interest) async throws -> Loaded {
    let family = configuration.families.first { $0.contains(request.style) } ?? [request.style]
    decodes.want(family, of: request.key)
    defer { decodes.wantNoMore(family, of: request.key) }
    if request.mayShowKept, let kept = try await styled(request, version, interest) { return kept }
    var useless: Set<Digest> = []
    while true {
      let original = try await originals.original(for: request, version: version, interest, besides: useless)
      if original.isToBeRenewed { renew(request) }
      do {
        return try await picture(request, family, of: original, besides: useless, version, interest)
      } catch let error as UnusableOriginal {
        // Kept, and no picture. Whoever may ask the network gets another, also where it cannot be removed.
        useless.insert(error.digest)
      }
    }
  }

  private func picture(
    _ request: ImageRequest, _ family: [ImageStyle], of original: Originals.Found, besides useless: Set<Digest>,
    _ version: UInt64, _ interest: Interest
  ) async throws -> Loaded {
    // Of what another's download has brought, somebody may have made it a moment ago.
    if original.isNew ? original.requestCount == 0 : request.cachePolicy != .reload,
      var kept = try await styled(request, version, interest, of: original)
    {
      if original.isNew { kept.version = versions.settle(original.digest, of: request.key, begunAt: version) }
      kept.response.requestCount = original.requestCount
      kept.response.receivedByteCount = original.receivedByteCount
      return kept
    }
    // What the style made of it cannot be shown; or it is another style that made something of it.
    guard let bytes = original.bytes else { throw UnusableOriginal(digest: original.digest) }
    do {
      return try await make(Making(request, family, original, bytes, version, interest))
    } catch let error as ImageError where original.isNew && error.condemnsPicture {
      // An answer that is no picture, such as a page that wants a password for the network.
      guard var kept = try await originals.standIn(for: request, besides: useless) else { throw error }
      (kept.requestCount, kept.receivedByteCount) = (original.requestCount, original.receivedByteCount)
      return try await picture(request, family, of: kept, besides: useless, version, interest)
    }
  }

  /// For the next who asks.
  private func renew(_ request: ImageRequest) {
    var request = request
    request.cachePolicy = .revalidate
    Task { [request] in _ = try? await load(request, interest: Interest(.low)) }
  }

  // MARK: From what is kept

  /// `original`: has just been found to be good, or good enough; of a new one only what was made from that very one.
  private func styled(
    _ request: ImageRequest, _ version: UInt64, _ interest: Interest, of original: Originals.Found? = nil,
    mayDecode: Bool = true
  ) async throws -> Loaded? {
    guard request.style != .original,
      let kept = try await configuration.storage.trying({ try await $0.styled(request.style, for: request.key) })
        ?? nil
    else { return nil }
    if !mayDecode, case .encoded = kept.content { return nil }
    var record = StyledRecord(metadata: kept.metadata)
    if let original, original.isNew, record.original != original.digest { return nil }
    if !mayShow(record, request) || original == nil && !isFresh(record, request) { return nil }
    if let original, record.original == original.digest {
      record.set(original.record)
      if record.metadata != kept.metadata { try await renew(record, request, version, interest) }
    }
    guard let shown = try await shown(kept, request.style, of: request.key, interest) else { return nil }
    var loaded = loaded(shown.bitmap, record, request, version)
    loaded.response.decodeCount = shown.decodeCount
    if case .encoded = kept.content, configuration.styledForm == .automatic, let version = loaded.version,
      let pixels = try await noteShowing(of: shown.bitmap, record, request, version, interest)
    {
      loaded.response = ImageResponse(pixels, .styled)
      loaded.response.decodeCount = shown.decodeCount
    }
    return loaded
  }

  /// Whether it is not of an original that other headers have chosen.
  private func mayShow(_ record: StyledRecord, _ request: ImageRequest) -> Bool {
    request.cachePolicy == .cacheOnly || ResponseRecord.answers(record.vary, request.headers)
  }

  private func isFresh(_ record: StyledRecord, _ request: ImageRequest) -> Bool {
    request.cachePolicy == .cacheOnly || record.freshUntil.map { configuration.now() < $0 } ?? true
  }

  private func loaded(_ bitmap: Bitmap, _ record: StyledRecord, _ request: ImageRequest, _ version: UInt64) -> Loaded {
    var loaded = Loaded(response: ImageResponse(bitmap, .styled), freshUntil: record.freshUntil)
    loaded.vary = record.vary
    loaded.version = versions.confirm(record.original, of: request.key, begunAt: version)
    return loaded
  }

  /// The pixels of what is kept; nil for what cannot be decoded any more, which then is made anew.
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
