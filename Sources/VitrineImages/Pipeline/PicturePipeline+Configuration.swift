import Foundation

extension PicturePipeline {
  /// The parts and the limits of a pipeline.
  public struct Configuration: Sendable {
    /// The storage of pictures. If it is nil, pictures are kept in memory only.
    public var storage: (any ImageStorage)?
    /// Loads bytes that are not in the storage.
    public var loader: any ByteLoading
    /// The decoder: an ``ImageDecoder``, or a ``ProcessDecoder``, with which a crash of the decoding fails only one
    /// picture.
    public var decoder: any PictureDecoding
    /// Encodes saved bitmaps, and styled pictures that are stored encoded.
    public var encoder: ImageEncoder
    /// Limits of the pictures in memory: their cost in bytes, their number, and their age. A bitmap costs the bytes of
    /// its pixels. A bitmap mapped from the store costs its pages, which are shared with the system's cache of the
    /// store's file.
    public var memory = MemoryLimits(cost: 64 << 20)
    /// Reports memory shortage. At a warning, half of the memory's contents are dropped; at a critical level, all of
    /// them. If it is nil, memory is not trimmed.
    public var memoryPressure: MemoryPressure? = MemoryPressure()
    /// Families of styles. When one style of a family is wanted, all are drawn in one pass and stored in one batch.
    public var families: [[ImageStyle]] = []
    /// The parts of a picture that the storage keeps.
    public var keeps = Keeping.automatic
    /// The form of stored styled pictures.
    public var styledForm = StyledForm.pixels
    /// The kind of hash that is computed of each stored original, in less than a millisecond, and kept in its metadata,
    /// or nil for none. ``PicturePipeline/images(for:)`` draws it until the picture is loaded.
    public var placeholders: PlaceholderHash.Kind? = .thumbHash
    /// The number of times that ``PicturePipeline/updates(for:)`` shows a progressive JPEG before it is complete. Each
    /// costs a decoding, and a copy of the bytes so far. With 0, only the complete picture is shown.
    public var partialPictureCount = 3
    /// The number of concurrent downloads. At most twice as many bodies are being received or wait for their decoding;
    /// beyond that, downloads wait.
    public var loadLimit = 6
    /// The number of concurrent decodings. A decoded picture counts until its styles are drawn. The default is the
    /// number of active processors.
    public var decodeLimit = ProcessInfo.processInfo.activeProcessorCount
    /// The number of concurrent changes of the storage. Preheating may make one more. Changes of one key never
    /// overlap.
    public var writeLimit = 4
    /// The number of concurrent preheated loads, in addition to ``loadLimit``: the loader needs connections for both.
    public var preheatingLimit = 2
    /// The pause before preheating begins, in milliseconds, counted from the last request and from the call that asked
    /// for preheating. Negative numbers count as 0.
    public var preheatingPauseMilliseconds = 150
    /// The limit of a download, in bytes. A larger one fails.
    public var mostBytes = 64 << 20
    /// The number of attempts of a download, including the first. Only transient failures are retried.
    public var attemptCount = 3
    /// The longest silence of a server, in milliseconds, if a stale picture is stored that may be shown after an error.
    /// After this silence, or after the first failed attempt, the stale picture is shown, and the download goes on in
    /// the background. Negative numbers count as 0.
    public var silenceMilliseconds = 1000
    /// The age limit of pictures in milliseconds, or nil for the lifetimes of the servers only. An original is stale
    /// this long after its server sent or confirmed it, and so are the styled pictures made from it. Applies to all
    /// stored pictures, also those stored without a limit, but not to pictures that the app saved. Negative numbers
    /// count as 0.
    public var maximumAgeMilliseconds: Int64?
    /// Whether the storage serves several users, as that of a server does (RFC 9111, a shared cache). Then `private`
    /// answers are not stored, and of `s-maxage` and `max-age` the shorter lifetime counts.
    public var isShared = false
    /// The current time in milliseconds since 1970.
    public var now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
    /// A monotonic clock in milliseconds. It times how long a failure is remembered.
    var uptime: @Sendable () -> Int64 = MemoryCache<LoadRequest, Int>.uptime

    /// Creates a configuration with defaults for all other parts.
    public init(
      storage: (any ImageStorage)? = nil, loader: any ByteLoading = HTTPLoader(),
      decoder: any PictureDecoding = ImageDecoder(), encoder: ImageEncoder = ImageEncoder()
    ) {
      self.storage = storage
      self.loader = loader
      self.decoder = decoder
      self.encoder = encoder
    }
  }
}
