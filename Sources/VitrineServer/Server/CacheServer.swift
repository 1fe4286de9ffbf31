import Synchronization
import Vitrine

/// Serves a store to other processes by the memcached protocol.
///
/// A key is a URL in the style `original`; text behind the last `#` names another style. Flags and unique numbers are kept in the
/// metadata of entries. Values are sent from the mapped segments without a copy. After a restart, or a crash of the process or the
/// machine, stored values are there, except for those that eviction took.
///
/// ```
/// let server = try CacheServer(store, options)
/// ...
/// server.stop()
/// try store.close()
/// ```
///
/// The program keeps the store open, and may use it beside the server. Thread-safe.
public final class CacheServer: Sendable {
  /// The addresses at which the server listens, with the ports that were free.
  public let addresses: [ServerAddress]

  private let loops: [EventLoop]
  private let paths: [String]
  private let isRunning = Atomic<Bool>(true)

  /// Listens, and serves from now on.
  ///
  /// Throws `address` if an address is used by another program or does not exist, `invalidOption`, and `noThread` or
  /// `noResources` if the system has no room for it. Starts one thread for each event loop.
  public init(_ store: CacheStore, _ options: ServerOptions = ServerOptions()) throws(ServerError) {
    try options.validate()
    let limits = ConnectionLimits(
      stalledNanoseconds: UInt64(options.stalledMilliseconds) * 1_000_000,
      idleNanoseconds: options.idleMilliseconds > 0 ? UInt64(options.idleMilliseconds) * 1_000_000 : nil)
    var loops: [EventLoop] = []
    var bound = BoundSockets()
    do throws(ServerError) {
      for address in options.addresses { try bound.listen(address) }
      try bound.take(options.inheritedSockets)
      for _ in 0..<(options.threadCount > 0 ? options.threadCount : Processors.count) {
        loops.append(try EventLoop(limits))
      }
      for loop in loops { try loop.start() }
    } catch {
      for loop in loops { loop.stop() }
      bound.close()
      throw error
    }
    self.loops = loops
    addresses = bound.addresses
    paths = bound.paths
    let items = ItemStore(store, largestValue: options.largestValue, memoryByteCount: options.memoryByteCount)
    let reports = Reports(store, options, loops)
    let credentials = options.credentials
    let distributor = Distributor(loops, most: options.maximumConnections) { loop, output in
      MemcachedSession(items, counters: loop.counters, server: reports, credentials: credentials, output: output)
    }
    loops[0].listen(bound.sockets, distributor)
  }

  deinit { stop() }

  /// Accepts no more connections, sends the answers that wait as far as the clients take them at once, closes all connections, and ends the threads. The sockets of paths
  /// are removed. Further calls do nothing. Waits for requests that are being processed.
  public func stop() {
    guard isRunning.exchange(false, ordering: .relaxed) else { return }
    for loop in loops { loop.stop() }
    for path in paths { Socket.remove(path) }
  }
}
