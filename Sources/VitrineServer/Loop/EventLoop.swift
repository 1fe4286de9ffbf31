import CEvent
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// An event loop of libevent with its connections, on its own thread.
///
/// Invariant: any thread may use the mailbox, the counters and `connectionCount`. Everything else is used on the loop's
/// thread, or before that thread starts and after it ends.
final class EventLoop: @unchecked Sendable {
  let counters = Counters()
  let limits: ConnectionLimits
  private let log: ServerLog?
  private let base: OpaquePointer
  private let wakeSockets: (read: Int32, write: Int32)
  private var wakeEvent: Event?
  private var timer: Event?
  private let mailbox = Mutex<[Message]>([])
  private var thread: LoopThread?
  private var connections: [ObjectIdentifier: Connection] = [:]
  private var listeners: [Listener] = []
  /// The number of connections with a deadline.
  private var deadlineCount = 0
  private var isTimerPending = false
  private var isStopping = false
  /// The number of open connections.
  let connectionCount = Atomic<Int>(0)
  /// The buffer into which all connections of the loop read.
  let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 64)

  private enum Message {
    case adopt(Int32, SessionMaker)
    case listen([Int32], Distributor)
    case stop
  }

  /// Makes the session of a new connection.
  typealias SessionMaker = @Sendable (EventLoop, ResponseQueue, _ socket: Int32) -> any Session

  init(_ limits: ConnectionLimits, log: ServerLog? = nil) throws(ServerError) {
    guard let base = event_base_new() else { throw .noResources("libevent finds no way to wait for events") }
    var pair: [Int32] = [0, 0]
    guard pipe(&pair) == 0 else {
      event_base_free(base)
      throw .noResources(String(cString: strerror(errno)))
    }
    self.base = base
    self.limits = limits
    self.log = log
    wakeSockets = (pair[0], pair[1])
    _ = Socket.prepare(pair[0])
    _ = Socket.prepare(pair[1])
    wakeEvent = Event(base, pair[0], [.read, .persistent], self) { loop, _ in loop.readMailbox() }
    guard wakeEvent != nil else { throw .noResources("no memory for events") }
  }

  deinit {
    scratch.deallocate()
    wakeEvent?.free()
    timer?.free()
    event_base_free(base)
    Socket.close(wakeSockets.read)
    Socket.close(wakeSockets.write)
  }

  // MARK: Any thread

  func start() throws(ServerError) {
    thread = try LoopThread { [self] in run() }
  }

  /// Takes over an accepted socket.
  func adopt(_ socket: Int32, _ session: @escaping SessionMaker) {
    connectionCount.wrappingAdd(1, ordering: .relaxed)
    post(.adopt(socket, session))
  }

  /// Accepts the connections of listening sockets.
  func listen(_ sockets: [Int32], _ distributor: Distributor) { post(.listen(sockets, distributor)) }

  /// Sends queued answers, closes all connections, and ends the thread.
  func stop() {
    post(.stop)
    thread?.join()
    thread = nil
  }

  private func post(_ message: Message) {
    let isFirst = mailbox.withLock { messages in
      messages.append(message)
      return messages.count == 1
    }
    guard isFirst else { return }
    var byte: UInt8 = 1
    _ = write(wakeSockets.write, &byte, 1)
  }

  // MARK: The loop's thread

  private func run() {
    wakeEvent?.add()
    while !isStopping, event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) == 0 {}
    for listener in listeners { listener.end() }
    listeners = []
    for connection in connections.values { connection.finish() }
    let left = mailbox.withLock { messages in
      defer { messages = [] }
      return messages
    }
    for case .adopt(let socket, _) in left { Socket.close(socket) }
  }

  private func readMailbox() {
    while case .bytes = Socket.read(wakeSockets.read, scratch) {}
    let messages = mailbox.withLock { messages in
      defer { messages = [] }
      return messages
    }
    for message in messages {
      switch message {
      case .adopt(let socket, let session):
        let connection = Connection(socket, self, session)
        connections[ObjectIdentifier(connection)] = connection
        connection.start()
      case .listen(let sockets, let distributor):
        for socket in sockets { listeners.append(Listener(socket, self) { distributor.place($0) }) }
      case .stop:
        isStopping = true
        event_base_loopbreak(base)
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
    if connections.removeValue(forKey: ObjectIdentifier(connection)) != nil {
      connectionCount.wrappingSubtract(1, ordering: .relaxed)
    }
  }

  // MARK: Deadlines

  /// Adds to the number of connections with a deadline. As long as there are any, a timer checks them each second. A
  /// loop without deadlines is never woken for them.
  func noteDeadline(_ change: Int) {
    deadlineCount += change
    guard deadlineCount > 0, !isTimerPending else { return }
    isTimerPending = true
    if timer == nil { timer = Event(base, -1, [], self) { loop, _ in loop.checkDeadlines() } }
    timer?.add(milliseconds: 1000)
  }

  private func checkDeadlines() {
    isTimerPending = false
    let now = Time.monotonicNanoseconds()
    for connection in connections.values where connection.deadline.map({ $0 <= now }) ?? false {
      if !connection.isDraining {
        counters.add(.timeouts)
        log?.write(LogLine("timeout", peer: connection.peer))
      }
      connection.end()
    }
    noteDeadline(0)
  }
}
