import Vitrine

/// Decodes pictures, each once for all styles wanted at the time, as large as the largest of these styles needs.
///
/// A ``Picture`` occupies its place in the decoding queue until it is released. So no more pictures are in memory at
/// once than may be decoded at once, and decoding waits if drawing or writing falls behind. Thread-safe.
final class Decodes: Sendable {
  /// Decoded pixels with their place in the queue.
  final class Picture: Sendable {
    let image: DecodedImage
    private let place: LimitedQueue.Place

    fileprivate init(_ image: DecodedImage, _ place: LimitedQueue.Place) {
      self.image = image
      self.place = place
    }
  }

  /// The bytes of one picture. The digest belongs to it because a key may get other bytes at any time.
  private struct Subject: Hashable, Sendable {
    let key: KeyText
    let digest: Digest
  }

  private struct Weak {
    weak var picture: Picture?
  }

  private let decoder: any PictureDecoding
  private let queue: LimitedQueue
  private let threads: WorkerThreads
  private let joined = JoinedWork<Subject, Picture>()
  /// The wanted styles of each key, with the number of requests for each style.
  private let wanted = Locked<[KeyText: [ImageStyle: Int]]>([:])
  /// Decoded pictures that are still in use.
  private let held = Locked<[Subject: Weak]>([:])

  init(_ decoder: any PictureDecoding, _ queue: LimitedQueue, _ threads: WorkerThreads) {
    self.decoder = decoder
    self.queue = queue
    self.threads = threads
  }

  /// Announces styles before their bytes have arrived, so that the first decoding can be large enough for all of them.
  func want(_ styles: [ImageStyle], of key: String) {
    let key = KeyText(key)
    wanted.withLock { wanted in for style in styles { wanted[key, default: [:]][style, default: 0] += 1 } }
  }

  func wantNoMore(_ styles: [ImageStyle], of key: String) {
    let key = KeyText(key)
    wanted.withLock { wanted in
      for style in styles {
        guard let count = wanted[key]?[style] else { continue }
        wanted[key]?[style] = count > 1 ? count - 1 : nil
      }
      if wanted[key]?.isEmpty == true { wanted[key] = nil }
    }
  }

  /// Returns the picture, decoded large enough for `styles`, and the number of decodings for this call; 0 if another
  /// call decoded it. The caller must release the picture once it is drawn, and must not ask for another while it
  /// holds one. Throws ``ImageError`` and `CancellationError`.
  func picture(
    _ bytes: StoredBytes, _ digest: Digest, of key: String, for styles: [ImageStyle], _ interest: Interest
  ) async throws -> (picture: Picture, count: Int) {
    let subject = Subject(key: KeyText(key), digest: digest)
    let count = Locked(0)
    if let shared = try await shared(bytes, subject, styles, count, interest) {
      return (shared, count.withLock { $0 })
    }
    // The joined decoding began before these styles were announced, and is too small for them.
    let own = try await decode(bytes, subject, styles, interest)
    return (own, count.withLock { $0 } + 1)
  }

  /// Returns nil if the joined picture is too small. The function then holds no reference to it.
  private func shared(
    _ bytes: StoredBytes, _ subject: Subject, _ styles: [ImageStyle], _ count: Locked<Int>, _ interest: Interest
  ) async throws -> Picture? {
    let shared = try await joined.value(for: subject, interest: interest) { interest in
      if let held = self.held(subject), self.isEnough(held.image, for: styles) { return held }
      count.withLock { $0 += 1 }
      let all = self.wanted.withLock { Array(($0[subject.key] ?? [:]).keys) } + styles
      return try await self.decode(bytes, subject, all, interest)
    }
    return isEnough(shared.image, for: styles) ? shared : nil
  }

  /// The number of callers that wait for a decoding under way.
  var waiterCount: Int { joined.waiterCount }

  /// Returns when no decoding is under way.
  func end() async { await joined.end() }

  private func held(_ subject: Subject) -> Picture? { held.withLock { $0[subject]?.picture } }

  private func decode(
    _ bytes: StoredBytes, _ subject: Subject, _ styles: [ImageStyle], _ interest: Interest
  ) async throws -> Picture {
    let place = try await queue.place(interest)
    let image = try await threads.run { [decoder] in
      try bytes.withBytes { bytes in
        try decoder.decode(bytes) { info throws(ImageError) in try Decodes.sufficientSize(info, for: styles) }
      }
    }
    let picture = Picture(image, place)
    held.withLock { held in
      // Removes the entries of released pictures, so the table stays as small as the number of live ones.
      held = held.filter { $0.value.picture != nil }
      held[subject] = Weak(picture: picture)
    }
    return picture
  }

  /// Returns the upright size to ask the decoder for, in pixels, or nil for full size.
  static func sufficientSize(_ info: ImageInfo, for styles: [ImageStyle]) throws(ImageError) -> PixelSize? {
    var renderers: [StyleRenderer] = []
    for style in styles {
      // A larger vector picture is reduced for an original.
      if style.size == nil { if info.isVector { continue } else { return nil } }
      renderers.append(try StyleRenderer(style, info, orientation: info.orientation))
    }
    guard let size = StyleRenderer.sufficientSize(of: renderers) else { return nil }
    let least = info.isVector && renderers.count < styles.count ? info.size : PixelSize(width: 1, height: 1)
    return info.orientation.applied(
      to: PixelSize(width: max(size.width, least.width), height: max(size.height, least.height)))
  }

  private func isEnough(_ image: DecodedImage, for styles: [ImageStyle]) -> Bool {
    let (size, info) = (image.size, image.info)
    if size == info.size, !info.isVector { return true }
    guard let needed = try? Decodes.sufficientSize(info, for: styles) ?? (info.isVector ? info.size : nil) else {
      return false
    }
    var stored = image.orientation.applied(to: needed)
    if info.isVector { stored = VectorScale.size(of: info.size, atLeast: stored, decoder.limits) }
    return size.width >= stored.width && size.height >= stored.height
  }
}
