/// Draws the parts of a progressive JPEG for one request while its download runs.
///
/// One part is drawn at a time. A part that waits is replaced by the next one that arrives. Thread-safe.
final class PartialPictures: Sendable {
  private struct State {
    var drawing: Task<Void, Never>?
    var waiting: [UInt8]?
    var isOver = false
  }

  private let pictures: PictureLoader
  private let request: PictureRequest
  private let show: @Sendable (PictureResponse) -> Void
  private let state = Locked(State())

  /// `show` is called with each picture, one at a time.
  init(_ pictures: PictureLoader, _ request: PictureRequest, show: @escaping @Sendable (PictureResponse) -> Void) {
    self.pictures = pictures
    self.request = request
    self.show = show
  }

  /// Takes the bytes of a part, which are a file of their own.
  func take(_ bytes: [UInt8]) {
    state.withLock { state in
      if state.isOver { return }
      state.waiting = bytes
      if state.drawing == nil { state.drawing = Task { await self.draw() } }
    }
  }

  /// Cancels the drawing, and waits for its end.
  func end() async {
    let drawing = state.withLock { state in
      state.isOver = true
      state.waiting = nil
      return state.drawing
    }
    drawing?.cancel()
    await drawing?.value
  }

  private func draw() async {
    while let bytes = next() {
      // A part that cannot be decoded is left out. If the file is damaged, the request throws the error.
      guard let bitmap = try? await pictures.partialPicture(bytes, request) else { continue }
      var response = PictureResponse(bitmap, .partial)
      response.decodeCount = 1
      show(response)
    }
  }

  private func next() -> [UInt8]? {
    state.withLock { state in
      let bytes = state.waiting
      state.waiting = nil
      if bytes == nil { state.drawing = nil }
      return bytes
    }
  }
}

extension PictureLoader {
  /// Draws a part of a picture in the style of the request, within the limit of concurrent decodings.
  func partialPicture(_ bytes: [UInt8], _ request: PictureRequest) async throws -> Bitmap {
    let style = request.style
    return try await work.run(Interest(request.priority)) {
      try await threads.run { [decoder = configuration.decoder] in
        let image = try decoder.decode(bytes.span.bytes) { info throws(ImageError) in
          try Decodes.sufficientSize(info, for: [style])
        }
        return try image.rendered([style])[0]
      }
    }
  }
}
