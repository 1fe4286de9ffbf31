import Vitrine

/// An animation in a style, as a sequence of its frames from the first to the last. Each iteration begins anew, so play
/// it as often as ``playCount`` says.
///
/// ```swift
/// if let animation = try await pipeline.animation(for: request) {
///   for try await frame in animation {
///     show(frame.bitmap)
///     try await Task.sleep(for: frame.duration)
///   }
/// }
/// ```
///
/// Frames of a stored animation are mapped from the store: they cost no decoding and no memory of the process, unless
/// all frames together have at most 64 KiB and are stored compressed. If the animation could not be stored, each
/// iteration decodes its frames, one ahead of the frame that is shown. Then at most two frames and the decoder's memory
/// are held, for any number of frames. Thread-safe.
public struct AnimatedPicture: Sendable, AsyncSequence {
  /// A frame with its time.
  public struct Frame: Sendable {
    /// The place among the frames; 0 for the first.
    public let index: Int
    /// The picture.
    public let bitmap: Bitmap
    /// The time until the next frame.
    public let duration: Duration
  }

  enum Source: Sendable {
    case stored(StoredAnimation)
    /// Creates a decoder of the frames.
    case original(@Sendable () async throws -> FrameDrawer?)
  }

  /// The time of each frame. As in browsers, 100 ms replace times of at most 10 ms.
  public let durations: [Duration]
  /// The number of times to play the frames (loops), or nil for no end.
  public let playCount: Int?
  /// The number of frames, at least 2.
  public var frameCount: Int { durations.count }
  private let source: Source

  init(_ times: AnimationTimes, _ source: Source) {
    durations = times.durations
    playCount = times.playCount
    self.source = source
  }

  /// Whether the frames are stored, so that ``bitmap(at:)`` returns any of them at once.
  public var isStored: Bool {
    if case .stored = source { true } else { false }
  }

  /// Returns a frame of a stored animation without a copy. Returns nil if the animation is not stored. O(1). The index
  /// must be that of a frame.
  public func bitmap(at index: Int) -> Bitmap? {
    precondition(durations.indices.contains(index))
    guard case .stored(let animation) = source else { return nil }
    return animation.bitmap(index)
  }

  /// Returns an iterator that begins with the first frame. O(1).
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

  /// Returns the frames one after another.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let picture: AnimatedPicture
    private var drawer: FrameDrawer?
    /// The drawing of the next frame.
    private var next: Task<Bitmap, any Error>?
    private var index = 0

    fileprivate init(_ picture: AnimatedPicture) { self.picture = picture }

    /// Returns the next frame, or nil after the last one. Throws ``ImageError`` for a damaged frame, and
    /// `CancellationError`. After an error the sequence ends.
    public mutating func next() async throws -> Frame? {
      guard index < picture.durations.count else { return nil }
      let place = index
      index = picture.durations.count
      let bitmap = try await bitmap(at: place)
      index = place + 1
      return Frame(index: place, bitmap: bitmap, duration: picture.durations[place])
    }

    private mutating func bitmap(at place: Int) async throws -> Bitmap {
      try Task.checkCancellation()
      switch picture.source {
      case .stored(let animation): return animation.bitmap(place)
      case .original(let begin):
        if drawer == nil { drawer = try await begin() }
        guard let drawer else { throw ImageError.invalidArgument("the picture has one frame") }
        let drawing = next ?? Task { try await drawer.next() }
        next = nil
        let bitmap = try await withTaskCancellationHandler {
          try await drawing.value
        } onCancel: {
          drawing.cancel()
        }
        if place + 1 < picture.durations.count { next = Task { try await drawer.next() } }
        return bitmap
      }
    }
  }
}

/// Decodes the frames of an animation, and draws them in a style. Thread-safe.
struct FrameDrawer: Sendable {
  let reader: AnimationReader
  let style: ImageStyle
  let work: LimitedQueue
  let threads: WorkerThreads

  var times: AnimationTimes { AnimationTimes(durations: reader.durations, playCount: reader.playCount) }

  /// Draws the next frame on another thread, within the limit of concurrent decodings.
  func next() async throws -> Bitmap { try await work.run(Interest(.normal)) { try await threads.run { try draw() } } }

  /// Draws the next frame, and blocks the calling thread. Throws ``ImageError``.
  func draw() throws -> Bitmap {
    guard let frame = try reader.next(), let bitmap = try frame.image.rendered([style]).first else {
      throw ImageError.truncated(reader.format)
    }
    return bitmap
  }
}
