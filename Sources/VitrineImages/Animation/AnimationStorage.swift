import Vitrine

/// A storage that also keeps animations. ``StoreStorage`` does.
///
/// The rules of ``ImageStorage`` hold: calls come from any thread, also concurrently, and must not block the thread pool
/// of `async` code. An entry that cannot be read counts as missing. A new original makes the animations of the earlier
/// one misses.
public protocol AnimationStorage: ImageStorage {
  /// Returns the animation of a style for a key. Returns nil, and throws no error, if none is stored or if it cannot be
  /// read.
  func animation(_ style: ImageStyle, for key: String) async throws -> StoredAnimation?

  /// Stores an animation, all frames or none. `draw` returns the next frame. Call it as often as there are times,
  /// outside the thread pool of `async` code, since each call decodes and draws a frame. One frame at a time needs
  /// memory. Other changes of the same key may come meanwhile. If another original is stored now, or if the frames have
  /// several layouts, stores nothing and returns nil. Throws the errors of `draw`, and an error if the animation cannot
  /// be stored.
  func saveAnimation(
    _ style: ImageStyle, _ times: AnimationTimes, metadata: [UInt8], madeFrom original: Digest, for key: String,
    _ draw: @escaping @Sendable () throws -> Bitmap
  ) async throws -> StoredAnimation?

  /// Removes an animation. Throws if it may be left.
  func removeAnimation(_ style: ImageStyle, for key: String) async throws

  /// Changes the metadata of an animation that was made from the original with this digest, but not its frames. Does
  /// nothing if there is none. Throws if the change fails.
  func setMetadata(
    _ metadata: [UInt8], ofAnimation style: ImageStyle, madeFrom original: Digest, for key: String
  ) async throws
}

/// The times of an animation.
public struct AnimationTimes: Sendable, Hashable {
  /// The time of each frame until the next.
  public var durations: [Duration]
  /// The number of times to play the frames, or nil for no end.
  public var playCount: Int?

  /// Creates times from their parts.
  public init(durations: [Duration], playCount: Int?) {
    self.durations = durations
    self.playCount = playCount
  }
}

/// A stored animation: frames that can be shown without decoding.
public struct StoredAnimation: Sendable {
  /// The times of the frames.
  public var times: AnimationTimes
  /// Returns the bitmap of a frame, for an index from 0 to below the number of times. Must be fast and thread-safe.
  public var bitmap: @Sendable (_ index: Int) -> Bitmap
  /// Bytes stored beside the animation.
  public var metadata: [UInt8]

  /// Creates an animation from its parts.
  public init(
    _ times: AnimationTimes, metadata: [UInt8] = [], bitmap: @escaping @Sendable (_ index: Int) -> Bitmap
  ) {
    self.times = times
    self.metadata = metadata
    self.bitmap = bitmap
  }
}
