import Foundation
import VitrineImages

#if canImport(Glibc)
  import Glibc
#endif

/// An HTTP server on a local port, which answers as a closure says, faults included. Each connection has one request.
/// Safe from any thread.
package final class TestServer: Sendable {
  package struct Request: Sendable {
    package var method: String
    package var path: String
    /// The keys are names in lower case.
    package var headers: [String: String]
  }

  package struct Response: Sendable {
    package var status = 200
    package var headers: [String: String] = [:]
    package var body: [UInt8] = []
    /// The value of `Content-Length`. Nil means the length of the body, and -1 no such header.
    package var declaredByteCount: Int?
    /// Sends only this many bytes of the body.
    package var cut: Int?
    /// Milliseconds before the head, and between pieces of 8 KiB.
    package var delay = 0
    package var pause = 0
    /// Bytes sent in place of the whole response, head included. If empty, the connection is closed at once.
    package var raw: [UInt8]?

    package init(
      status: Int = 200, headers: [String: String] = [:], body: [UInt8] = [], declaredByteCount: Int? = nil,
      cut: Int? = nil, delay: Int = 0, pause: Int = 0, raw: [UInt8]? = nil
    ) {
      self.status = status
      self.headers = headers
      self.body = body
      self.declaredByteCount = declaredByteCount
      self.cut = cut
      self.delay = delay
      self.pause = pause
      self.raw = raw
    }

    package static func status(_ status: Int, _ headers: [String: String] = [:]) -> Response {
      Response(status: status, headers: headers)
    }

    /// Returns a response of the head's lines and the bytes after it, sent unchanged.
    package static func raw(_ head: [String], _ body: [UInt8] = []) -> Response {
      Response(raw: Array((head + ["", ""]).joined(separator: "\r\n").utf8) + body)
    }

    package static let nothing = Response(raw: [])

    /// Returns a response in chunks of `count` bytes, each with an extension. `isCut` leaves out the last chunk. There
    /// is no trailer, because the toolchain's URLSession traps at one on Linux.
    package static func chunked(_ body: [UInt8], of count: Int, isCut: Bool = false) -> Response {
      var bytes: [UInt8] = []
      for start in stride(from: 0, to: body.count, by: count) {
        let chunk = body[start..<min(start + count, body.count)]
        bytes += Array("\(String(chunk.count, radix: 16));a=b\r\n".utf8) + chunk + Array("\r\n".utf8)
      }
      if !isCut { bytes += Array("0\r\n\r\n".utf8) }
      return raw(["HTTP/1.1 200 OK", "Connection: close", "Transfer-Encoding: chunked"], bytes)
    }
  }

  package typealias Answer = @Sendable (Request) -> Response

  package let port: Int
  private let listener: Int32
  private let answer: Answer
  private let log = Locked<[Request]>([])

  package init(_ answer: @escaping Answer) throws {
    self.answer = answer
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    self.listener = listener
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        var size = size
        return bind(listener, pointer, size) == 0 && listen(listener, 128) == 0
          && getsockname(listener, pointer, &size) == 0
      }
    }
    guard isListening else { throw POSIXError(.EADDRINUSE) }
    port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread { [listener, answer, log] in
      while let connection = TestServer.connection(of: listener) {
        Thread.detachNewThread {
          TestServer.serve(connection, answer, log)
          close(connection)
        }
      }
      // Closed only after the last `accept`, because the descriptor's number may become that of another server.
      close(listener)
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
  }

  package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  /// The requests so far, in order.
  package var requests: [Request] { log.withLock { $0 } }
  package var paths: [String] { requests.map(\.path) }

  // MARK: One connection

  /// Waits for the next connection. Returns nil after the server was shut down.
  private static func connection(of listener: Int32) -> Int32? {
    while true {
      let connection = accept(listener, nil, nil)
      if connection >= 0 { return connection }
      switch errno {
      case EINTR, ECONNABORTED: continue
      // Other connections free their descriptors.
      case EMFILE, ENFILE: usleep(1000)
      default: return nil
      }
    }
  }

  private static func serve(_ connection: Int32, _ answer: Answer, _ log: Locked<[Request]>) {
    guard let request = read(connection) else { return }
    log.withLock { $0.append(request) }
    let response = answer(request)
    usleep(UInt32(response.delay) * 1000)
    if let raw = response.raw {
      _ = write(connection, raw)
      return
    }
    var head = "HTTP/1.1 \(response.status) Whatever\r\nConnection: close\r\n"
    for (name, value) in response.headers { head += "\(name): \(value)\r\n" }
    let length = response.declaredByteCount ?? response.body.count
    if length != -1, response.status != 304 { head += "Content-Length: \(length)\r\n" }
    guard write(connection, Array((head + "\r\n").utf8)) else { return }
    if request.method == "HEAD" || response.status == 304 { return }
    let body = response.body.prefix(response.cut ?? .max)
    for start in stride(from: 0, to: body.count, by: 8192) {
      if start > 0 { usleep(UInt32(response.pause) * 1000) }
      guard write(connection, Array(body[start..<min(start + 8192, body.count)])) else { return }
    }
  }

  private static func read(_ connection: Int32) -> Request? {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4096)
    while bytes.count < 1 << 16, !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      let count = recv(connection, &piece, piece.count, 0)
      if count <= 0 { return nil }
      bytes += piece[..<count]
    }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n")
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count == 3 else { return nil }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2 { headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces) }
    }
    return Request(method: String(words[0]), path: String(words[1]), headers: headers)
  }

  private static func write(_ connection: Int32, _ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if count <= 0 { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}
