import Foundation
import Glibc
import VitrineServer

/// A client with a blocking socket.
final class Client {
  private let socket: Int32
  private var received: [UInt8] = []

  struct Ended: Error {}

  init(port: UInt16) throws {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, length) }
    }
    if status != 0 { throw Ended() }
  }

  init(path: String) throws {
    socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let length = socklen_t(MemoryLayout<sockaddr_un>.size)
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, length) }
    }
    if status != 0 { throw Ended() }
  }

  deinit { close(socket) }

  func send(_ bytes: [UInt8]) throws {
    var offset = 0
    while offset < bytes.count {
      let count = bytes[offset...].withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if count < 0, errno == EINTR { continue }
      if count <= 0 { throw Ended() }
      offset += count
    }
  }

  /// Lets the close of the socket break the connection off, as the death of a machine does.
  func resetAtClose() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
  }

  func send(_ text: String) throws { try send(Array(text.utf8)) }

  /// Receives at least one byte.
  private func receive() throws {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    var count = 0
    repeat {
      count = buffer.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
    } while count < 0 && errno == EINTR
    if count <= 0 { throw Ended() }
    received += buffer[..<count]
  }

  /// Returns the next line without its end.
  func line() throws -> String {
    while true {
      if let end = received.firstIndex(of: 10) {
        let line = received[..<end]
        received.removeFirst(end + 1)
        return String(decoding: line.last == 13 ? line.dropLast() : line, as: UTF8.self)
      }
      try receive()
    }
  }

  func bytes(_ count: Int) throws -> [UInt8] {
    while received.count < count { try receive() }
    defer { received.removeFirst(count) }
    return Array(received[..<count])
  }

  /// Reads until the server closes the connection. Returns true, or waits forever.
  func isEnded() -> Bool {
    while (try? receive()) != nil {}
    return true
  }
}
