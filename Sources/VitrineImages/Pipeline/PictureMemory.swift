/// Pictures of a pipeline in memory, none of which is shown once something else is under its key.
///
/// Safe from any thread.
final class PictureMemory: Sendable {
  private struct Kept: Sendable {
    let bitmap: Bitmap
    let freshUntil: Int64?
    /// Headers that chose the original.
    let vary: [String: String]
    let version: UInt64
  }

  let versions: KeyVersions
  private let cache: MemoryCache<Preheater.Wish, Kept>
  private let now: @Sendable () -> Int64
  /// Styles with a size that were kept lately.
  private let styles = Locked(RecencyList<ImageStyle, Void>())
  private static let mostStyles = 64

  /// `now`: milliseconds since 1970.
  init(_ limits: MemoryLimits, _ versions: KeyVersions, now: @escaping @Sendable () -> Int64) {
    cache = MemoryCache(limits: limits)
    self.versions = versions
    self.now = now
  }

  /// What may be shown at once to a request; nil where it wants to ask the network first.
  func response(for request: ImageRequest) -> ImageResponse? {
    guard request.mayShowKept, let kept = current(Preheater.Wish(request)) else { return nil }
    let isExact = request.cachePolicy == .cacheOnly
    if !isExact, let until = kept.freshUntil, now() >= until { return nil }
    if !isExact, !ResponseRecord.answers(kept.vary, request.headers) { return nil }
    return ImageResponse(kept.bitmap, .memory)
  }

  /// Whether there is a picture, fresh or not.
  func contains(_ wish: Preheater.Wish) -> Bool { current(wish) != nil }

  private func current(_ wish: Preheater.Wish) -> Kept? {
    guard let kept = cache[wish] else { return nil }
    if versions.current(of: wish.key) == kept.version { return kept }
    cache.remove(wish)
    return nil
  }

  /// The picture of the same key that looks most like it: see ``NearestStyle``. One lookup for each style kept lately.
  func nearest(to request: ImageRequest) -> ImageResponse? {
    for style in NearestStyle.order(styles.withLock { $0.keys }, near: request.style) {
      if let kept = current(Preheater.Wish(request.key, style)), ResponseRecord.answers(kept.vary, request.headers) {
        return ImageResponse(kept.bitmap, .placeholder)
      }
    }
    return nil
  }

  func keep(_ loaded: PictureLoader.Loaded, for request: ImageRequest) {
    guard let version = loaded.version else { return }
    let bitmap = loaded.response.bitmap
    let kept = Kept(bitmap: bitmap, freshUntil: loaded.freshUntil, vary: loaded.vary, version: version)
    let wish = Preheater.Wish(request)
    // What is too late by a moment is found to be by whoever looks.
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

  /// Bytes: see ``Bitmap/memoryCost``.
  var totalCost: Int { cache.totalCost }
  var count: Int { cache.count }
}
