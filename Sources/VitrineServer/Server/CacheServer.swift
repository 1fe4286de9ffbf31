import Synchronization
import Vitrine

/// Serves a store to other processes by the memcached protocol.
///
/// A key is a URL in the style `original`; text after the last `#` names another style. The metadata of an entry holds
/// its flags and its unique number. Values are sent from the mapped segments without a copy. Stored values survive a
/// restart and a crash of the process, unless eviction removes them. A power loss may cost the last buffered changes.
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
  /// The addresses at which the server listens. A port 0 of the options is replaced by the port that was chosen.
  /// Inherited sockets are not listed.
  public let addresses: [ServerAddress]

  private let loops: [EventLoop]
  private let paths: [String]
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

  /// Stops the server. Waits for requests that are being processed, sends queued answers as far as the sockets accept
  /// them at once, closes all connections, and ends the threads. Removes the files of Unix sockets. A second call does
  /// nothing.
  public func stop() {
    guard isRunning.exchange(false, ordering: .relaxed) else { return }
    for loop in loops { loop.stop() }
    for path in paths { Socket.remove(path) }
  }
}
