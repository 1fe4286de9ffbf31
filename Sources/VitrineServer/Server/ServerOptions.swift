/// An address at which a server listens.
public enum ServerAddress: Sendable, Hashable, CustomStringConvertible {
  /// A host's name or address, and a port; port 0 takes a free one.
  case tcp(host: String, port: UInt16)
  /// A socket at a path, with the permissions of its file.
  case unix(path: String, mode: UInt16)

  /// Reads `HOST:PORT`, `[IPv6]:PORT` or a port alone, which means this machine. Returns nil for other text.
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
    guard !host.isEmpty, let number = UInt16(port) else { return nil }
    self = .tcp(host: host == "*" ? "" : host, port: number)
  }

  /// The address as a client writes it.
  public var description: String {
    switch self {
    case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host.isEmpty ? "*" : host):\(port)"
    case .unix(let path, _): path
    }
  }
}

/// The options of a ``CacheServer``.
public struct ServerOptions: Sendable {
  /// Where clients of the memcached protocol connect. By default only programs on this machine can.
  public var addresses: [ServerAddress] = [.tcp(host: "127.0.0.1", port: 11211)]
  /// Listening sockets that another program has opened, such as systemd. The server closes them at its end.
  public var inheritedSockets: [Int32] = []
  /// The number of event loops, each with a thread. 0 means one for each processor.
  public var threadCount = 0
  /// The most connections at a time. Others are told so and closed.
  public var maximumConnections = 1024
  /// The longest value in bytes that clients may store.
  public var largestValue = 64 << 20
  /// Milliseconds in which a client must read its answers, or send the rest of a request. Each 4 KiB that arrive give a second
  /// more.
  public var stalledMilliseconds = 30_000
  /// Bytes of memory that arriving values, and values that are sent decompressed, may take together.
  public var memoryByteCount = 256 << 20
  /// Milliseconds after which a connection without requests is closed; 0 for no limit.
  public var idleMilliseconds = 0
  /// Whether clients may remove all items with one command.
  public var allowsFlush = true
  /// Names and passwords, of which a client must send one first. Nil for none.
  public var credentials: Credentials?

  /// The defaults.
  public init() {}

  func validate() throws(ServerError) {
    if addresses.isEmpty, inheritedSockets.isEmpty { throw .invalidOption("a server needs an address") }
    if !(0...1024).contains(threadCount) { throw .invalidOption("a server has 1 to 1024 threads, not \(threadCount)") }
    if maximumConnections < 1 { throw .invalidOption("a server has 1 connection or more, not \(maximumConnections)") }
    if !(1...1 << 30).contains(largestValue) {
      throw .invalidOption("the longest value has 1 byte to 1 GiB, not \(largestValue) bytes")
    }
    let longest = 1 << 40
    if stalledMilliseconds > longest || idleMilliseconds > longest { throw .invalidOption("a time is too long") }
    if stalledMilliseconds < 1 { throw .invalidOption("a client gets 1 ms or more, not \(stalledMilliseconds)") }
    if idleMilliseconds < 0 { throw .invalidOption("an idle time must not be negative: \(idleMilliseconds)") }
  }
}
