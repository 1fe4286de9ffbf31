import Vitrine

extension PictureLoader {
  /// Returns the animation of a request's picture, or nil if it has one frame. `begun` is the place of the request in
  /// the order of downloads and requests, by default the next one. Throws as ``load(_:begun:interest:)``, and
  /// ``ImageError`` for a damaged frame.
  func animation(
    _ request: PictureRequest, begun: UInt64? = nil, interest: Interest
  ) async throws -> AnimatedPicture? {
    var request = request
    request.wantsFrames = true
    let version = versions.begin(request.key)
    defer { versions.end(request.key) }
    let begun = begun ?? versions.takeOrdinal()
    if request.mayShowKept, let kept = try await keptAnimation(request), isFresh(record(kept), request) {
      return AnimatedPicture(kept)
    }
    var useless: Set<Digest> = []
    while true {
      let original = try await originals.original(
        for: request, version: version, begun: begun, interest, besides: useless)
      if original.isToBeRenewed { renew(request, original.answer, min(interest.priority, .low)) }
      do {
        return try await animation(request, of: original, version, interest)
      } catch let error as UnusableOriginal {
        useless.insert(error.digest)
      } catch let error as ImageError where original.isNew && error.condemnsPicture {
        // The answer is not a picture, such as a login page of the network.
        if original.requestCount == 0, original.arrival?.load != LoadRequest(request) {
          useless.insert(original.digest)
        } else if request.cachePolicy == .staleIfError, let kept = try await keptAnimation(request) {
          return AnimatedPicture(kept)
        } else {
          guard let kept = try await originals.standIn(for: request, besides: useless.union([original.digest])) else {
            throw error
          }
          do {
            return try await animation(request, of: kept, version, interest)
          } catch is UnusableOriginal {
            throw error
          }
        }
      }
    }
  }

  private func animation(
    _ request: PictureRequest, of original: Originals.Found, _ version: UInt64, _ interest: Interest
  ) async throws -> AnimatedPicture? {
    let isForbidden = original.record?.isNoStore == true
    if !(original.isNew && isForbidden), let kept = try await keptAnimation(request),
      record(kept).original == original.digest
    {
      if isForbidden {
        try await originals.forget(original, of: request.key, begunAt: version, interest)
      } else {
        try await renew(kept, original, request, version, interest)
      }
      return AnimatedPicture(kept)
    }
    // Only a styled picture of the original is stored.
    guard let bytes = original.bytes else { throw UnusableOriginal(digest: original.digest) }
    return try await animation(
      PictureOrder(
        request: request, family: [request.style], original: original, bytes: bytes, version: version,
        interest: interest))
  }

  // MARK: The stored animation

  /// Returns the stored animation that the request may show, fresh or stale.
  private func keptAnimation(_ request: PictureRequest) async throws -> StoredAnimation? {
    let kept = try await configuration.storage.trying { storage in
      try await (storage as? any AnimationStorage)?.animation(request.style, for: request.key)
    }
    guard let kept = kept ?? nil, mayShow(record(kept), request) else { return nil }
    return kept
  }

  private func record(_ kept: StoredAnimation) -> StyledRecord {
    StyledRecord(metadata: kept.metadata, ageLimit: configuration.maximumAgeMilliseconds)
  }

  /// Updates the records of an original that was downloaded or confirmed, and whose animation is stored.
  private func renew(
    _ kept: StoredAnimation, _ original: Originals.Found, _ request: PictureRequest, _ version: UInt64,
    _ interest: Interest
  ) async throws {
    var record = record(kept)
    record.set(original.record)
    let metadata = record.metadata
    if !original.isNew, metadata == kept.metadata { return }
    var order: PictureOrder?
    if let arrival = original.arrival, let bytes = original.bytes {
      var made = PictureOrder(
        request: request, family: [request.style], original: original, bytes: bytes, version: version,
        interest: interest)
      if arrival.keeping.withLock({ $0 }) != .kept { made.placeholder = try await placeholder(made) }
      order = made
    }
    try await writes.run(request.key, interest) { [order] in
      guard versions.admits(original.basis, of: request.key, begunAt: version) else { return }
      if let order { _ = try await keepOriginal(order, madeByteCount: .max) }
      try await configuration.storage.trying { storage in
        try await (storage as? any AnimationStorage)?.setMetadata(
          metadata, ofAnimation: request.style, madeFrom: original.digest, for: request.key)
      }
    }
  }

  // MARK: Drawing

  private func animation(_ order: PictureOrder) async throws -> AnimatedPicture? {
    // The original holds a place in ``Originals/bodies`` until its picture is drawn, as for a still picture.
    order.original.arrival?.follow(order.interest)
    defer { withExtendedLifetime(order.original.arrival) {} }
    let found = await frames(order)
    if case .success(nil) = found, !order.original.isNew { return nil }
    var order = order
    order.placeholder = try await placeholder(order)
    let drawer: FrameDrawer?
    switch found {
    case .success(let frames): drawer = frames
    case .failure(let error):
      try await keepIfFirst(order)
      throw error
    }
    guard let drawer else {
      // Later calls find the original, and need no download to learn that it has one frame.
      try await keepOriginalAlone(order)
      return nil
    }
    if let kept = try await stored(drawer, order) { return AnimatedPicture(kept) }
    // The sequence must not hold the place of the arrival, so it has the bytes only.
    let (bytes, style) = (order.bytes, order.request.style)
    return AnimatedPicture(drawer.times, .original { [self] in try await self.drawer(bytes, style) })
  }

  /// Returns the frames of the original, or nil for a picture of one frame. Fails if the file ends too early.
  private func frames(_ order: PictureOrder) async -> Result<FrameDrawer?, any Error> {
    do {
      let drawer = try await drawer(order.bytes, order.request.style)
      if let damage = drawer?.reader.damage { return .failure(damage) }
      return .success(drawer)
    } catch {
      return .failure(error)
    }
  }

  /// Decodes the first frame, so that bytes that are no picture replace no original. Returns its placeholder.
  private func placeholder(_ order: PictureOrder) async throws -> PlaceholderHash? {
    let (picture, _) = try await decoded(order)
    return try await placeholder(of: picture.image, order)
  }

  /// Returns nil for a picture of one frame.
  private func drawer(_ bytes: StoredBytes, _ style: ImageStyle) async throws -> FrameDrawer? {
    let decoder = configuration.decoder
    let reader = try await threads.run { () -> AnimationReader? in
      do {
        return try AnimationReader(bytes, decoder)
      } catch ImageError.unsupportedFormat {
        // The decoder may have formats of the program.
        return nil
      }
    }
    return reader.map { FrameDrawer(reader: $0, style: style, work: work, threads: threads) }
  }

  /// Records the original if its frames are not stored.
  private func keepOriginalAlone(_ order: PictureOrder) async throws {
    if order.isNoStore { return try await forgetOlder(order) }
    _ = try await writes.run(order.key, order.interest) { try await keepOriginal(order, madeByteCount: 0) }
  }

  /// Records an original whose frames cannot be read, unless it would replace another one. Later calls need no
  /// download.
  private func keepIfFirst(_ order: PictureOrder) async throws {
    if !order.original.isNew { return }
    let older = try await configuration.storage.trying { try await $0.original(for: order.key) }
    guard (older ?? nil) == nil, try await keptAnimation(order.request) == nil else { return }
    try await keepOriginalAlone(order)
  }

  /// Stores the original, and draws all frames into the storage. Returns nil if it does not keep them.
  private func stored(_ drawer: FrameDrawer, _ order: PictureOrder) async throws -> StoredAnimation? {
    guard let storage = configuration.storage as? any AnimationStorage, configuration.keeps.keepsStyled,
      !order.isNoStore, drawings.slow[order.key] != order.original.digest
    else {
      try await keepOriginalAlone(order)
      return nil
    }
    let version = try await writes.run(order.key, order.interest) {
      try await keepOriginal(order, madeByteCount: .max)
    }
    guard let version else { return nil }
    // Calls that begin during the drawing have this version.
    let drawing = Drawing(
      key: KeyText(order.key), family: order.family, original: order.original.digest, version: version,
      isNoStore: false)
    return try await drawings.animations.value(for: drawing, interest: order.interest) { [self] interest in
      let order = order.with(interest)
      guard let kept = try await saved(drawer, order, storage) else {
        try await keepOriginalAlone(order)
        return nil
      }
      return try await confirmed(kept, order, storage)
    }
  }

  /// Returns the stored animation, or removes it and returns nil if its key was changed during the drawing. A drawing
  /// may take long, so other changes of the key do not wait for it.
  private func confirmed(
    _ kept: StoredAnimation, _ order: PictureOrder, _ storage: any AnimationStorage
  ) async throws -> StoredAnimation? {
    // A task of its own, because the animation of a canceled request must be removed, too.
    try await Task { [self] in
      try await writes.run(order.key, order.interest) { () -> StoredAnimation? in
        if versions.admits(order.original.basis, of: order.key, begunAt: order.version) { return kept }
        try await configuration.storage.trying { _ in
          guard let left = try await storage.animation(order.request.style, for: order.key),
            record(left).original == order.original.digest
          else { return }
          try await storage.removeAnimation(order.request.style, for: order.key)
        }
        return nil
      }
    }.value
  }

  /// Returns nil if the storage refuses the frames, or if drawing them takes longer than the decoder's time limit.
  private func saved(
    _ drawer: FrameDrawer, _ order: PictureOrder, _ storage: any AnimationStorage
  ) async throws -> StoredAnimation? {
    let deadline = Deadline(milliseconds: configuration.decoder.limits.milliseconds)
    return try await withTaskCancellationHandler {
      try await drawings.turns.run(order.interest) { [self] in
        try await work.run(order.interest) {
          deadline.begin()
          do {
            return try await storage.saveAnimation(
              order.request.style, drawer.times, metadata: order.metadata, madeFrom: order.original.digest,
              for: order.key
            ) {
              try deadline.check()
              return try drawer.draw()
            }
          } catch let error as ImageError {
            throw error
          } catch is Deadline.IsOver {
            drawings.slow.insert(order.original.digest, for: order.key)
            return nil
          } catch {
            try Task.checkCancellation()
            return nil
          }
        }
      }
    } onCancel: {
      deadline.cancel()
    }
  }

  /// Ends a drawing on another thread. Thread-safe.
  private final class Deadline: Sendable {
    struct IsOver: Error {}

    private let time: Duration
    private let end = Locked<ContinuousClock.Instant?>(nil)
    private let isCanceled = Locked(false)

    init(milliseconds: Int) { time = .milliseconds(min(max(0, milliseconds), 1 << 40)) }

    func begin() { end.withLock { $0 = .now + time } }
    func cancel() { isCanceled.withLock { $0 = true } }

    func check() throws {
      if isCanceled.withLock({ $0 }) { throw CancellationError() }
      if let end = end.withLock({ $0 }), .now > end { throw IsOver() }
    }
  }
}

extension AnimatedPicture {
  fileprivate init(_ kept: StoredAnimation) { self.init(kept.times, .stored(kept)) }
}
