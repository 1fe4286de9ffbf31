import Synchronization
import Vitrine

/// Serves a store to other processes by the memcached protocol and by HTTP.
///
/// A key is a URL in the style `original`; text after the last `#` names another style. The metadata of an entry holds
/// its flags and its unique number. Values are sent from the mapped segments without a copy. Stored values survive a
/// restart and a crash of the process, unless eviction removes them. A power loss may cost the last buffered changes.
///
/// With HTTP, a value has the path `/v1/STYLE/URL`, both percent-encoded. `/metrics`, `/health` and `/status` report
/// about the server. All connections share the event loops and the limits.
///
/// ```
/// let server = try CacheServer(store, options)
/// ...
/// server.stop()
/// try store.close()
/// ```
///
/// The program keeps the store open while the server runs, and may use it at the same time. Thread-safe.
public final class CacheServer: Sendable {
  /// The addresses at which the server listens for the memcached protocol. A port 0 of the options is replaced by the
  /// port that was chosen. Inherited sockets are not listed.
  public let addresses: [ServerAddress]
  /// The addresses at which it listens for HTTP.
  public let webAddresses: [ServerAddress]

  private let loops: [EventLoop]
  private let paths: [String]
  private let log: ServerLog?
  private let isRunning = Atomic<Bool>(true)

  /// Starts a server, which serves until ``stop()``.
  ///
  /// Throws `address` if an address is in use or does not exist, `invalidOption`, and `noThread` or `noResources` if
  /// the system is out of resources. Starts one thread for each event loop.
  public init(_ store: CacheStore, _ options: ServerOptions = ServerOptions()) throws(ServerError) {
    try options.validate()
    let limits = ConnectionLimits(
      stalledNanoseconds: UInt64(options.stalledMilliseconds) * 1_000_000,
      idleNanoseconds: options.idleMilliseconds > 0 ? UInt64(options.idleMilliseconds) * 1_000_000 : nil)
    var loops: [EventLoop] = []
    var (bound, webBound) = (BoundSockets(), BoundSockets())
    do throws(ServerError) {
      for address in options.addresses { try bound.listen(address) }
      try bound.take(options.inheritedSockets)
      for address in options.webAddresses { try webBound.listen(address) }
      try webBound.take(options.inheritedWebSockets)
      for _ in 0..<(options.threadCount > 0 ? options.threadCount : Processors.count) {
        loops.append(try EventLoop(limits, log: options.log))
      }
      for loop in loops { try loop.start() }
    } catch {
      for loop in loops { loop.stop() }
      bound.close()
      webBound.close()
      throw error
    }
    self.loops = loops
    addresses = bound.addresses
    webAddresses = webBound.addresses
    paths = bound.paths + webBound.paths
    log = options.log
    let items = ItemStore(
      store, largestValue: options.largestValue, memoryByteCount: options.memoryByteCount,
      isReadOnly: options.isReadOnly)
    let most = CacheServer.mostConnections(options, loopCount: loops.count)
    var options = options
    options.maximumConnections = most
    let reports = Reports(store, options, loops)
    let credentials = options.credentials
    let distributor = Distributor(
      loops, most: most, refusal: "ERROR Too many open connections\r\n", log: options.log
    ) { loop, output, _ in
      MemcachedSession(items, counters: loop.counters, server: reports, credentials: credentials, output: output)
    }
    loops[0].listen(bound.sockets, distributor)
    let site = HTTPSite(
      reports: ServerOperations(items, options, loops), isReadOnly: options.isReadOnly, credentials: credentials,
      log: options.log, pictures: options.pictures)
    let webDistributor = Distributor(
      loops, most: most, refusal: CacheServer.webRefusal, log: options.log
    ) { loop, output, socket in
      let peer = site.log == nil ? "" : Socket.peer(of: socket)
      let hasReceivedAll = Socket.isLocal(socket) ? { Socket.hasSentAll(socket) } : nil
      return HTTPSession(
        items, counters: loop.counters, site: site, peer: peer, output: output, hasReceivedAll: hasReceivedAll
      ) {
        loop.wake(socket)
      }
    }
    loops[0].listen(webBound.sockets, webDistributor)
    options.log?.write(LogLine("start"))
  }

  /// The largest number of connections of all protocols. All stores of a process use at most a quarter of the
  /// descriptors. A loop uses four, and 32 are for sockets that listen, the log and the program itself.
  private static func mostConnections(_ options: ServerOptions, loopCount: Int) -> Int {
    let limit = Socket.descriptorLimit
    return min(options.maximumConnections, max(8, limit - limit / 4 - 32 - 4 * loopCount))
  }

  private static let webRefusal: StaticString =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

  deinit { stop() }

  /// Stops the server. Waits for requests that are being processed, sends queued answers as far as the sockets accept
  /// them at once, closes all connections, and ends the threads. Removes the files of Unix sockets. A second call does
  /// nothing.
  public func stop() {
    guard isRunning.exchange(false, ordering: .relaxed) else { return }
    for loop in loops { loop.stop() }
    for path in paths { Socket.remove(path) }
    log?.write(LogLine("stop"))
  }
}
