import Synchronization

/// Gives accepted connections to the loops in turn, up to a limit. Thread-safe.
final class Distributor: Sendable {
  private let loops: [EventLoop]
  private let most: Int
  private let makeSession: EventLoop.SessionMaker
  private let refusal: StaticString
  private let log: ServerLog?
  private let turn = Atomic<Int>(0)

  /// `refusal` is sent to clients beyond the limit.
  init(
    _ loops: [EventLoop], most: Int, refusal: StaticString, log: ServerLog?,
    _ makeSession: @escaping EventLoop.SessionMaker
  ) {
    self.loops = loops
    self.most = most
    self.refusal = refusal
    self.log = log
    self.makeSession = makeSession
  }

  /// Gives a socket to a loop, or refuses it beyond the limit. Called on the thread of the first loop.
  func place(_ socket: Int32) {
    let count = loops.reduce(0) { $0 + $1.connectionCount.load(ordering: .relaxed) }
    guard count < most else {
      loops[0].counters.add(.rejectedConnections)
      log?.write(LogLine("refused", peer: Socket.peer(of: socket)))
      Socket.send(refusal, to: socket)
      Socket.close(socket)
      return
    }
    let number = turn.wrappingAdd(1, ordering: .relaxed).newValue
    loops[Int(UInt(bitPattern: number) % UInt(loops.count))].adopt(socket, makeSession)
  }
}
