extension PicturePipeline {
  /// Returns the animation of a GIF, an animated PNG or an animated WebP in the request's style, or nil for any other
  /// picture. ``image(for:)`` returns the still picture of each, so an app can show that and then ask for the
  /// animation.
  ///
  /// The first call draws all frames into the storage, one after another, so that memory holds one of them. Later calls
  /// return the mapped frames. If the storage is no ``AnimationStorage``, has no room, or must not keep the picture, or
  /// if the drawing takes longer than the decoder's time limit, the frames are decoded as they are shown. Animations
  /// are not kept in the memory of the pipeline.
  ///
  /// Throws as ``image(for:)`` does, and ``ImageError`` for a damaged frame or a file that ends too early.
  public func animation(for request: PictureRequest) async throws -> AnimatedPicture? {
    let interest = Interest(request.priority)
    // A request of preheating priority waits for the preheating places, so it must not hold preheating back.
    if request.priority == .preheating { return try await pictures.animation(request, interest: interest) }
    preheater.requestBegan()
    // The call does not load the still picture, so a preheating of the still picture stays wanted.
    defer { preheater.requestEnded(request, hasSucceeded: false) }
    return try await pictures.animation(request, interest: interest)
  }
}
