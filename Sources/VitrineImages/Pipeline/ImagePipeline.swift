import Vitrine

/// Gives pictures in styles: from memory, from a store, from the network, whichever has them first.
///
/// ```swift
/// let store = try CacheStore.open(at: folder)
/// let pipeline = ImagePipeline(.init(storage: StoreStorage(store)))
/// let avatar = try await pipeline.image(for: ImageRequest(url, style: .circle(60, scale: 2))).bitmap
/// ```
///
/// However many ask for the same at a time, it is downloaded, decoded and drawn once. Whoever is cancelled gets
/// `CancellationError`; the work goes on while others wait for it. A storage that fails fails no picture. Safe from any
/// thread.
public final class ImagePipeline: Sendable {
  let configuration: Configuration
  let pictures: PictureLoader
  let memory: PictureMemory
  let preheater: Preheater
  private let pressure: MemoryPressure.Observation?

  /// Makes a pipeline. O(1); loads nothing.
  public init(_ configuration: Configuration) {
    self.configuration = configuration
    // A bitmap in memory costs a page at least.
    let versions = KeyVersions(
      keyCount: max(KeyVersions.usualCount, min(configuration.memory.count, configuration.memory.cost / 4096)))
    let pictures = PictureLoader(configuration, versions)
    let memory = PictureMemory(configuration.memory, versions, now: configuration.now)
    self.pictures = pictures
    self.memory = memory
    preheater = Preheater(
      limit: configuration.preheatingLimit, pauseMilliseconds: configuration.preheatingPauseMilliseconds,
      admit: pictures.setAdmitsPreheating
    ) { request, destination in
      switch destination {
      case .memory:
        if memory.contains(Preheater.Wish(request)) { return }
        memory.keep(try await pictures.load(request, interest: Interest(.preheating)), for: request)
      case .store:
        guard configuration.storage != nil, try await !pictures.isKept(request) else { return }
        _ = try await pictures.load(request, interest: Interest(.preheating))
      }
    }
    pressure = configuration.memoryPressure?.observe { level in
      memory.trim(toShare: level.share)
      pictures.fetcher.trim(toShare: level.share)
    }
  }

  // MARK: Pictures

  /// The picture in the request's style. Throws ``LoadError``, ``ImageError``, `CancellationError`, and what the loader
  /// throws besides.
  public func image(for request: ImageRequest) async throws -> ImageResponse {
    if let response = imageAtHand(for: request) { return response }
    return try await answering(request) {
      if let kept = try await self.pictures.kept(request) { return kept }
      return try await self.pictures.load(request, interest: Interest(request.priority))
    }
  }

  /// What can be shown in this moment, without waiting for anything: from memory, or from a storage that has its pixels at
  /// hand. For the first frame of a cell; some microseconds. Nil where ``image(for:)`` has to be asked.
  public func imageAtHand(for request: ImageRequest) -> ImageResponse? {
    if let response = imageInMemory(for: request) { return response }
    guard let loaded = pictures.atHand(request) else { return nil }
    memory.keep(loaded, for: request)
    preheater.answered(request)
    return loaded.response
  }

  /// What memory holds.
  public func imageInMemory(for request: ImageRequest) -> ImageResponse? { memory.response(for: request) }

  /// Keeps preheating aside while `load` answers a request, and what comes of it in memory.
  func answering(
    _ request: ImageRequest, _ load: () async throws -> PictureLoader.Loaded
  ) async throws -> ImageResponse {
    // What waits for preheating's places must not be what keeps preheating waiting.
    if request.priority == .preheating {
      let loaded = try await load()
      memory.keep(loaded, for: request)
      preheater.answered(request)
      return loaded.response
    }
    preheater.requestBegan()
    do {
      let loaded = try await load()
      memory.keep(loaded, for: request)
      preheater.requestEnded(request, hasSucceeded: true)
      return loaded.response
    } catch {
      preheater.requestEnded(request, hasSucceeded: false)
      throw error
    }
  }

  // MARK: Preheating

  /// Makes pictures ready for when they are asked for: in the storage, and in memory too unless `destination` is the storage
  /// alone. First in, first out; nothing begins while a request is under way, nor within the configured pause behind the last
  /// one or behind this call, so that requests of the same moment go first.
  ///
  /// The same key and style twice counts once, and if it is wanted in memory by one of them it comes there. What fails is
  /// left to who asks for it. At most 10,000 wait: the first of one call; of several calls the last, since what was asked
  /// for longest ago has been scrolled past. Answers at once; O(1) for each request.
  public func startPreheating(_ requests: [ImageRequest], into destination: PreheatDestination = .memory) {
    preheater.start(requests, into: destination)
  }
  /// What has not begun is left out; what has is cancelled unless it is asked for again within half a second. Wherever it
  /// was to come.
  public func stopPreheating(_ requests: [ImageRequest]) { preheater.stop(requests) }
  /// Stops preheating of all requests, as ``stopPreheating(_:)`` does.
  public func stopAllPreheating() { preheater.stopAll() }

  // MARK: Memory

  /// Lets go of what memory holds, down to a share of what it holds now: pictures, and what has come of downloads that were
  /// given up.
  public func trimMemory(toShare share: Double = 0) {
    memory.trim(toShare: share)
    pictures.fetcher.trim(toShare: share)
  }
}
