/// The limits of connections.
struct ConnectionLimits: Sendable {
  /// Nanoseconds that a request, or the sending of an answer, may go on.
  var stalledNanoseconds: UInt64
  /// Nanoseconds between two requests; nil for no limit.
  var idleNanoseconds: UInt64?
  /// Bytes that give a request or an answer a second more.
  static let bytesPerSecond: UInt64 = 4096
}

/// A client's socket with its session. Used on the thread of its loop.
final class Connection {
  private let socket: Int32
  private unowned let loop: EventLoop
  private let session: MemcachedSession
  private let output: ResponseQueue
  private var readEvent: Event?
  private var writeEvent: Event?
  /// Bytes that were received and not taken.
  private var waiting: [UInt8] = []
  private var isClosed = false
  /// The moment, of the monotonic clock, at which the connection ends unless it makes progress.
  private(set) var deadline: UInt64? {
    didSet {
      if (oldValue == nil) != (deadline == nil) { loop.noteDeadline(deadline == nil ? -1 : 1) }
    }
  }
  /// The present request, or the answers that wait: their begin, and the bytes since then.
  private var begin: UInt64?
  private var byteCount: UInt64 = 0
  private var requestCount = 0

  /// Rounds of reading before other connections get their turn.
  private static let mostRounds = 4

  init(_ socket: Int32, _ loop: EventLoop, _ makeSession: EventLoop.SessionMaker) {
    self.socket = socket
    self.loop = loop
    output = ResponseQueue()
    session = makeSession(loop, output)
  }

  func start() {
    loop.counters.add(.connections)
    readEvent = loop.event(socket, [.read, .persistent], self) { connection, _ in connection.read() }
    writeEvent = loop.event(socket, [.write, .persistent], self) { connection, _ in connection.resume() }
    guard let readEvent, writeEvent != nil else { return end() }
    readEvent.add()
    setDeadline()
  }

  /// Closes the socket.
  func end() {
    if isClosed { return }
    isClosed = true
    readEvent?.free()
    writeEvent?.free()
    Socket.close(socket)
    deadline = nil
    loop.remove(self)
  }

  /// Sends the answers that wait, as far as the socket takes them at once, and closes it.
  func finish() {
    if isClosed { return }
    if output.send(to: socket, { loop.counters.add(.bytesSent, $0) }) == .done { Socket.endSending(socket) }
    end()
  }

  // MARK: Events

  private func read() {
    for _ in 0..<Connection.mostRounds {
      let scratch = loop.scratch
      let kept = waiting.count
      waiting.withUnsafeBytes { scratch.copyMemory(from: $0) }
      switch Socket.receive(socket, UnsafeMutableRawBufferPointer(rebasing: scratch[kept...])) {
      case .bytes(let count):
        loop.counters.add(.bytesRead, count)
        byteCount += UInt64(count)
        let received = UnsafeRawBufferPointer(rebasing: scratch[..<(kept + count)])
        waiting.removeAll(keepingCapacity: waiting.capacity <= 4096)
        guard process(received) else { return }
        if kept + count < scratch.count { return setDeadline() }
      case .blocked: return setDeadline()
      case .ended: return end()
      }
    }
    loop.counters.add(.yields)
    setDeadline()
  }

  /// Processes requests, and sends their answers. Returns false if the connection has ended or waits for its socket.
  private func process(_ received: UnsafeRawBufferPointer) -> Bool {
    var taken = 0
    while true {
      taken += session.consume(UnsafeRawBufferPointer(rebasing: received[taken...]))
      let wasFull = output.isFull
      switch send() {
      case .done: break
      case .failed:
        end()
        return false
      case .blocked:
        keep(received, from: taken)
        // No more is read before the answers were sent.
        readEvent?.remove()
        writeEvent?.add()
        setDeadline()
        return false
      }
      if session.isEnding {
        end()
        return false
      }
      if !wasFull { break }
    }
    keep(received, from: taken)
    return true
  }

  private func keep(_ received: UnsafeRawBufferPointer, from taken: Int) {
    waiting.append(contentsOf: received[taken...])
  }

  /// The socket takes bytes again.
  private func resume() {
    switch send() {
    case .failed: return end()
    case .blocked: return setDeadline()
    case .done: break
    }
    if session.isEnding { return end() }
    writeEvent?.remove()
    let rest = waiting
    waiting = []
    guard rest.withUnsafeBytes({ process($0) }) else { return }
    readEvent?.add()
    setDeadline()
  }

  private func send() -> ResponseQueue.Sending {
    let wasWaiting = isWaiting
    let result = output.send(to: socket) { count in
      loop.counters.add(.bytesSent, count)
      byteCount += UInt64(count)
    }
    isWaiting = result == .blocked
    // Answers that begin to wait have a time of their own.
    if isWaiting != wasWaiting { begin = nil }
    return result
  }

  // MARK: Deadlines

  /// Whether answers wait for the socket.
  private var isWaiting = false

  /// A client that takes no answer, or does not end its request, is closed. Each request, and each queue of answers, has its own
  /// time, which grows with the bytes that have moved.
  private func setDeadline() {
    if isClosed { return }
    if session.requestCount != requestCount {
      requestCount = session.requestCount
      if !isWaiting { begin = nil }
    }
    guard isWaiting || session.isWithinRequest || !waiting.isEmpty else {
      begin = nil
      deadline = loop.limits.idleNanoseconds.map { Time.monotonicNanoseconds() + $0 }
      return
    }
    if begin == nil {
      begin = Time.monotonicNanoseconds()
      byteCount = 0
    }
    let more = byteCount / ConnectionLimits.bytesPerSecond * 1_000_000_000
    deadline = begin! + loop.limits.stalledNanoseconds + more
  }
}
