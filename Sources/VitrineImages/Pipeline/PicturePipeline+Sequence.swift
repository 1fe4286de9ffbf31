extension PicturePipeline {
  /// Returns up to two responses: a placeholder, whose origin is `placeholder`, and then the picture. The placeholder
  /// is the nearest size of the same picture in memory. Otherwise it is the storage's placeholder, which may be stale.
  /// Otherwise it is drawn from the ``PlaceholderHash`` of the request or of the stored original. It appears only if
  /// the picture is not available immediately. The stream ends after the picture, or throws as ``image(for:)`` does.
  /// The work begins with this call and is canceled when the consumer stops. The picture does not wait for the
  /// placeholder.
  public func images(for request: PictureRequest) -> AsyncThrowingStream<PictureResponse, any Error> {
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

  /// Returns the responses of ``images(for:)``, and before the picture the bytes of its download: at its begin, after
  /// each 64th of its size, and at its end. If the size is not known, after each 64 KiB. Requests that share a download
  /// all learn of it. A picture without a download has no progress. The picture is the last element.
  ///
  /// While a progressive JPEG arrives, its coarse forms are shown up to
  /// ``Configuration/partialPictureCount`` times: at the end of a scan, if the bytes have doubled since the time before.
  /// Their origin is `partial`. They are not stored.
  public func updates(for request: PictureRequest) -> AsyncThrowingStream<PictureUpdate, any Error> {
    AsyncThrowingStream { continuation in
      // The last progress told, and whether a part of the picture or the picture was shown.
      let told = Locked<(progress: DownloadProgress?, hasPart: Bool, isOver: Bool)>((nil, false, false))
      let parts = PartialPictures(pictures, request) { response in
        told.withLock { told in
          if told.isOver { return }
          told.hasPart = true
          continuation.yield(.picture(response))
        }
      }
      let task = Task {
        do {
          try await pictures.originals.watch(of: request.key).follow(parts: { parts.take($0) }) { progress in
            told.withLock { told in
              if told.isOver || !progress.isNews(after: told.progress) { return }
              told.progress = progress
              continuation.yield(.progress(progress))
            }
          } during: {
            try await respond(request) { response in
              told.withLock { told in
                told.isOver = response.origin != .placeholder
                if told.hasPart, !told.isOver { return }
                continuation.yield(.picture(response))
              }
            }
          }
          await parts.end()
          continuation.finish()
        } catch {
          await parts.end()
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  private func respond(_ request: PictureRequest, _ show: @escaping @Sendable (PictureResponse) -> Void) async throws {
    if let response = imageAtHand(for: request) { return show(response) }
    let picture = try await answering(request) {
      if let kept = try await self.pictures.kept(request) { return kept }
      return try await self.loadBehindPlaceholder(request, show)
    }
    show(picture)
  }

  /// Loads the picture, and shows a placeholder if one is found before the picture is loaded.
  private func loadBehindPlaceholder(
    _ request: PictureRequest, _ show: @escaping @Sendable (PictureResponse) -> Void
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

  func placeholder(for request: PictureRequest) async -> PictureResponse? {
    if let near = memory.nearest(to: request) { return near }
    if let stored = await storedPlaceholder(for: request) { return stored }
    return await pictures.preview(of: request).map { PictureResponse($0, .placeholder) }
  }

  private func storedPlaceholder(for request: PictureRequest) async -> PictureResponse? {
    let (style, key) = (request.style, request.key)
    guard let kept = try? await configuration.storage.trying({ try await $0.placeholder(style, for: key) }) ?? nil,
      // Excludes pictures that other request headers selected, such as those of another user.
      ResponseRecord.answers(StyledRecord(metadata: kept.metadata).vary, request.headers),
      let shown = try? await pictures.shown(kept, style, of: key, Interest(request.priority))
    else { return nil }
    var response = PictureResponse(shown.bitmap, .placeholder)
    response.decodeCount = shown.decodeCount
    return response
  }
}
