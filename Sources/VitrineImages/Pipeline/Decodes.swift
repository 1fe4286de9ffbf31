import Vitrine

/// Decodes pictures, each once for all styles that are wanted of it at the time, and as large as the largest of them needs.
///
/// Whoever holds a decoded picture holds the place that it was decoded in: no more are in memory at once than may be decoded
/// at once, and where drawing or writing falls behind, decoding waits. Safe from any thread.
final class Decodes: Sendable {
  /// Decoded pixels, and their place.
  final class Picture: Sendable {
    let image: DecodedImage
    private let place: LimitedQueue.Place

    fileprivate init(_ image: DecodedImage, _ place: LimitedQueue.Place) {
      self.image = image
      self.place = place
    }
  }

  /// One picture's bytes: a key may have others a moment later.
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
  /// Styles wanted of each key, with how many want them.
  private let wanted = Locked<[KeyText: [ImageStyle: Int]]>([:])
  /// Decoded, and still held by somebody.
  private let held = Locked<[Subject: Weak]>([:])

  init(_ decoder: any PictureDecoding, _ queue: LimitedQueue, _ threads: WorkerThreads) {
    self.decoder = decoder
    self.queue = queue
    self.threads = threads
  }

  /// Announces styles from before their bytes are there, so that who decodes first knows of all.
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

  /// The picture, large enough for `styles`, and how many times it was decoded for that, 0 where another's work served.
  /// To be held until it is drawn, and no longer; who holds one must not ask for another. Throws ``ImageError`` and
  /// `CancellationError`.
  func picture(
    _ bytes: StoredBytes, _ digest: Digest, of key: String, for styles: [ImageStyle], _ interest: Interest
  ) async throws -> (picture: Picture, count: Int) {
    let subject = Subject(key: KeyText(key), digest: digest)
    let count = Locked(0)
    if let shared = try await shared(bytes, subject, styles, count, interest) {
      return (shared, count.withLock { $0 })
    }
    // Begun before these styles were known of.
    let own = try await decode(bytes, subject, styles, interest)
    return (own, count.withLock { $0 } + 1)
  }

  /// Nil where it is too small; then nothing of it is held any more.
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
      // As many as are held at once, and those let go since the last time.
      held = held.filter { $0.value.picture != nil }
      held[subject] = Weak(picture: picture)
    }
    return picture
  }

  /// Upright, as the decoder is asked; nil for all of it.
  private static func sufficientSize(_ info: ImageInfo, for styles: [ImageStyle]) throws(ImageError) -> PixelSize? {
    var renderers: [StyleRenderer] = []
    for style in styles {
      if style.size == nil { return nil }
      renderers.append(try StyleRenderer(style, picture: info.size, orientation: info.orientation))
    }
    return StyleRenderer.sufficientSize(of: renderers).map { info.orientation.applied(to: $0) }
  }

  private func isEnough(_ image: DecodedImage, for styles: [ImageStyle]) -> Bool {
    if image.size == image.info.size { return true }
    guard let needed = try? Decodes.sufficientSize(image.info, for: styles) else { return false }
    let stored = image.orientation.applied(to: needed)
    return image.size.width >= stored.width && image.size.height >= stored.height
  }
}
