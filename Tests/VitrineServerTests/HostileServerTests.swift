import CVitrineSystem
import Foundation
import Glibc
import Synchronization
import Testing
import Vitrine

@testable import VitrineClient

/// Wrong answers of a server are errors of the client, and the next call works.
struct HostileServerTests {
  /// Answers each connection with the next bytes of a list, and may pass descriptors with them.
  private final class Impostor {
    let path = NSTemporaryDirectory() + "vitrine-\(UUID().uuidString.prefix(8)).sock"
    private let listener: Int32
    private let requests = Requests()

    private final class Requests: Sendable {
      let count = Atomic<Int>(0)
    }

    /// The end of a connection after its answer.
    enum Ending { case end, endAfterRequest, trickle }

    var requestCount: Int { requests.count.load(ordering: .relaxed) }

    init(_ answers: [(text: String, descriptor: Int32?)], then ending: Ending = .end) throws {
      let made = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      listener = made
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      let status = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(made, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      guard status == 0, listen(made, 10) == 0 else { throw Failure() }
      Thread.detachNewThread { [requests] in
        for (text, descriptor) in answers {
          let client = accept(made, nil, nil)
          Impostor.receive(from: client, requests)
          _ = Impostor.send(text, descriptor, to: client)
          switch ending {
          case .end: break
          case .endAfterRequest: Impostor.receive(from: client, requests)
          case .trickle: while Impostor.send("a", nil, to: client) { usleep(5000) }
          }
          close(client)
        }
      }
    }

    private static func receive(from client: Int32, _ requests: Requests) {
      var buffer = [UInt8](repeating: 0, count: 4096)
      if recv(client, &buffer, buffer.count, 0) > 0 { requests.count.add(1, ordering: .relaxed) }
    }

    deinit {
      close(listener)
      unlink(path)
    }

    private static func send(_ text: String, _ descriptor: Int32?, to client: Int32) -> Bool {
      var bytes = Array(text.utf8)
      return bytes.withUnsafeMutableBytes { bytes in
        var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
        if let descriptor { return vitrine_send_passing(client, &part, 1, descriptor) >= 0 }
        return Glibc.send(client, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) >= 0
      }
    }
  }

  private static let tag = "ETag: \"\(String(repeating: "0", count: 32))\"\r\n"

  @Test(arguments: [
    "", "H", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 abc\r\n\r\n",
    "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\(tag)Content-Length: 10\r\n\r\nabc", "HTTP/1.1 200 OK\r\n\(tag)Content-Length: 2\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\n\(tag)Content-Length: 9223372036854775807\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", "HTTP/1.1 200 OK\r\nETag: \"zz\"\r\nContent-Length: 1\r\n\r\na",
    "HTTP/1.1 200 OK\r\n\(tag)Vitrine-Metadata: ?\r\nContent-Length: 1\r\n\r\na",
    "HTTP/1.1 200 OK\r\n\(tag)Vitrine-Place: 1 4096 10\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 3\r\n\r\nno\n",
  ])
  func wrongAnswersAreErrors(_ answer: String) throws {
    let server = try Impostor([(answer, nil), ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", nil)])
    let client = CacheClient(path: server.path)
    #expect(throws: ClientError.self, "\(answer)") { try client.value("k") }
    #expect(try client.value("k") == nil)
  }

  @Test func headsWithoutEndTakeBoundedMemory() throws {
    let server = try Impostor([("HTTP/1.1 200 OK\r\nA: " + String(repeating: "a", count: 1 << 20), nil)])
    #expect(throws: ClientError.self) { try CacheClient(path: server.path).value("k") }
  }

  /// A file that is shorter than the place of the value would raise a signal at the first read.
  @Test(arguments: ["1 0 8193", "1 8192 1", "1 1125899906842624 10", "1 4096 1099511627776"])
  func placesBeyondTheFileAreErrors(_ place: String) throws {
    let path = NSTemporaryDirectory() + "vitrine-\(UUID().uuidString.prefix(8)).bytes"
    FileManager.default.createFile(atPath: path, contents: Data(count: 8192))
    defer { unlink(path) }
    let file = open(path, O_RDONLY)
    defer { close(file) }
    let text = "HTTP/1.1 200 OK\r\n\(Self.tag)Vitrine-Place: \(place)\r\nContent-Length: 0\r\n\r\n"
    let server = try Impostor([(text, file)])
    #expect(throws: ClientError.self) { try CacheClient(path: server.path).value("k") }
  }

  /// An answer must be whole within the time limit, even if its bytes keep arriving.
  @Test func answersThatTrickleEndWithTheLimit() throws {
    let server = try Impostor([("HTTP/1.1 200 OK\r\nA: ", nil)], then: .trickle)
    let client = CacheClient(path: server.path, timeout: .milliseconds(200))
    #expect(throws: ClientError.interrupted(reason: "the server did not answer in time")) { try client.value("k") }
  }

  @Test func interimAnswersWithoutEndTakeBoundedTime() throws {
    let interim = String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 100_000)
    let server = try Impostor([(interim, nil)])
    #expect(throws: ClientError.notUnderstood("its head is too long")) {
      try CacheClient(path: server.path).value("k")
    }
  }

  /// Only a request that changes nothing is sent once more after the server has received it.
  @Test func changesAreNotSentTwice() throws {
    let found = "HTTP/1.1 204 No Content\r\n\r\n"
    let here = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    let server = try Impostor([(found, nil), (found, nil), (here, nil)], then: .endAfterRequest)
    let client = CacheClient(path: server.path)
    #expect(try client.remove("k"))
    // The connection is kept, takes the request, and ends.
    #expect(throws: ClientError.self) { try client.remove("k") }
    #expect(server.requestCount == 2)
    #expect(try client.remove("k"))
    #expect(try client.contains("k"))
  }

  /// Descriptors that come with other answers are closed.
  @Test func unwantedDescriptorsAreClosed() throws {
    let path = NSTemporaryDirectory() + "vitrine-\(UUID().uuidString.prefix(8)).bytes"
    let file = open(path, O_RDONLY | O_CREAT, 0o600)
    unlink(path)
    defer { close(file) }
    let text = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    let server = try Impostor((0..<50).map { _ in (text, file) })
    let client = CacheClient(path: server.path)
    for _ in 0..<50 { #expect(try client.value("k") == nil) }
    // The impostor has answered all connections, so it passes no further descriptor.
    #expect((0..<65_536).count { isSame($0, file) } == 1)
  }

  private func isSame(_ descriptor: Int32, _ file: Int32) -> Bool {
    var (found, wanted) = (stat(), stat())
    return fstat(descriptor, &found) == 0 && fstat(file, &wanted) == 0 && found.st_dev == wanted.st_dev
      && found.st_ino == wanted.st_ino
  }
}
