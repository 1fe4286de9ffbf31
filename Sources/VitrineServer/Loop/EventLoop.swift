import CEvent
import Synchronization

/// An event loop of libevent with its connections, on its own thread.
///
/// Invariant: any thread may use the mailbox, the counters and `connectionCount`. Everything else is used on the loop's
/// thread, or before that thread starts and after it ends.
final class EventLoop: @unchecked Sendable {
  let counters = Counters()
  let limits: ConnectionLimits
  private let log: ServerLog?
  private let base: OpaquePointer
  private let mailbox: Mailbox<Message>
  private var wakeEvent: Event?
  private var thread: LoopThread?
  /// The open connections by their sockets.
  private var connections: [Int32: Connection] = [:]
  private var listeners: [Listener] = []
  private var deadlines = DeadlineTimer()
  /// The number of open connections.
  let connectionCount = Atomic<Int>(0)
  /// The buffer into which all connections of the loop read.
  let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 64)

  private enum Message {
    case adopt(Int32, SessionMaker)
    case listen([Int32], Distributor)
    case wake(Int32)
    case stop
  }

  /// Makes the session of a new connection.
  typealias SessionMaker = @Sendable (EventLoop, ResponseQueue, _ socket: Int32) -> any Session

  init(_ limits: ConnectionLimits, log: ServerLog? = nil) throws(ServerError) {
    mailbox = try Mailbox()
    guard let base = event_base_new() else { throw .noResources("libevent finds no way to wait for events") }
    self.base = base
    self.limits = limits
    self.log = log
    wakeEvent = Event(base, mailbox.descriptor, [.read, .persistent], self) { loop, _ in loop.readMailbox() }
    guard wakeEvent != nil else { throw .noResources("no memory for events") }
  }

  deinit {
    scratch.deallocate()
    wakeEvent?.free()
    deadlines.free()
    event_base_free(base)
  }

  // MARK: Any thread

  func start() throws(ServerError) {
    thread = try LoopThread { [self] in run() }
  }

  /// Takes over an accepted socket.
  func adopt(_ socket: Int32, _ session: @escaping SessionMaker) {
    connectionCount.wrappingAdd(1, ordering: .relaxed)
    mailbox.post(.adopt(socket, session))
  }

  /// Accepts the connections of listening sockets.
  func listen(_ sockets: [Int32], _ distributor: Distributor) { mailbox.post(.listen(sockets, distributor)) }

  /// Lets the suspended session of a socket go on. A socket that was closed meanwhile, or has another connection, is
  /// not affected.
  func wake(_ socket: Int32) { mailbox.post(.wake(socket)) }

  /// Sends queued answers, closes all connections, and ends the thread.
  func stop() {
    mailbox.post(.stop)
    thread?.join()
    thread = nil
  }

  // MARK: The loop's thread

  private func run() {
    wakeEvent?.add()
    while event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) == 0, event_base_got_break(base) == 0 {}
    for listener in listeners { listener.end() }
    listeners = []
    for connection in connections.values { connection.finish() }
    for case .adopt(let socket, _) in mailbox.take() { Socket.close(socket) }
  }

  private func readMailbox() {
    for message in mailbox.read(scratch) {
      switch message {
      case .adopt(let socket, let session):
        let connection = Connection(socket, self, session)
        connections[socket] = connection
        connection.start()
      case .listen(let sockets, let distributor):
        for socket in sockets { listeners.append(Listener(socket, self) { distributor.place($0) }) }
      case .wake(let socket): connections[socket]?.wakeUp()
      case .stop: event_base_loopbreak(base)
      }
    }
  }

  /// Makes an event of the loop.
  func event<Target: AnyObject>(
    _ descriptor: Int32, _ kinds: Event.Kinds, _ target: Target, _ body: @escaping (Target, Event.Kinds) -> Void
  ) -> Event? {
    Event(base, descriptor, kinds, target, body)
  }

  /// Removes a connection that has ended.
  func remove(_ connection: Connection) {
    if connections.removeValue(forKey: connection.socket) != nil {
      connectionCount.wrappingSubtract(1, ordering: .relaxed)
    }
  }

  // MARK: Deadlines

  /// Adds to the number of connections with a deadline.
  func noteDeadline(_ change: Int) { deadlines.note(change, self) }

  /// Ends the connections whose deadline has passed. Called by the timer.
  func checkDeadlines() {
    let now = Time.monotonicNanoseconds()
    for connection in connections.values where connection.deadline.map({ $0 <= now }) ?? false {
      if !connection.isDraining {
        counters.add(.timeouts)
        log?.write(LogLine("timeout", peer: connection.peer))
      }
      connection.end()
    }
    deadlines.restart(self)
  }
}
