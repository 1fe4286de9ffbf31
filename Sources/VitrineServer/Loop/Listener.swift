import CEvent

/// Accepts the connections of a listening socket. Used on the thread of its loop.
final class Listener {
  let socket: Int32
  private unowned let loop: EventLoop
  private let accept: (Int32) -> Void
  private var event: Event?
  private var retry: Event?

  /// The number of connections to accept before other events get their turn.
  private static let mostAtOnce = 64
  /// Milliseconds to wait when descriptors are short.
  private static let shortagePause = 100

  init(_ socket: Int32, _ loop: EventLoop, _ accept: @escaping (Int32) -> Void) {
    self.socket = socket
    self.loop = loop
    self.accept = accept
    event = loop.event(socket, [.read, .persistent], self) { listener, _ in listener.acceptAll() }
    retry = loop.event(-1, [], self) { listener, _ in listener.event?.add() }
    event?.add()
  }

  /// Stops accepting connections, and closes the socket.
  func end() {
    event?.free()
    retry?.free()
    Socket.close(socket)
  }

  private func acceptAll() {
    for _ in 0..<Listener.mostAtOnce {
      switch Socket.accept(socket) {
      case .socket(let accepted): accept(accepted)
      case .none: return
      case .shortage:
        // The socket stays ready, so without a pause the loop would spin.
        loop.counters.add(.acceptPauses)
        event?.remove()
        retry?.add(milliseconds: Listener.shortagePause)
        return
      }
    }
  }
}
