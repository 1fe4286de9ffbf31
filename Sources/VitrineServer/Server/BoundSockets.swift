/// The listening sockets of a server that is starting.
struct BoundSockets {
  private(set) var sockets: [Int32] = []
  private(set) var addresses: [ServerAddress] = []
  private(set) var paths: [String] = []

  mutating func listen(_ address: ServerAddress) throws(ServerError) {
    switch address {
    case .tcp(let host, let port):
      let made = try Socket.listen(host: host, port: port)
      sockets += made
      addresses += made.compactMap { Socket.port(of: $0) }.prefix(1).map { .tcp(host: host, port: $0) }
    case .unix(let path, let mode):
      sockets.append(try Socket.listen(path: path, mode: mode))
      addresses.append(address)
      paths.append(path)
    }
  }

  /// Takes over sockets that already listen.
  mutating func take(_ inherited: [Int32]) throws(ServerError) {
    for socket in inherited {
      guard Socket.isListening(socket), Socket.prepare(socket) else {
        throw .address("descriptor \(socket)", "it is not a listening socket")
      }
      sockets.append(socket)
    }
  }

  func close() {
    for socket in sockets { Socket.close(socket) }
    for path in paths { Socket.remove(path) }
  }
}
