import Vitrine

extension PictureLoader {
  /// Computes the placeholder of an original that may be stored; nil for any other, and without the configuration.
  func placeholder(of image: DecodedImage, _ order: PictureOrder) async throws -> PlaceholderHash? {
    guard let kind = configuration.placeholders, configuration.storage != nil, !order.isNoStore,
      configuration.keeps != .styled, let arrival = order.original.arrival,
      arrival.keeping.withLock({ $0 }) != .kept
    else { return nil }
    return try await threads.run { PlaceholderHash(kind, of: image) }
  }

  /// Draws the placeholder of the request, or else the one in the metadata of the stored original. Returns nil if there
  /// is none, or if other request headers selected the original.
  func preview(of request: PictureRequest) async -> Bitmap? {
    var hash = request.placeholder
    if hash == nil, let kept = try? await configuration.storage.trying({ try await $0.original(for: request.key) }),
      let record = kept.flatMap({ ResponseRecord(metadata: $0.metadata) }), record.answers(request.headers)
    {
      hash = record.placeholder
    }
    guard let hash else { return nil }
    return try? await threads.run { try hash.bitmap(request.style) }
  }
}
