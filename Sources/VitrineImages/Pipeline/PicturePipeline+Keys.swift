import Vitrine

extension PicturePipeline {
  // MARK: Saving

  /// Stores a bitmap as the original of a key, in place of the previous original. Pictures that styles made from the
  /// previous one become misses, in the storage, in memory, and in work under way. The encoding is limited like a
  /// decoding.
  ///
  /// - Parameters:
  ///   - image: The bitmap, within the decoder's limits.
  ///   - key: The key of the original.
  ///   - format: The format, or nil for the choice of the configured encoder: by default JPEG of quality 0.8, or PNG if
  ///     pixels are transparent.
  ///   - quality: The quality of JPEG and WebP, 0 to 1. Nil: 0.8, or the encoder's if `format` is nil.
  /// - Throws: `cannotEncode` if the format cannot hold the pixels, such as transparent ones in JPEG; `tooLarge` above
  ///   the decoder's limits, since the picture could not be shown again; `invalidArgument` without a storage. After
  ///   these errors nothing has changed. If the storage throws, the key may have lost its previous original.
  public func save(
    _ image: Bitmap, _ key: String, format: ImageFormat? = nil, quality: Double? = nil
  ) async throws {
    let (encoder, decoder) = (configuration.encoder, configuration.decoder)
    let kind = configuration.placeholders
    let (bytes, placeholder) = try await pictures.busy {
      try decoder.limits.check(image.size)
      let bytes =
        if let format { try ImageEncoder.encode(image, as: try .init(format, quality: quality)) } else {
          try encoder.with(quality: quality).encode(image).bytes
        }
      // The memory that a decoding needs also depends on the format.
      _ = try DecodingPlan(ImageDecoder().info(of: bytes), atLeast: nil, decoder.limits)
      return (bytes, try kind.map { try PlaceholderHash($0, of: image) })
    }
    try await pictures.save(bytes, key, placeholder)
  }

  /// Stores the bytes of an encoded picture as the original of a key. Decodes them first: if that fails, throws
  /// ``ImageError`` and changes nothing. Other errors and effects are those of ``save(_:_:format:quality:)``.
  public func save(_ bytes: [UInt8], _ key: String) async throws {
    let (decoder, kind) = (configuration.decoder, configuration.placeholders)
    let placeholder = try await pictures.busy {
      let image = try decoder.decode(bytes)
      return kind.map { PlaceholderHash($0, of: image) }
    }
    try await pictures.save(bytes, key, placeholder)
  }

  /// Returns the picture of a key in a style from memory or the storage, or nil if it is in neither. Never uses the
  /// network. Throws as ``image(for:)`` does.
  public func load(_ key: String, style: ImageStyle = .original) async throws -> PictureResponse? {
    do {
      return try await image(for: PictureRequest(key, style: style, cachePolicy: .cacheOnly))
    } catch LoadError.notCached {
      return nil
    }
  }

  // MARK: Forgetting

  /// Removes some keys from the storage and from memory. Work under way for them is not stored. Throws errors of the
  /// storage.
  public func clear(_ keys: [String]) async throws {
    let gone = Set(keys.map(KeyText.init))
    try await changing {
      try await self.configuration.storage?.remove(keys)
    } then: {
      for key in gone { self.memory.versions.advance(key.text) }
      self.memory.removeAll { gone.contains($0) }
    }
  }

  /// Removes all keys except `keys`, or all keys with `prefix` except those. Writes of other pictures wait until it is
  /// done. Throws errors of the storage.
  public func retain(only keys: [String], prefix: String? = nil) async throws {
    let left = Set(keys.map(KeyText.init))
    let isGone = { (key: KeyText) in key.hasPrefix(prefix ?? "") && !left.contains(key) }
    try await changing {
      try await self.configuration.storage?.retain(only: keys, prefix: prefix)
    } then: {
      self.memory.versions.advance(where: isGone)
      self.memory.removeAll(where: isGone)
    }
  }

  /// Removes from memory even if the storage throws.
  private func changing(_ storage: () async throws -> Void, then forget: () -> Void) async throws {
    try await pictures.writes.runAlone {
      defer { forget() }
      try await storage()
    }
  }
}

extension ImageEncoder {
  fileprivate func with(quality: Double?) -> ImageEncoder {
    guard let quality else { return self }
    return ImageEncoder(opaque: opaque.with(quality), transparent: transparent.with(quality))
  }
}

extension ImageEncoder.Encoding {
  fileprivate init(_ format: ImageFormat, quality: Double?) throws(ImageError) {
    switch format {
    case .jpeg: self = .jpeg(quality: quality ?? 0.8)
    case .png: self = .png
    case .webp: self = .webp(quality: quality ?? 0.8)
    default: throw .cannotEncode(format, reason: "only JPEG, PNG and WebP are written")
    }
  }

  fileprivate func with(_ quality: Double) -> Self {
    switch self {
    case .jpeg: .jpeg(quality: quality)
    case .webp: .webp(quality: quality)
    case .png, .losslessWebP: self
    }
  }
}
