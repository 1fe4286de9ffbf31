import Vitrine

extension ImagePipeline {
  // MARK: Saving

  /// Keeps a picture that an app has made itself as the original of a key, in place of what there was. What styles made of
  /// the older one is a miss from then on, also in memory, and of work that is under way.
  ///
  /// `format`: nil for the configured encoder's choice, which by default is JPEG of quality 0.8, and PNG where pixels are
  /// transparent. `quality`, of JPEG and WebP, is 0 to 1; nil for the encoder's, or 0.8.
  ///
  /// Throws `cannotEncode` for what the format has not, such as transparent pixels as JPEG; `tooLarge` above the decoder's
  /// limits, since nobody could show it again; `invalidArgument` where there is no storage; then nothing has changed. Throws
  /// what the storage throws, too; then the key may have lost what it had. Costs an encoding, which waits its turn among
  /// decodings.
  public func save(
    _ image: Bitmap, _ key: String, format: ImageFormat? = nil, quality: Double? = nil
  ) async throws {
    let (encoder, decoder) = (configuration.encoder, configuration.decoder)
    let bytes = try await pictures.busy {
      try decoder.limits.check(image.size)
      let bytes =
        if let format { try ImageEncoder.encode(image, as: .init(format, quality: quality)) } else {
          try encoder.with(quality: quality).encode(image).bytes
        }
      // What decoding takes hangs on the format, too.
      _ = try DecodingPlan(ImageDecoder().info(of: bytes), atLeast: nil, decoder.limits)
      return bytes
    }
    try await pictures.save(bytes, key, isChecked: true)
  }

  /// The same for the bytes of a picture that came from elsewhere. They are decoded to see that they can be: what cannot is
  /// an ``ImageError``, and nothing has changed.
  public func save(_ bytes: [UInt8], _ key: String) async throws {
    try await pictures.save(bytes, key, isChecked: false)
  }

  /// The picture of a key in a style, from what is kept; nil where nothing is. Never asks the network. Throws as
  /// ``image(for:)``.
  public func load(_ key: String, style: ImageStyle = .original) async throws -> ImageResponse? {
    do {
      return try await image(for: ImageRequest(key, style: style, cachePolicy: .cacheOnly))
    } catch LoadError.notCached {
      return nil
    }
  }

  // MARK: Forgetting

  /// Forgets all that is kept of some keys, and what is under way is kept no more. Throws what the storage throws.
  public func clear(_ keys: [String]) async throws {
    let gone = Set(keys.map(KeyText.init))
    try await changing {
      try await self.configuration.storage?.remove(keys)
    } then: {
      for key in gone { self.memory.versions.advance(key.text) }
      self.memory.removeAll { gone.contains($0) }
    }
  }

  /// Forgets all keys, or all with a prefix, but these. Pictures that are to be kept wait until it is done. Throws what the
  /// storage throws.
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

  /// Memory forgets whether or not the storage could.
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
  fileprivate init(_ format: ImageFormat, quality: Double?) {
    switch format {
    case .jpeg: self = .jpeg(quality: quality ?? 0.8)
    case .png: self = .png
    case .webp: self = .webp(quality: quality ?? 0.8)
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
