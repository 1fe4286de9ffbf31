import Foundation
import FuzzSupport

@testable import VitrineImages

#if canImport(Glibc)
  import Glibc
#endif

/// A server of this process, which answers every request with the bytes of the present input. Safe from any thread.
final class AnswerServer: Sendable {
  struct Answer: Sendable {
    var pieces: [[UInt8]] = []
    var staysOpen = false
  }

  static let shared = AnswerServer()

  let port: Int
  private let answer = Locked(Answer())

  private init() {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &size) == 0
      }
    }
    claim(isListening, "no server on a local port")
    port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread { [answer] in
      while true {
        let connection = accept(listener, nil, nil)
        if connection < 0 { continue }
        Thread.detachNewThread {
          AnswerServer.serve(connection, answer)
          close(connection)
        }
      }
    }
  }

  func set(_ new: Answer) { answer.withLock { $0 = new } }

  private static func serve(_ connection: Int32, _ answer: Locked<Answer>) {
    while readHead(connection) {
      let answer = answer.withLock { $0 }
      for piece in answer.pieces {
        let count = piece.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if count != piece.count { return }
      }
      if !answer.staysOpen { return }
    }
  }

  /// Returns false at the end of the connection. The first bytes of TLS count as a head.
  private static func readHead(_ connection: Int32) -> Bool {
    var end: [UInt8] = []
    var byte: UInt8 = 0
    while recv(connection, &byte, 1, 0) == 1 {
      if end.isEmpty, byte == 0x16 { return true }
      end = end.suffix(3) + [byte]
      if end == [13, 10, 13, 10] { return true }
    }
    return false
  }
}
