import Foundation

extension ImagePipeline {
  /// The parts and the bounds of a pipeline.
  public struct Configuration: Sendable {
    /// Nil keeps nothing beyond memory.
    public var storage: (any ImageStorage)?
    /// The source of bytes that the storage does not have.
    public var loader: any DataLoading
    /// An ``ImageDecoder``; or a ``ProcessDecoder``, so that a crash in a decoder costs one picture.
    public var decoder: any PictureDecoding
    /// For what is saved, and for styled pictures that are kept encoded.
    public var encoder: ImageEncoder
    /// Pictures in memory: what they may take in bytes, how many, and for how long. A bitmap costs its pixels; one in the
    /// store's memory costs the pages that it lies on, which are shared with the system's cache of the store's file.
    public var memory = MemoryLimits(cost: 64 << 20)
    /// What tells when memory gets short; nil for nobody. Half of what memory holds goes then, and all of it when it gets
    /// critical.
    public var memoryPressure: MemoryPressure? = MemoryPressure()
    /// Styles that are made together, in one pass and kept in one batch, when one of them is wanted.
    public var families: [[ImageStyle]] = []
    /// The parts of a picture that the storage keeps.
    public var keeps = Keeping.automatic
    /// The form in which the storage keeps styled pictures.
    public var styledForm = StyledForm.pixels
    /// Downloads at once. Twice as many bodies, at most, are on their way or wait to be decoded: then downloads wait.
    public var loadLimit = 6
    /// Pictures decoded at once, and decoded ones in memory: as many as there are processors.
    public var decodeLimit = ProcessInfo.processInfo.activeProcessorCount
    /// Changes of the storage at once, and one more for what is preheated. Those of one key follow each other in any case.
    public var writeLimit = 4
    /// Preheated at once, beside those: a loader needs connections for as many loads and these. And the pause behind the last
    /// request, and behind the wish itself, before one begins; what is less than none counts as none.
    public var preheatingLimit = 2
    /// Milliseconds without a request before preheating begins. Negative numbers count as 0.
    public var preheatingPauseMilliseconds = 150
    /// A download of more bytes is refused.
    public var mostBytes = 64 << 20
    /// Tries of a download, the first included, where another may go better.
    public var attemptCount = 3
    /// Milliseconds since 1970.
    public var now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
    /// Milliseconds of a clock that never steps back: for how long a failure is remembered.
    var uptime: @Sendable () -> Int64 = MemoryCache<LoadRequest, Int>.uptime

    /// Makes a configuration with defaults for all other parts.
    public init(
      storage: (any ImageStorage)? = nil, loader: any DataLoading = URLSessionLoader(),
      decoder: any PictureDecoding = ImageDecoder(), encoder: ImageEncoder = ImageEncoder()
    ) {
      self.storage = storage
      self.loader = loader
      self.decoder = decoder
      self.encoder = encoder
    }
  }
}
