import Vitrine

/// Provides pictures in styles from memory, the storage, or the network, in this order.
///
/// ```swift
/// let store = try CacheStore.open(at: folder)
/// let pipeline = PicturePipeline(.init(storage: StoreStorage(store)))
/// let avatar = try await pipeline.image(for: PictureRequest(url, style: .circle(60, scale: 2))).bitmap
/// ```
///
/// Concurrent requests for the same picture share one download, one decoding and one drawing. A canceled request
/// throws `CancellationError`; the shared work continues while other requests wait for it. If the storage fails,
/// pictures are still loaded. Thread-safe.
public final class PicturePipeline: Sendable {
  let configuration: Configuration
  let pictures: PictureLoader
  let memory: PictureMemory
  let preheater: Preheater
  private let pressure: MemoryPressure.Observation?

  /// Creates a pipeline. O(1); loads nothing.
  public init(_ configuration: Configuration) {
    self.configuration = configuration
    // A bitmap in memory costs at least a page.
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

  /// Returns the picture in the request's style. Throws ``LoadError``, ``ImageError``, `CancellationError`, and other
  /// errors of the loader.
  public func image(for request: PictureRequest) async throws -> PictureResponse {
    if let response = imageAtHand(for: request) { return response }
    return try await answering(request) {
      if let kept = try await self.pictures.kept(request) { return kept }
      return try await self.pictures.load(request, interest: Interest(request.priority))
    }
  }

  /// Returns a picture that is available without waiting: from memory, or pixels that the storage can return
  /// immediately. Takes some microseconds, so the first frame of a cell can use it. If it returns nil, call
  /// ``image(for:)``.
  public func imageAtHand(for request: PictureRequest) -> PictureResponse? {
    if let response = imageInMemory(for: request) { return response }
    guard let loaded = pictures.atHand(request) else { return nil }
    memory.keep(loaded, for: request)
    preheater.answered(request)
    return loaded.response
  }

  /// Returns the picture from memory, or nil if memory does not hold it.
  public func imageInMemory(for request: PictureRequest) -> PictureResponse? { memory.response(for: request) }

  /// Holds preheating back while `load` answers a request, and keeps the result in memory.
  func answering(
    _ request: PictureRequest, _ load: () async throws -> PictureLoader.Loaded
  ) async throws -> PictureResponse {
    // A request of preheating priority waits for the preheating places, so it must not hold preheating back.
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

  /// Waits for the revalidations of stale pictures that were shown, so that a program can end after it. If the task is
  /// canceled, cancels them, and returns when they have ended.
  public func finishRenewals() async { await pictures.renewals.end() }

  /// Waits for all work, also for that of canceled requests, so that the storage can be closed after it. If the task is
  /// canceled, cancels the revalidations. The program makes no request meanwhile.
  package func finishWork() async {
    // Work that ends may have begun a revalidation, and a revalidation is work.
    for _ in 0..<2 {
      await finishRenewals()
      await pictures.joined.end()
      await pictures.drawings.end()
      await pictures.originals.joined.end()
      await pictures.decodes.end()
    }
  }

  // MARK: Preheating

  /// Prepares pictures in the order of the requests: in the storage, and also in memory unless `destination` is the
  /// storage.
  ///
  /// Answers immediately; O(1) for each request. No preheating begins while another request is under way, nor within
  /// the configured pause after the last request or after this call, so that requests made at the same moment run
  /// first.
  ///
  /// Requests of one key and style count once; the picture is loaded into memory if one of them asks for that. Failures
  /// are not reported here: a later request meets them. At most 10,000 requests wait. One call keeps its first ones.
  /// Across calls the oldest ones are dropped, since an app that scrolls has passed them.
  public func startPreheating(_ requests: [PictureRequest], into destination: PreheatDestination = .memory) {
    preheater.start(requests, into: destination)
  }
  /// Stops preheating of these requests, for either destination. Waiting requests are dropped. A running one is
  /// canceled unless it is requested again within half a second.
  public func stopPreheating(_ requests: [PictureRequest]) { preheater.stop(requests) }
  /// Stops preheating of all requests, as ``stopPreheating(_:)`` does.
  public func stopAllPreheating() { preheater.stopAll() }

  // MARK: Memory

  /// Reduces the pictures in memory, and the received parts of abandoned downloads, to a share of their present cost,
  /// from 0 to 1.
  public func trimMemory(toShare share: Double = 0) {
    memory.trim(toShare: share)
    pictures.fetcher.trim(toShare: share)
  }
}
