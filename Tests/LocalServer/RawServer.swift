import Foundation
import VitrineImages

#if canImport(Glibc)
  import Glibc
#endif

/// A server on a local port that sends any bytes as answers, and keeps connections open. Safe from any thread.
package final class RawServer: Sendable {
  package enum Step: Sendable {
    case send([UInt8])
    case text(String)
    /// Sends bytes over and over until the client closes the connection.
    case endless([UInt8])
    /// Waits, in milliseconds.
    case pause(Int)
    /// Waits until the client closes the connection.
    case hold
    case close
  }

  /// The answer to a request. After the steps, the next request of the connection is read.
  package typealias Answer = @Sendable (_ head: String) -> [Step]

  private struct State {
    var heads: [String] = []
    var connectionCount = 0
    var openConnectionCount = 0
  }

  package let port: Int
  private let listener: Int32
  private let state = Locked(State())

  /// Listens on 127.0.0.1, or on ::1.
  package init(isIPv6: Bool = false, _ answer: @escaping Answer) throws {
    let family = isIPv6 ? AF_INET6 : AF_INET
    let listener = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard listener >= 0 else { throw POSIXError(.EAFNOSUPPORT) }
    guard let port = RawServer.listen(listener, isIPv6: isIPv6) else {
      close(listener)
      throw POSIXError(.EADDRNOTAVAIL)
    }
    self.listener = listener
    self.port = port
    Thread.detachNewThread { [state] in
      while true {
        let connection = accept(listener, nil, nil)
        if connection < 0, errno == EINTR || errno == ECONNABORTED { continue }
        if connection < 0 { break }
        state.withLock {
          $0.connectionCount += 1
          $0.openConnectionCount += 1
        }
        Thread.detachNewThread {
          RawServer.serve(connection, answer, state)
          state.withLock { $0.openConnectionCount -= 1 }
          close(connection)
        }
      }
      close(listener)
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }

  package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  /// The heads of all requests so far.
  package var heads: [String] { state.withLock { $0.heads } }
  package var connectionCount: Int { state.withLock { $0.connectionCount } }
  /// The connections that neither side has closed, as far as the server has noticed.
  package var openConnectionCount: Int { state.withLock { $0.openConnectionCount } }

  private static func listen(_ listener: Int32, isIPv6: Bool) -> Int? {
    var address = sockaddr_in6()
    var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    if isIPv6 {
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_addr = in6addr_loopback
    } else {
      var plain = sockaddr_in()
      plain.sin_family = sa_family_t(AF_INET)
      plain.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      size = socklen_t(MemoryLayout<sockaddr_in>.size)
      withUnsafeMutableBytes(of: &address) { target in
        withUnsafeBytes(of: plain) { target.copyBytes(from: $0) }
      }
    }
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && Glibc.listen(listener, 128) == 0 && getsockname(listener, $0, &size) == 0
      }
    }
    // The port is at the same place for both families.
    return isListening ? Int(UInt16(bigEndian: address.sin6_port)) : nil
  }

  private static func serve(
    _ connection: Int32, _ answer: Answer, _ state: Locked<State>
  ) {
    while let head = head(connection) {
      state.withLock { $0.heads.append(head) }
      for step in answer(head) {
        var isOpen = true
        switch step {
        case .send(let bytes): isOpen = send(connection, bytes)
        case .text(let text): isOpen = send(connection, Array(text.utf8))
        case .endless(let bytes):
          repeat { isOpen = send(connection, bytes) } while isOpen
        case .pause(let milliseconds): usleep(UInt32(milliseconds) * 1000)
        case .hold:
          var byte: UInt8 = 0
          while recv(connection, &byte, 1, 0) > 0 {}
          return
        case .close: return
        }
        if !isOpen { return }
      }
    }
  }

  private static func head(_ connection: Int32) -> String? {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      guard bytes.count < 1 << 16, recv(connection, &byte, 1, 0) == 1 else { return nil }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func send(_ connection: Int32, _ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if count <= 0 { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}
