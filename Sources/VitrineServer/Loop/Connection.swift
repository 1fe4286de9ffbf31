/// The limits of connections.
struct ConnectionLimits: Sendable {
  /// Nanoseconds that a request, or the sending of an answer, may go on.
  var stalledNanoseconds: UInt64
  /// Nanoseconds between two requests; nil for no limit.
  var idleNanoseconds: UInt64?
  /// Bytes a second at least that a long value must arrive with, beyond the time above.
  static let leastBytesPerSecond: UInt64 = 4096
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
  /// The client sends no more.
  private var hasEnded = false
  private var isClosed = false
  /// The moment, of the monotonic clock, at which the connection ends unless it makes progress.
  private(set) var deadline: UInt64? {
    didSet {
      if (oldValue == nil) != (deadline == nil) { loop.noteDeadline(deadline == nil ? -1 : 1) }
    }
  }
  private var requestBegin: UInt64?

  /// Rounds of reading before other connections get their turn.
  private static let mostRounds = 4

  init(_ socket: Int32, _ loop: EventLoop, _ makeSession: EventLoop.SessionMaker) {
    self.socket = socket
    self.loop = loop
    output = ResponseQueue()
    session = makeSession(loop, output)
  }

  func begin() {
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

  // MARK: Events

  private func read() {
    for _ in 0..<Connection.mostRounds {
      let scratch = loop.scratch
      let kept = waiting.count
      waiting.withUnsafeBytes { scratch.copyMemory(from: $0) }
      switch Socket.receive(socket, UnsafeMutableRawBufferPointer(rebasing: scratch[kept...])) {
      case .bytes(let count):
        loop.counters.add(.bytesRead, count)
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
      switch output.send(to: socket, { loop.counters.add(.bytesSent, $0) }) {
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
    switch output.send(to: socket, { loop.counters.add(.bytesSent, $0) }) {
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

  // MARK: Deadlines

  /// A client that takes no answer, or does not end its request, is closed.
  private func setDeadline() {
    if isClosed { return }
    let isBusy = !output.isEmpty || session.isWithinRequest || !waiting.isEmpty
    guard isBusy else {
      requestBegin = nil
      deadline = loop.limits.idleNanoseconds.map { Time.monotonicNanoseconds() + $0 }
      return
    }
    let now = Time.monotonicNanoseconds()
    // Progress in sending counts: the client reads. A request has a time for itself, however often bytes of it arrive.
    if !output.isEmpty {
      deadline = now + loop.limits.stalledNanoseconds
    } else {
      if requestBegin == nil { requestBegin = now }
      let allowance = UInt64(session.valueByteCount) / ConnectionLimits.leastBytesPerSecond * 1_000_000_000
      deadline = requestBegin! + loop.limits.stalledNanoseconds + allowance
    }
  }
}
