/// A request for a picture.
public struct PictureRequest: Sendable, Hashable {
  /// The URL of the original.
  public var url: String
  /// The key of the picture in caches; by default the URL. If several URLs of one picture, such as signed ones, share
  /// a key, the picture is downloaded once.
  public var key: String
  /// The style of the picture.
  public var style: ImageStyle
  /// The headers to send with the download.
  public var headers: [String: String]
  /// The priority among waiting requests.
  public var priority: Priority
  /// The use of caches.
  public var cachePolicy: CachePolicy
  /// A hash of the picture that the app knows, such as from its server. ``PicturePipeline/images(for:)`` draws it until
  /// the picture is loaded.
  public var placeholder: PlaceholderHash?
  /// Whether the animation of the picture is wanted, so that the record beside a stored animation may be used.
  var wantsFrames = false

  /// Creates a request. The default key is the URL.
  public init(
    _ url: String, key: String? = nil, style: ImageStyle = .original, headers: [String: String] = [:],
    priority: Priority = .normal, cachePolicy: CachePolicy = .use, placeholder: PlaceholderHash? = nil
  ) {
    self.url = url
    self.key = key ?? url
    self.style = style
    self.headers = headers
    self.priority = priority
    self.cachePolicy = cachePolicy
    self.placeholder = placeholder
  }

  /// Whether a cached picture may answer the request before the network is asked.
  var mayShowKept: Bool { cachePolicy != .reload && cachePolicy != .revalidate }

  /// The order of requests that cannot all run at once. A shared download has the highest priority of its waiters.
  public enum Priority: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// Runs only while there are no other requests; preheating uses it.
    case preheating
    /// After normal requests.
    case low
    /// The default.
    case normal
    /// Before all others.
    case high

    public static func < (a: Priority, b: Priority) -> Bool { a.rawValue < b.rawValue }
  }

  /// The use of caches by a request.
  public enum CachePolicy: Sendable, Hashable, CaseIterable {
    /// Uses a cached picture if it is fresh, else the network.
    case use
    /// Always uses the network, and stores the answer.
    case reload
    /// Uses a cached picture, fresh or stale, and never the network.
    case cacheOnly
    /// Asks the server whether the cached original is still valid.
    case revalidate
    /// Uses the network if the cached picture is stale. If that fails, or the answer is not a picture, uses the cached
    /// one.
    case staleIfError
  }
}
