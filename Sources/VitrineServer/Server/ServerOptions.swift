/// An address at which a server listens.
public enum ServerAddress: Sendable, Hashable, CustomStringConvertible {
  /// A host name or address, and a port. An empty host means all addresses, port 0 any free port.
  case tcp(host: String, port: UInt16)
  /// A Unix socket at a path, and the permissions of its file.
  case unix(path: String, mode: UInt16)

  /// Parses `HOST:PORT`, `[IPv6]:PORT`, or a port alone, which means 127.0.0.1. The host `*` means all addresses.
  /// Returns nil for other text.
  public init?(tcp text: String) {
    var host = "127.0.0.1"
    var port = Substring(text)
    if let colon = text.lastIndex(of: ":") {
      host = String(text[..<colon])
      port = text[text.index(after: colon)...]
      if host.hasPrefix("["), host.hasSuffix("]") {
        host = String(host.dropFirst().dropLast())
      } else if host.contains(":") {
        return nil
      }
    }
    // `UInt16` also takes a sign.
    guard !host.isEmpty, port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(port) else {
      return nil
    }
    self = .tcp(host: host == "*" ? "" : host, port: number)
  }

  /// The address as text: `HOST:PORT`, `[IPv6]:PORT`, or a path.
  public var description: String {
    switch self {
    case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host.isEmpty ? "*" : host):\(port)"
    case .unix(let path, _): path
    }
  }
}

/// The options of a ``CacheServer``.
public struct ServerOptions: Sendable {
  /// The addresses at which the server listens. The default accepts connections from this machine only.
  public var addresses: [ServerAddress] = [.tcp(host: "127.0.0.1", port: 11211)]
  /// Listening sockets that another program has opened, such as systemd. The server closes them when it stops.
  public var inheritedSockets: [Int32] = []
  /// The addresses for HTTP clients; none by default.
  public var webAddresses: [ServerAddress] = []
  /// Listening sockets for HTTP that another program has opened.
  public var inheritedWebSockets: [Int32] = []
  /// The number of event loops, each with a thread. 0 means one for each processor.
  public var threadCount = 0
  /// The largest number of connections at a time. Further clients get an error and are disconnected. If the process may
  /// open few files, the limit is lower, so that the store and the log find descriptors.
  public var maximumConnections = 1024
  /// The largest value in bytes that clients may store.
  public var largestValue = 64 << 20
  /// Milliseconds in which a client must read its answers, or send the rest of a request. Each 4 KiB transferred adds a
  /// second.
  public var stalledMilliseconds = 30_000
  /// The memory in bytes for values that are collected while they arrive, and for values that are sent from copies:
  /// half of it for each. Values above 1 MiB are usually not collected, but written to the store while they arrive.
  public var memoryByteCount = 256 << 20
  /// Milliseconds without a request after which a connection is closed; 0 for no limit. For an HTTP connection the
  /// limit is at most 60 seconds. While its client has mapped values, an HTTP connection has no limit.
  public var idleMilliseconds = 0
  /// Whether clients may remove all items by `flush_all`.
  public var allowsFlush = true
  /// Whether the server refuses all changes by clients.
  public var isReadOnly = false
  /// The accepted names and passwords. A client must send one of these pairs first, with HTTP in each request. Nil
  /// admits every client.
  public var credentials: Credentials?
  /// Makes the pictures of `/image/STYLE/URL`. Nil refuses such requests.
  public var pictures: (any PictureMaking)?
  /// The log, with a line for each event; nil for none. The program closes the log after the server has stopped.
  public var log: ServerLog?

  /// The defaults.
  public init() {}

  func validate() throws(ServerError) {
    let sockets = inheritedSockets + inheritedWebSockets
    if addresses.isEmpty, webAddresses.isEmpty, sockets.isEmpty { throw .invalidOption("a server needs an address") }
    if !(0...1024).contains(threadCount) {
      throw .invalidOption("a thread count is 0 to 1024 (0: one for each processor), not \(threadCount)")
    }
    if maximumConnections < 1 { throw .invalidOption("a server has 1 connection or more, not \(maximumConnections)") }
    if !(1...1 << 30).contains(largestValue) {
      throw .invalidOption("the longest value has 1 byte to 1 GiB, not \(largestValue) bytes")
    }
    let longest = 1 << 40
    if stalledMilliseconds > longest || idleMilliseconds > longest {
      throw .invalidOption("a time limit for clients is at most \(longest) ms")
    }
    if stalledMilliseconds < 1 {
      throw .invalidOption("the time limit for a stalled client is at least 1 ms, not \(stalledMilliseconds)")
    }
    if idleMilliseconds < 0 { throw .invalidOption("an idle time must not be negative: \(idleMilliseconds)") }
  }
}
