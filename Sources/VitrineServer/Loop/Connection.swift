/// A client's socket with its session. Used on the thread of its loop.
final class Connection {
  let socket: Int32
  private unowned let loop: EventLoop
  private let session: any Session
  private let output: ResponseQueue
  private var readEvent: Event?
  private var writeEvent: Event?
  /// Reports the end of a client that waits for its answer. Made when it is first needed.
  private var closedEvent: Event?
  /// Received bytes that the session has not taken.
  private var waiting: [UInt8] = []
  private var isClosed = false
  private var isSuspended = false
  /// The time of the monotonic clock, in nanoseconds, at which the connection ends unless it makes progress.
  private(set) var deadline: UInt64? {
    didSet {
      if (oldValue == nil) != (deadline == nil) { loop.noteDeadline(deadline == nil ? -1 : 1) }
    }
  }
  private var clock = ConnectionClock()

  /// The number of reads before other connections get their turn.
  private static let mostRounds = 4

  init(_ socket: Int32, _ loop: EventLoop, _ makeSession: EventLoop.SessionMaker) {
    self.socket = socket
    self.loop = loop
    output = ResponseQueue()
    session = makeSession(loop, output, socket)
  }

  func start() {
    loop.counters.add(.connections)
    readEvent = loop.event(socket, [.read, .persistent], self) { connection, _ in connection.read() }
    writeEvent = loop.event(socket, [.write, .persistent], self) { connection, _ in connection.resume() }
    guard let readEvent, writeEvent != nil else { return end() }
    readEvent.add()
    setDeadline()
  }

  /// The client's address.
  var peer: String { Socket.peer(of: socket) }

  /// Closes the socket.
  func end() {
    if isClosed { return }
    isClosed = true
    readEvent?.free()
    writeEvent?.free()
    closedEvent?.free()
    Socket.close(socket)
    deadline = nil
    session.connectionEnded()
    loop.remove(self)
  }

  /// Goes on after the session was suspended.
  func wakeUp() {
    guard isSuspended, !isClosed else { return }
    isSuspended = false
    closedEvent?.remove()
    resume()
  }

  /// Sends queued answers as far as the socket accepts them at once, and closes the socket.
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
        clock.noteTransfer(count)
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

  /// Whether the client has been refused, so that its end is no failure.
  var isDraining: Bool { clock.isDraining }

  /// Processes requests, and sends their answers. Returns false if the connection has ended, waits for its socket, or
  /// lets other connections work.
  private func process(_ received: UnsafeRawBufferPointer) -> Bool {
    var taken = 0
    var rounds = 0
    while true {
      rounds += 1
      taken += session.consume(UnsafeRawBufferPointer(rebasing: received[taken...]))
      let wasFull = output.isFull
      switch send() {
      case .done: break
      case .failed:
        end()
        return false
      case .blocked:
        return pause(received, from: taken)
      }
      if session.isEnding {
        end()
        return false
      }
      if session.isDraining { drain() }
      if session.isSuspended { return suspend(received, from: taken) }
      if taken < received.count, session.hasYielded || wasFull && rounds == Connection.mostRounds {
        loop.counters.add(.yields)
        return letOthersWork(received, from: taken)
      }
      if !wasFull { break }
    }
    keep(received, from: taken)
    return true
  }

  /// Stops reading until the loop finds that the socket accepts bytes.
  private func pause(_ received: UnsafeRawBufferPointer, from taken: Int) -> Bool {
    keep(received, from: taken)
    readEvent?.remove()
    writeEvent?.add()
    setDeadline()
    return false
  }

  /// Stops reading until the loop has looked at the other connections. Resumes even if the socket is not writable:
  /// Linux counts a Unix socket as writable only while the peer has left at most a quarter of the buffer unread, and a
  /// client may read the answers after it has sent all requests.
  private func letOthersWork(_ received: UnsafeRawBufferPointer, from taken: Int) -> Bool {
    keep(received, from: taken)
    readEvent?.remove()
    writeEvent?.add(milliseconds: 0)
    setDeadline()
    return false
  }

  /// Stops reading until ``wakeUp()``. A client that has shut down its sending side counts as gone, even if it would
  /// still read.
  private func suspend(_ received: UnsafeRawBufferPointer, from taken: Int) -> Bool {
    keep(received, from: taken)
    readEvent?.remove()
    isSuspended = true
    deadline = nil
    if closedEvent == nil {
      // Some ends are reported as bytes to read. Bytes of the next request are reported once, and stay unread.
      closedEvent = loop.event(socket, [.closed, .read, .edge, .persistent], self) { connection, kinds in
        if kinds.contains(.closed) || Socket.hasFailed(connection.socket) { connection.end() }
      }
    }
    closedEvent?.add()
    return false
  }

  /// Tells a refused client that nothing more is sent. A socket that is closed with unread bytes would lose the answer.
  private func drain() {
    if isDraining { return }
    Socket.endSending(socket)
    clock.drain()
  }

  private func keep(_ received: UnsafeRawBufferPointer, from taken: Int) {
    waiting.append(contentsOf: received[taken...])
  }

  /// Continues when the socket accepts bytes again, or when other connections had their turn.
  private func resume() {
    writeEvent?.remove()
    switch send() {
    case .failed: return end()
    case .blocked:
      writeEvent?.add()
      return setDeadline()
    case .done: break
    }
    if session.isEnding { return end() }
    let rest = waiting
    waiting = []
    guard rest.withUnsafeBytes({ process($0) }) else { return }
    readEvent?.add()
    setDeadline()
  }

  private func send() -> ResponseQueue.Sending {
    let result = output.send(to: socket) { count in
      loop.counters.add(.bytesSent, count)
      clock.noteTransfer(count)
    }
    clock.noteSending(isBlocked: result == .blocked)
    return result
  }

  /// Sets the time at which a stalled or idle client is disconnected.
  private func setDeadline() {
    if isClosed { return }
    deadline = clock.deadline(session, hasInput: !waiting.isEmpty, loop.limits)
  }
}
