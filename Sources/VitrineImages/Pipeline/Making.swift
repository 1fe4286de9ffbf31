import Vitrine

/// A picture to be made from an original.
struct Making: Sendable {
  let request: ImageRequest
  /// With the request's own style.
  let family: [ImageStyle]
  let original: Originals.Found
  /// Of the original.
  let bytes: StoredBytes
  /// Of the key when this began.
  let version: UInt64
  let interest: Interest

  init(
    _ request: ImageRequest, _ family: [ImageStyle], _ original: Originals.Found, _ bytes: StoredBytes,
    _ version: UInt64, _ interest: Interest
  ) {
    self.request = request
    self.family = family
    self.original = original
    self.bytes = bytes
    self.version = version
    self.interest = interest
  }

  var key: String { request.key }
  var isNoStore: Bool { original.record?.isNoStore == true }

  var metadata: [UInt8] { StyledRecord(original: original.digest, response: original.record).metadata }
}

/// What is drawn once for all who want a style of the family at the time, whatever they would have asked the network.
struct Drawing: Hashable, Sendable {
  let key: KeyText
  let family: [ImageStyle]
  let original: Digest
  let version: UInt64
  let isNoStore: Bool
}

struct Drawn: Sendable {
  /// All that could be drawn, and the first who asked for it its own.
  let bitmaps: [ImageStyle: Bitmap]
  /// That they are of; nil where they are not to be kept.
  let version: UInt64?
  let decodeCount: Int
}

/// An original was kept and could not be decoded; or it was not kept, and what a style made of it could not be shown.
struct UnusableOriginal: Error {
  let digest: Digest
}

extension PictureLoader {
  func make(_ making: Making) async throws -> Loaded {
    // While it waits to be decoded for preheating, an original takes no place from a request.
    making.original.arrival?.follow(making.interest)
    let style = making.request.style
    // A family is drawn whole where all of it is kept.
    let family = configuration.storage == nil || making.isNoStore ? [style] : making.family
    var (drawn, count): (Drawn?, Int) = (nil, 0)
    do {
      (drawn, count) = try await self.drawn(making, family)
    } catch let error as ImageError where family.count > 1 && !error.condemnsPicture && !error.isDamage {
      // Of who asked first, and could not be drawn: that keeps nobody else from theirs.
    }
    if drawn?.bitmaps[style] == nil { (drawn, count) = try await self.drawn(making, [style]) }
    guard let drawn, let bitmap = drawn.bitmaps[style] else {
      throw ImageError.invalidArgument("'\(style)' was not drawn")
    }
    var loaded = Loaded(
      response: ImageResponse(bitmap, making.original.isNew ? .network : .original),
      freshUntil: making.original.record?.freshUntil, version: drawn.version)
    loaded.vary = making.original.record?.vary ?? [:]
    loaded.response.requestCount = making.original.requestCount
    loaded.response.receivedByteCount = making.original.receivedByteCount
    loaded.response.decodeCount = count
    return loaded
  }

  /// Beside it how many times the picture was decoded for that, 0 where another's work served.
  private func drawn(_ making: Making, _ family: [ImageStyle]) async throws -> (Drawn, decodeCount: Int) {
    let drawing = Drawing(
      key: KeyText(making.key), family: family, original: making.original.digest, version: making.version,
      isNoStore: making.isNoStore)
    let isOwn = Locked(false)
    let drawn = try await drawings.value(for: drawing, interest: making.interest) { [self] interest in
      isOwn.withLock { $0 = true }
      let making = Making(making.request, family, making.original, making.bytes, making.version, interest)
      let (picture, count) = try await decoded(making)
      let (bitmaps, version) = try await draw(making, picture.image)
      // With it goes its place. An original that came is to be found until it is kept: see ``Arrivals``.
      withExtendedLifetime((picture, making.original.arrival)) {}
      return Drawn(bitmaps: bitmaps, version: version, decodeCount: count)
    }
    return (drawn, isOwn.withLock { $0 } ? drawn.decodeCount : 0)
  }

  private func decoded(_ making: Making) async throws -> (picture: Decodes.Picture, count: Int) {
    let (original, request) = (making.original, making.request)
    do {
      return try await decodes.picture(
        making.bytes, original.digest, of: making.key, for: making.family, making.interest)
    } catch let error as ImageError {
      if original.isNew {
        // Nor is it asked for by everybody who wants it in the next moment.
        if error.condemnsPicture {
          fetcher.remember(LoadRequest(url: request.url, headers: request.headers), "\(error)")
        }
        throw error
      }
      guard error.isDamage else { throw error }
      try await writes.run(making.key, making.interest) {
        guard versions.admits(original.digest, of: making.key, begunAt: making.version) else { return }
        try await configuration.storage.trying { try await $0.remove([making.key]) }
      }
      throw request.cachePolicy == .cacheOnly ? error : UnusableOriginal(digest: original.digest)
    }
  }

  // MARK: Drawing

  private typealias Bitmaps = [ImageStyle: Bitmap]

  /// The bitmaps, in the storage's memory where they are kept there, and the version that they are of.
  private func draw(_ making: Making, _ image: DecodedImage) async throws -> (Bitmaps, version: UInt64?) {
    if configuration.storage == nil || making.isNoStore {
      let style = making.request.style
      let bitmap = try await rendered([style], image)[0].bitmap
      if making.isNoStore {
        try await forgetOlder(making)
        return ([style: bitmap], nil)
      }
      return ([style: bitmap], versions.settle(making.original.digest, of: making.key, begunAt: making.version))
    }
    let isSingle = making.family.count == 1 && making.request.style.size != nil
    if isSingle, configuration.styledForm == .pixels, configuration.keeps.keepsStyled {
      return try await drawIntoStorage(making, image)
    }
    return try await drawAndKeep(making, image)
  }

  /// A single style is drawn where it will lie; where that does not go well, into memory.
  private func drawIntoStorage(_ making: Making, _ image: DecodedImage) async throws -> (Bitmaps, version: UInt64?) {
    let style = making.request.style
    let renderer = try StyleRenderer(style, picture: image.info.size, orientation: image.orientation)
    let (stored, version) = try await writes.run(making.key, making.interest) {
      () -> (StoredStyled?, UInt64?) in
      guard let version = try await keepOriginal(making, madeByteCount: renderer.layout.byteCount) else {
        return (nil, nil)
      }
      let stored = try await configuration.storage.trying {
        try await $0.drawStyled(
          style, layout: renderer.layout, metadata: making.metadata, madeFrom: making.original.digest, for: making.key
        ) { memory in
          try image.withRows { rows in try renderer.draw(rows, into: &memory) }
        }
      }
      return (stored ?? nil, version)
    }
    if case .pixels(let bitmap)? = stored?.content { return ([style: bitmap], version) }
    return ([style: try await rendered([style], image)[0].bitmap], version)
  }

  private func drawAndKeep(_ making: Making, _ image: DecodedImage) async throws -> (Bitmaps, version: UInt64?) {
    let style = making.request.style
    let others = making.family.filter { $0 != style }
    let drawn = try await rendered([style] + others, image)
    let made = drawn.filter { $0.style != .original }
    let keepsStyled = configuration.keeps.keepsStyled && !made.isEmpty
    let pictures = keepsStyled ? try await pictures(made, making.metadata) : []
    let madeByteCount = made.reduce(0) { $0 + $1.bitmap.layout.byteCount }
    let (stored, version) = try await writes.run(making.key, making.interest) {
      () -> ([StoredStyled], UInt64?) in
      guard let version = try await keepOriginal(making, madeByteCount: madeByteCount) else { return ([], nil) }
      if pictures.isEmpty { return ([], version) }
      let stored = try await configuration.storage.trying {
        try await $0.saveStyled(pictures, madeFrom: making.original.digest, for: making.key)
      }
      return (stored ?? [], version)
    }
    var bitmaps = Bitmaps(drawn.map { ($0.style, $0.bitmap) }) { first, _ in first }
    for (picture, stored) in zip(pictures, stored) {
      if case .pixels(let bitmap) = stored.content { bitmaps[picture.style] = bitmap }
    }
    return (bitmaps, version)
  }

  /// The first of `styles`, and the others with it. One of those that cannot be drawn does not keep it from the first.
  private func rendered(
    _ styles: [ImageStyle], _ image: DecodedImage
  ) async throws -> [(style: ImageStyle, bitmap: Bitmap)] {
    try await threads.run {
      if styles.count > 1, let bitmaps = try? image.rendered(styles), bitmaps.count == styles.count {
        return zip(styles, bitmaps).map { ($0, $1) }
      }
      guard let bitmap = try image.rendered([styles[0]]).first else {
        throw ImageError.invalidArgument("'\(styles[0])' was not drawn")
      }
      return [(styles[0], bitmap)]
    }
  }
}
