import Vitrine

extension PictureLoader {
  /// Stores a downloaded original, or tells the storage that it arrived. Returns nil if the key has changed, so that
  /// pictures made from the original must not be stored. Call it only inside `writes`, with the claim on the key.
  func keepOriginal(_ order: PictureOrder, madeByteCount: Int) async throws -> UInt64? {
    let original = order.original
    guard versions.admits(original.basis, of: order.key, begunAt: order.version) else { return nil }
    if let arrival = original.arrival {
      let keeping = configuration.keeps
      let keeps = keeping.keepsOriginal(
        order.bytes.count, madeOf: keeping.keepsStyled ? madeByteCount : 0,
        isPreheating: order.request.priority == .preheating)
      // Stores the original once for all styles of one download. Any of the styles may be the one that makes it worth
      // storing.
      let before = arrival.keeping.withLock { $0 }
      if keeps, before != .kept, try await hasKept(order) {
        arrival.keeping.withLock { $0 = .kept }
      } else if before == .unknownToStorage {
        try await configuration.storage.trying { try await $0.noteOriginal(original.digest, for: order.key) }
        arrival.keeping.withLock { $0 = .noted }
      }
    }
    return settle(original, of: order.key, begunAt: order.version)
  }

  /// Records that an original is current. Returns the version of pictures made from it; nil if a newer one is current.
  func settle(_ original: Originals.Found, of key: String, begunAt version: UInt64) -> UInt64? {
    let settled = versions.settle(original.basis, of: key, begunAt: version)
    if let settled, settled != version, let arrival = original.arrival {
      originals.note(arrival, of: key, version: settled)
    }
    return settled
  }

  private func hasKept(_ order: PictureOrder) async throws -> Bool {
    var record = order.original.record
    record?.placeholder = order.placeholder
    let metadata = record?.metadata ?? []
    let kept: Void? = try await configuration.storage.trying {
      try await $0.saveOriginal(order.bytes.array, metadata: metadata, for: order.key)
    }
    return kept != nil
  }

  func pictures(_ made: [(style: ImageStyle, bitmap: Bitmap)], _ metadata: [UInt8]) async throws -> [StyledPicture] {
    if configuration.styledForm == .pixels {
      return made.map { StyledPicture($0.0, .pixels($0.1), metadata: metadata) }
    }
    let encoder = configuration.encoder
    return try await threads.run {
      made.map { style, bitmap in
        // A bitmap that cannot be encoded, such as one too wide for the format, stays pixels.
        guard let bytes = try? encoder.encode(bitmap).bytes else {
          return StyledPicture(style, .pixels(bitmap), metadata: metadata)
        }
        return StyledPicture(style, .encoded(.array(bytes)), metadata: metadata)
      }
    }
  }

  /// Counts a showing of an encoded picture from the storage. The second showing stores it as pixels and returns them.
  /// The count is in the metadata, so it survives closing and reopening.
  func noteShowing(
    of bitmap: Bitmap, _ record: StyledRecord, _ request: PictureRequest, _ version: UInt64, _ interest: Interest
  ) async throws -> Bitmap? {
    guard let original = record.original else { return nil }
    var record = record
    record.showingCount += 1
    if record.showingCount < 2 {
      try await renew(record, request, version, interest)
      return nil
    }
    let picture = StyledPicture(request.style, .pixels(bitmap), metadata: record.metadata)
    // Without room for the pixels, the encoded picture stays.
    let stored = try await writes.run(request.key, interest) { () -> [StoredStyled]? in
      guard versions.admits(.init(digest: original), of: request.key, begunAt: version) else { return nil }
      return try await configuration.storage.trying {
        try await $0.saveStyled([picture], madeFrom: original, for: request.key)
      }
    }
    guard case .pixels(let pixels)? = stored?.first?.content else { return nil }
    return pixels
  }

  /// Updates the record of the original in the metadata of a styled picture.
  func renew(
    _ record: StyledRecord, _ request: PictureRequest, _ version: UInt64, _ interest: Interest
  ) async throws {
    guard let original = record.original else { return }
    try await writes.run(request.key, interest) {
      guard versions.admits(.init(digest: original), of: request.key, begunAt: version) else { return }
      try await configuration.storage.trying {
        try await $0.setMetadata(record.metadata, of: request.style, madeFrom: original, for: request.key)
      }
    }
  }

  /// Removes the stored pictures of a key after the server sent a new original that must not be stored.
  func forgetOlder(_ order: PictureOrder) async throws {
    guard let arrival = order.original.arrival else { return }
    try await writes.run(order.key, order.interest) {
      // Removes once for all styles of one download, and never a picture that an app saved in the meantime.
      let isFirst = arrival.keeping.withLock { keeping in
        defer { keeping = .noted }
        return keeping == .unknownToStorage
      }
      guard isFirst, versions.admits(order.original.basis, of: order.key, begunAt: order.version) else { return }
      try await configuration.storage.trying { try await $0.remove([order.key]) }
      versions.forget(order.original.basis, of: order.key)
    }
  }

  // MARK: Own pictures

  /// Stores bytes as the original of a key. Throws errors of the storage.
  func save(_ bytes: [UInt8], _ key: String, _ placeholder: PlaceholderHash?) async throws {
    guard let storage = configuration.storage else {
      throw ImageError.invalidArgument("a pipeline without a storage cannot save a picture")
    }
    let digest = bytes.withUnsafeBytes { Digest(of: $0) }
    let metadata = placeholder.map { ResponseRecord(placeholder: $0).metadata } ?? []
    try await writes.run(key, Interest(.normal)) {
      do {
        try await storage.saveOriginal(bytes, metadata: metadata, for: key)
      } catch {
        // The storage may have written it, or have lost the previous one.
        versions.advance(key)
        throw error
      }
      versions.advance(key, to: digest)
    }
  }

  /// Runs work that keeps a processor busy, within the limit of concurrent decodings.
  func busy<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await work.run(Interest(.normal)) { try await threads.run(body) }
  }
}

extension StoredBytes {
  var digest: Digest {
    switch self {
    case .blob(let blob): blob.digest
    case .array(let bytes): bytes.withUnsafeBytes { Digest(of: $0) }
    }
  }

  /// The bytes as an array. Copies only a blob of a store.
  var array: [UInt8] {
    switch self {
    case .blob(let blob): blob.withBytes { $0.withUnsafeBytes { Array($0) } }
    case .array(let bytes): bytes
    }
  }
}

extension ImageError {
  /// Whether the bytes are no picture, or not a whole one, under any limits.
  var isDamage: Bool {
    switch self {
    case .unsupportedFormat, .truncated, .corrupt: true
    default: false
    }
  }
}
