/// A picture that is wanted, and how.
public struct ImageRequest: Sendable, Hashable {
  /// Where it comes from.
  public var url: String
  /// What it is kept by: the URL unless given. Several URLs of one picture, such as signed ones, share a key; then it is
  /// downloaded once.
  public var key: String
  /// The style of the picture.
  public var style: ImageStyle
  /// Sent along with the request for its bytes.
  public var headers: [String: String]
  /// The place among other requests while not all can run at once.
  public var priority: Priority
  /// The use of caches.
  public var cachePolicy: CachePolicy

  /// Makes a request. The key is the URL where none is given.
  public init(
    _ url: String, key: String? = nil, style: ImageStyle = .original, headers: [String: String] = [:],
    priority: Priority = .normal, cachePolicy: CachePolicy = .use
  ) {
    self.url = url
    self.key = key ?? url
    self.style = style
    self.headers = headers
    self.priority = priority
    self.cachePolicy = cachePolicy
  }

  /// Whether what is kept may answer it before the network was asked.
  var mayShowKept: Bool { cachePolicy != .reload && cachePolicy != .revalidate }

  /// What comes first where not everything can run at once. A joined download has the highest of those who wait for it.
  public enum Priority: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// Only while nothing else is to do: what preheating asks for. Whoever asks so waits until there are no other requests.
    case preheating
    /// After normal requests.
    case low
    /// The default.
    case normal
    /// Before all others.
    case high

    public static func < (a: Priority, b: Priority) -> Bool { a.rawValue < b.rawValue }
  }

  /// What of the caches is used.
  public enum CachePolicy: Sendable, Hashable, CaseIterable {
    /// What is kept and fresh, else the network.
    case use
    /// The network, whatever is kept; the answer is kept.
    case reload
    /// What is kept, fresh or not; never the network.
    case cacheOnly
    /// Asks the server whether what is kept is still good.
    case revalidate
    /// The network where what is kept is stale; where that fails, or gives what is no picture, what is kept.
    case staleIfError
  }
}
