/// The pictures of a pipeline in memory. A picture is not shown after the original of its key has changed.
///
/// Thread-safe.
final class PictureMemory: Sendable {
  private struct Kept: Sendable {
    let bitmap: Bitmap
    let freshUntil: Int64?
    let confirmedAt: Int64?
    /// The request headers that selected the original.
    let vary: [String: String]
    let version: UInt64
  }

  let versions: KeyVersions
  private let cache: MemoryCache<Preheater.Wish, Kept>
  private let now: @Sendable () -> Int64
  /// Recently kept styles that have a size.
  private let styles = Locked(RecencyList<ImageStyle, Void>())
  private static let mostStyles = 64

  /// `now` returns the milliseconds since 1970.
  init(_ limits: MemoryLimits, _ versions: KeyVersions, now: @escaping @Sendable () -> Int64) {
    cache = MemoryCache(limits: limits)
    self.versions = versions
    self.now = now
  }

  /// Returns a picture that may be shown immediately, or nil if there is none or the request must ask the network
  /// first.
  func response(for request: PictureRequest) -> PictureResponse? {
    guard request.mayShowKept, let kept = current(Preheater.Wish(request)) else { return nil }
    let isExact = request.cachePolicy == .cacheOnly
    if !isExact, let until = kept.freshUntil {
      let now = now()
      if now >= until || ResponseRecord.isAhead(kept.confirmedAt, now) { return nil }
    }
    if !isExact, !ResponseRecord.answers(kept.vary, request.headers) { return nil }
    return PictureResponse(kept.bitmap, .memory)
  }

  /// Whether a picture is in memory, fresh or stale.
  func contains(_ wish: Preheater.Wish) -> Bool { current(wish) != nil }

  private func current(_ wish: Preheater.Wish) -> Kept? {
    guard let kept = cache[wish] else { return nil }
    if versions.current(of: wish.key) == kept.version { return kept }
    cache.remove(wish)
    return nil
  }

  /// Returns the picture of the same key that looks most like the request: see ``NearestStyle``. Costs one lookup for
  /// each recent style.
  func nearest(to request: PictureRequest) -> PictureResponse? {
    for style in NearestStyle.order(styles.withLock { $0.keys }, near: request.style) {
      if let kept = current(Preheater.Wish(request.key, style)), ResponseRecord.answers(kept.vary, request.headers) {
        return PictureResponse(kept.bitmap, .placeholder)
      }
    }
    return nil
  }

  func keep(_ loaded: PictureLoader.Loaded, for request: PictureRequest) {
    guard let version = loaded.version else { return }
    let bitmap = loaded.response.bitmap
    let kept = Kept(
      bitmap: bitmap, freshUntil: loaded.freshUntil, confirmedAt: loaded.confirmedAt, vary: loaded.vary,
      version: version)
    let wish = Preheater.Wish(request)
    // A change of the key after this check is harmless, since each read compares versions.
    guard versions.current(of: wish.key) == version,
      cache.insert(kept, for: wish, cost: bitmap.memoryCost), request.style.size != nil
    else { return }
    styles.withLock { styles in
      styles.insert((), request.style)
      if styles.count > PictureMemory.mostStyles { styles.removeOldest() }
    }
  }

  func removeAll(where isUnwanted: (KeyText) -> Bool) { cache.removeAll { isUnwanted($0.key) } }
  func trim(toShare share: Double) { cache.trim(toCostShare: share) }

  /// The total cost in bytes: see ``Bitmap/memoryCost``.
  var totalCost: Int { cache.totalCost }
  var count: Int { cache.count }
}
