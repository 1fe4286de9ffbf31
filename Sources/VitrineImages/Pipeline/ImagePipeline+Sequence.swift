extension ImagePipeline {
  /// What can be shown first, and then the picture: up to two responses. The first, whose origin is `placeholder`, is the
  /// nearest size of the same picture that is in memory or kept, be it stale, or what the storage has for this; it comes only
  /// where the picture is not there at once. Ends with the picture, or throws as ``image(for:)``. The work begins with this
  /// call, and is cancelled when its consumer stops; the picture waits for no placeholder.
  public func images(for request: ImageRequest) -> AsyncThrowingStream<ImageResponse, any Error> {
    AsyncThrowingStream { continuation in
      let task = Task {
        do {
          try await respond(request) { continuation.yield($0) }
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  private func respond(_ request: ImageRequest, _ show: @escaping @Sendable (ImageResponse) -> Void) async throws {
    if let response = imageAtHand(for: request) { return show(response) }
    let picture = try await answering(request) {
      if let kept = try await self.pictures.kept(request) { return kept }
      return try await self.loadBehindPlaceholder(request, show)
    }
    show(picture)
  }

  /// Shows a placeholder if there is one before the picture is. The picture does not wait for it.
  private func loadBehindPlaceholder(
    _ request: ImageRequest, _ show: @escaping @Sendable (ImageResponse) -> Void
  ) async throws -> PictureLoader.Loaded {
    let isTooLate = Locked(false)
    let first = Task {
      guard let response = await placeholder(for: request) else { return }
      isTooLate.withLock { if !$0 { show(response) } }
    }
    defer {
      isTooLate.withLock { $0 = true }
      first.cancel()
    }
    return try await pictures.load(request, interest: Interest(request.priority))
  }

  func placeholder(for request: ImageRequest) async -> ImageResponse? {
    if let near = memory.nearest(to: request) { return near }
    let (style, key) = (request.style, request.key)
    guard let kept = try? await configuration.storage.trying({ try await $0.placeholder(style, for: key) }) ?? nil,
      // Not what other headers have chosen, such as those of somebody else.
      ResponseRecord.answers(StyledRecord(metadata: kept.metadata).vary, request.headers),
      let shown = try? await pictures.shown(kept, style, of: key, Interest(request.priority))
    else { return nil }
    var response = ImageResponse(shown.bitmap, .placeholder)
    response.decodeCount = shown.decodeCount
    return response
  }
}
