import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// Socket calls for connections within this machine.
enum LocalSocket {
  /// Returns a port that is free at this moment.
  static func freePort() throws -> UInt16 {
    let listener = try listening(on: 0)
    defer { close(listener) }
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &size) }
    }
    guard status == 0 else { throw BenchError("no free port: \(errno)") }
    return UInt16(bigEndian: address.sin_port)
  }

  static func listening(on port: UInt16) throws -> Int32 {
    let listener = stream()
    var yes: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    guard withAddress(port, { bind(listener, $0, $1) }) == 0, listen(listener, 128) == 0 else {
      throw BenchError("cannot listen on port \(port): \(errno)")
    }
    return listener
  }

  /// Tries for a tenth of a second: if a firewall drops the packets, the system would try for minutes.
  static func isAnswering(_ port: UInt16) -> Bool {
    let socket = stream()
    defer { close(socket) }
    guard fcntl(socket, F_SETFL, O_NONBLOCK) == 0 else { return false }
    if withAddress(port, { connect(socket, $0, $1) }) == 0 { return true }
    var request = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
    var status: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    return errno == EINPROGRESS && poll(&request, 1, 100) == 1
      && getsockopt(socket, SOL_SOCKET, SO_ERROR, &status, &size) == 0 && status == 0
  }

  /// Disables Nagle's algorithm: a short answer must not wait for an acknowledgment.
  static func sendAtOnce(_ socket: Int32) {
    var yes: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Returns the path of the next request, or nil at the end of the connection. `unread` keeps the bytes received after
  /// the previous request.
  static func readRequest(_ socket: Int32, _ unread: inout [UInt8]) -> String? {
    var piece = [UInt8](repeating: 0, count: 4096)
    while true {
      if let end = unread.firstRange(of: Array("\r\n\r\n".utf8)) {
        let line = unread.prefix { $0 != UInt8(ascii: "\r") }
        unread.removeFirst(end.upperBound)
        let words = String(decoding: line, as: UTF8.self).split(separator: " ")
        return words.count == 3 && words[0] == "GET" ? String(words[1]) : nil
      }
      let count = recv(socket, &piece, piece.count, 0)
      if count <= 0 || unread.count > 1 << 16 { return nil }
      unread += piece[..<count]
    }
  }

  static func send(_ bytes: Data, _ socket: Int32) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(socket, $0.baseAddress, $0.count) }
      if count <= 0 { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  private static func stream() -> Int32 {
    #if canImport(Glibc)
      socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      socket(AF_INET, SOCK_STREAM, 0)
    #endif
  }

  private static func withAddress(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
