import Vitrine

/// A picture to be made from an original.
struct PictureOrder: Sendable {
  let request: PictureRequest
  /// The styles to draw, including the request's own.
  var family: [ImageStyle]
  let original: Originals.Found
  /// The bytes of the original.
  let bytes: StoredBytes
  /// The version of the key when the work began.
  let version: UInt64
  var interest: Interest
  /// The placeholder of a downloaded original, computed when it has been decoded.
  var placeholder: PlaceholderHash?

  var key: String { request.key }
  var isNoStore: Bool { original.record?.isNoStore == true }

  /// Returns the order with the interest of all its requests.
  func with(_ interest: Interest) -> PictureOrder {
    var order = self
    order.interest = interest
    return order
  }

  var metadata: [UInt8] { StyledRecord(original: original.digest, response: original.record).metadata }
}

/// The drawings under way.
struct Drawings: Sendable {
  let stills = JoinedWork<Drawing, Drawn>()
  let animations = JoinedWork<Drawing, StoredAnimation?>()
  /// Animations take long, so still pictures get most places of decoding.
  let turns = LimitedQueue(limit: 2, preheatingLimit: 1)
  /// The originals of animations that took too long to draw, by key.
  let slow = MemoryCache<String, Digest>(limits: .init(count: 1000))

  /// Returns when no drawing is under way.
  func end() async {
    await stills.end()
    await animations.end()
  }
}

/// One drawing shared by all requests that want a style of the family at the time, under any cache policy.
struct Drawing: Hashable, Sendable {
  let key: KeyText
  let family: [ImageStyle]
  let original: Digest
  let version: UInt64
  let isNoStore: Bool
}

struct Drawn: Sendable {
  /// The bitmaps of all styles that could be drawn, always including the style of the request that started the
  /// drawing.
  let bitmaps: [ImageStyle: Bitmap]
  /// The version of the bitmaps, or nil if they must not be kept.
  let version: UInt64?
  let decodeCount: Int
}

/// The error for an original that cannot be used. The request then looks for another one. Either the stored original
/// cannot be decoded, or another URL of the key answered with bytes that are no picture, or no original is stored and
/// the stored styled pictures cannot be shown.
struct UnusableOriginal: Error {
  let digest: Digest
}

extension PictureLoader {
  func make(_ order: PictureOrder) async throws -> Loaded {
    // The original holds a place in ``Originals/bodies``. If only preheating still wants the original, the place
    // becomes a preheating place, so requests do not wait for it.
    order.original.arrival?.follow(order.interest)
    let style = order.request.style
    // A whole family is drawn only if the storage can keep it.
    let family = configuration.storage == nil || order.isNoStore ? [style] : order.family
    var (drawn, count): (Drawn?, Int) = (nil, 0)
    do {
      (drawn, count) = try await self.drawn(order, family)
    } catch let error as ImageError where family.count > 1 && !error.condemnsPicture && !error.isDamage {
      // The style of the request that started the drawing failed. The other requests draw their own styles.
    }
    if drawn?.bitmaps[style] == nil { (drawn, count) = try await self.drawn(order, [style]) }
    guard let drawn, let bitmap = drawn.bitmaps[style] else {
      throw ImageError.invalidArgument("no picture of the style '\(style)' was drawn")
    }
    var loaded = Loaded(
      response: PictureResponse(bitmap, order.original.isNew ? .network : .original),
      freshUntil: order.original.record?.freshUntil, version: drawn.version)
    loaded.confirmedAt = order.original.record?.confirmedAt
    loaded.vary = order.original.record?.vary ?? [:]
    (loaded.original, loaded.isNoStore) = (order.original.digest, order.isNoStore)
    loaded.answered = order.original.answered
    loaded.response.requestCount = order.original.requestCount
    loaded.response.receivedByteCount = order.original.receivedByteCount
    loaded.response.decodeCount = count
    return loaded
  }

  /// Returns the drawing, and the number of decodings for this call; 0 if another call decoded the picture.
  private func drawn(_ order: PictureOrder, _ family: [ImageStyle]) async throws -> (Drawn, decodeCount: Int) {
    let drawing = Drawing(
      key: KeyText(order.key), family: family, original: order.original.digest, version: order.version,
      isNoStore: order.isNoStore)
    let isOwn = Locked(false)
    let drawn = try await joinedDrawing(drawing, order, isOwn) { [self] interest in
      isOwn.withLock { $0 = true }
      var order = order.with(interest)
      order.family = family
      let (picture, count) = try await decoded(order)
      order.placeholder = try await placeholder(of: picture.image, order)
      let (bitmaps, version) = try await draw(order, picture.image)
      // Holds the picture's place until here. A new original must stay findable until it is stored: see ``Arrivals``.
      withExtendedLifetime((picture, order.original.arrival)) {}
      return Drawn(bitmaps: bitmaps, version: version, decodeCount: count)
    }
    return (drawn, isOwn.withLock { $0 } ? drawn.decodeCount : 0)
  }

  /// Joins the drawing, or begins it. If a request that may not use the network began it, and found the stored original
  /// damaged, this request downloads the original.
  private func joinedDrawing(
    _ drawing: Drawing, _ order: PictureOrder, _ isOwn: Locked<Bool>,
    _ body: @escaping @Sendable (Interest) async throws -> Drawn
  ) async throws -> Drawn {
    do {
      return try await drawings.stills.value(for: drawing, interest: order.interest, body)
    } catch let error as ImageError
      where !isOwn.withLock({ $0 }) && !order.original.isNew && error.isDamage
      && order.request.cachePolicy != .cacheOnly
    {
      throw UnusableOriginal(digest: order.original.digest)
    }
  }

  func decoded(_ order: PictureOrder) async throws -> (picture: Decodes.Picture, count: Int) {
    let (original, request) = (order.original, order.request)
    do {
      return try await decodes.picture(
        order.bytes, original.digest, of: order.key, for: order.family, order.interest)
    } catch let error as ImageError {
      if original.isNew {
        // The failure is remembered, so the next requests do not download these bytes again.
        if error.condemnsPicture {
          fetcher.remember(original.arrival?.load ?? LoadRequest(request), "\(error)")
        }
        throw error
      }
      guard error.isDamage else { throw error }
      try await writes.run(order.key, order.interest) {
        guard versions.admits(original.basis, of: order.key, begunAt: order.version) else { return }
        try await configuration.storage.trying { try await $0.remove([order.key]) }
      }
      throw request.cachePolicy == .cacheOnly ? error : UnusableOriginal(digest: original.digest)
    }
  }

  // MARK: Drawing

  private typealias Bitmaps = [ImageStyle: Bitmap]

  /// Returns the bitmaps, mapped from the storage if it keeps them, and their version.
  private func draw(_ order: PictureOrder, _ image: DecodedImage) async throws -> (Bitmaps, version: UInt64?) {
    if configuration.storage == nil || order.isNoStore {
      let style = order.request.style
      let bitmap = try await rendered([style], image)[0].bitmap
      if order.isNoStore {
        try await forgetOlder(order)
        return ([style: bitmap], nil)
      }
      return ([style: bitmap], settle(order.original, of: order.key, begunAt: order.version))
    }
    let isSingle = order.family.count == 1 && order.request.style.size != nil
    if isSingle, configuration.styledForm == .pixels, configuration.keeps.keepsStyled {
      return try await drawIntoStorage(order, image)
    }
    return try await drawAndKeep(order, image)
  }

  /// Draws a single style into the room reserved for it in the storage. If that fails, draws it into memory.
  private func drawIntoStorage(_ order: PictureOrder, _ image: DecodedImage) async throws -> (Bitmaps, version: UInt64?)
  {
    let style = order.request.style
    let renderer = try StyleRenderer(style, image.info, orientation: image.orientation)
    let (stored, version) = try await writes.run(order.key, order.interest) {
      () -> (StoredStyled?, UInt64?) in
      guard let version = try await keepOriginal(order, madeByteCount: renderer.layout.byteCount) else {
        return (nil, nil)
      }
      let stored = try await configuration.storage.trying {
        try await $0.drawStyled(
          style, layout: renderer.layout, metadata: order.metadata, madeFrom: order.original.digest, for: order.key
        ) { memory in
          try image.withRows { rows in try renderer.draw(rows, into: &memory) }
        }
      }
      return (stored ?? nil, version)
    }
    if case .pixels(let bitmap)? = stored?.content { return ([style: bitmap], version) }
    return ([style: try await rendered([style], image)[0].bitmap], version)
  }

  private func drawAndKeep(_ order: PictureOrder, _ image: DecodedImage) async throws -> (Bitmaps, version: UInt64?) {
    let style = order.request.style
    let others = order.family.filter { $0 != style }
    let drawn = try await rendered([style] + others, image)
    let made = drawn.filter { $0.style != .original }
    let keepsStyled = configuration.keeps.keepsStyled && !made.isEmpty
    let pictures = keepsStyled ? try await pictures(made, order.metadata) : []
    let madeByteCount = made.reduce(0) { $0 + $1.bitmap.layout.byteCount }
    let (stored, version) = try await writes.run(order.key, order.interest) {
      () -> ([StoredStyled], UInt64?) in
      guard let version = try await keepOriginal(order, madeByteCount: madeByteCount) else { return ([], nil) }
      if pictures.isEmpty { return ([], version) }
      let stored = try await configuration.storage.trying {
        try await $0.saveStyled(pictures, madeFrom: order.original.digest, for: order.key)
      }
      return (stored ?? [], version)
    }
    var bitmaps = Bitmaps(drawn.map { ($0.style, $0.bitmap) }) { first, _ in first }
    for (picture, stored) in zip(pictures, stored) {
      if case .pixels(let bitmap) = stored.content { bitmaps[picture.style] = bitmap }
    }
    return (bitmaps, version)
  }

  /// Draws `styles` in one pass. If one of them fails, draws only the first.
  private func rendered(
    _ styles: [ImageStyle], _ image: DecodedImage
  ) async throws -> [(style: ImageStyle, bitmap: Bitmap)] {
    try await threads.run {
      if styles.count > 1, let bitmaps = try? image.rendered(styles), bitmaps.count == styles.count {
        return zip(styles, bitmaps).map { ($0, $1) }
      }
      guard let bitmap = try image.rendered([styles[0]]).first else {
        throw ImageError.invalidArgument("no picture of the style '\(styles[0])' was drawn")
      }
      return [(styles[0], bitmap)]
    }
  }
}
