import FolderRemoval
import Foundation
import Testing
import Vitrine
import VitrineServer

/// A server at a free port of this machine, with a store in a temporary folder.
private final class TestServer {
  let folder = NSTemporaryDirectory() + "vitrine-served-\(UUID().uuidString)"
  let store: CacheStore
  let server: CacheServer
  let port: UInt16

  init(byteBudget: Int = 256 << 20, _ change: (inout ServerOptions) -> Void = { _ in }) throws {
    store = try CacheStore.open(at: folder, options: StoreOptions(byteBudget: byteBudget))
    var options = ServerOptions()
    options.addresses = [.tcp(host: "127.0.0.1", port: 0)]
    options.threadCount = 2
    // No test depends on the speed of the machine.
    options.stalledMilliseconds = 3_600_000
    change(&options)
    server = try CacheServer(store, options)
    guard case .tcp(_, let port)? = server.addresses.first else { throw Failure() }
    self.port = port
  }

  deinit {
    server.stop()
    try? store.close()
    try? FileManager.default.removeFolderInUse(atPath: folder)
  }

  func client() throws -> Client { try Client(port: port) }
}

struct ServerTests {
  @Test func clientsShareAStore() throws {
    let server = try TestServer()
    let (a, b) = (try server.client(), try server.client())
    try a.send("set k 1 0 3\r\nabc\r\n")
    #expect(try a.line() == "STORED")
    try b.send("get k\r\n")
    #expect(try [b.line(), b.line(), b.line()] == ["VALUE k 1 3", "abc", "END"])
    #expect(server.store.bytes("k") == Array("abc".utf8))
  }

  @Test func pipelinedRequestsAreAnsweredInTheirOrder() throws {
    let server = try TestServer()
    let client = try server.client()
    var text = ""
    for number in 0..<2000 { text += "set k\(number) 0 0 4\r\n\(1000 + number)\r\nget k\(number)\r\n" }
    try client.send(text)
    for number in 0..<2000 {
      let lines = try (0..<4).map { _ in try client.line() }
      #expect(lines == ["STORED", "VALUE k\(number) 0 4", "\(1000 + number)", "END"])
    }
  }

  @Test func aClientThatReadsLateGetsEverything() throws {
    let server = try TestServer()
    let client = try server.client()
    let value = [UInt8]((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3) })
    try client.send(Array("set k 0 0 1000000\r\n".utf8) + value + Array("\r\n".utf8))
    #expect(try client.line() == "STORED")
    // The answers exceed the buffers of the sockets, so the server has to wait.
    try client.send(String(repeating: "get k k\r\n", count: 20) + "mn\r\n")
    Thread.sleep(forTimeInterval: 0.2)
    for _ in 0..<20 {
      for _ in 0..<2 {
        #expect(try client.line() == "VALUE k 0 1000000")
        #expect(try client.bytes(1_000_002).dropLast(2) == value[...])
      }
      #expect(try client.line() == "END")
    }
    #expect(try client.line() == "MN")
  }

  @Test func aClientThatNeverReadsIsClosedAndOthersAreServed() throws {
    let server = try TestServer { $0.stalledMilliseconds = 1000 }
    let (stalled, other) = (try server.client(), try server.client())
    try stalled.send("set k 0 0 1000000\r\n" + String(repeating: "x", count: 1_000_000) + "\r\n")
    #expect(try stalled.line() == "STORED")
    try stalled.send(String(repeating: "get k\r\n", count: 100))
    while try other.statistic("idle_kicks") == 0 { Thread.sleep(forTimeInterval: 0.05) }
    #expect(stalled.isEnded())
    #expect(try other.statistic("curr_connections") == 1)
  }

  @Test func aConnectionWithAnUnfinishedRequestIsClosed() throws {
    let server = try TestServer { $0.stalledMilliseconds = 300 }
    let client = try server.client()
    try client.send("set k 0 0 10\r\nabc")
    #expect(client.isEnded())
    #expect(server.store.contains("k") == false)
  }

  @Test func deadlinesHoldBesideBusyClients() throws {
    let server = try TestServer {
      $0.stalledMilliseconds = 500
      $0.threadCount = 1
    }
    let (stalled, busy) = (try server.client(), try server.client())
    try stalled.send("set k 0 0 10\r\nabc")
    // Each request in two pieces starts and ends a deadline.
    repeat {
      try busy.send("m")
      Thread.sleep(forTimeInterval: 0.01)
      try busy.send("n\r\n")
      #expect(try busy.line() == "MN")
    } while try busy.statistic("idle_kicks") == 0
    #expect(stalled.isEnded())
  }

  @Test func connectionsBeyondTheLimitGetAnError() throws {
    let server = try TestServer { $0.maximumConnections = 2 }
    let first = try server.client()
    var second: Client? = try server.client()
    try first.send("mn\r\n")
    #expect(try first.line() == "MN")
    try second!.send("mn\r\n")
    #expect(try second!.line() == "MN")
    let third = try server.client()
    #expect(try third.line() == "ERROR Too many open connections")
    #expect(third.isEnded())
    second = nil
    while true {
      let again = try server.client()
      try? again.send("mn\r\n")
      if try again.line() == "MN" { break }
    }
  }

  @Test func concurrentIncrementsAreAllCounted() async throws {
    let server = try TestServer()
    let first = try server.client()
    try first.send("set n 0 0 1\r\n0\r\n")
    #expect(try first.line() == "STORED")
    let port = server.port
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          let client = try Client(port: port)
          for _ in 0..<200 {
            try client.send("incr n 1\r\n")
            _ = try client.line()
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(server.store.bytes("n") == Array("1600".utf8))
  }

  @Test func anAbandonedUnixSocketIsReplacedAndRemoved() throws {
    let path = NSTemporaryDirectory() + "vitrine-\(UUID().uuidString.prefix(8)).sock"
    // A killed server leaves such a socket.
    try withAbandonedSocket(path) {
      let server = try TestServer { $0.addresses = [.tcp(host: "127.0.0.1", port: 0), .unix(path: path, mode: 0o600)] }
      let client = try Client(path: path)
      try client.send("mn\r\n")
      #expect(try client.line() == "MN")
      #expect(throws: ServerError.self) { try TestServer { $0.addresses = [.unix(path: path, mode: 0o600)] } }
      server.server.stop()
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }

  @Test func aFileInThePlaceOfASocketStays() throws {
    let path = NSTemporaryDirectory() + "vitrine-\(UUID().uuidString.prefix(8)).sock"
    try Data([1]).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(throws: ServerError.self) { try TestServer { $0.addresses = [.unix(path: path, mode: 0o600)] } }
    #expect(FileManager.default.contents(atPath: path) == Data([1]))
  }

  @Test func aStoppedServerClosesItsConnections() throws {
    let server = try TestServer()
    let client = try server.client()
    try client.send("set k 0 0 1\r\nx\r\n")
    #expect(try client.line() == "STORED")
    server.server.stop()
    server.server.stop()
    #expect(client.isEnded())
    #expect(throws: Client.Ended.self) { try server.client() }
    #expect(server.store.contains("k"))
  }

  @Test func anAddressInUseIsAnErrorWithItsName() throws {
    let server = try TestServer()
    #expect {
      _ = try TestServer { $0.addresses = [.tcp(host: "127.0.0.1", port: server.port)] }
    } throws: { error in
      "\(error)".contains("127.0.0.1:\(server.port)")
    }
  }

  @Test func addressesAreParsed() {
    #expect(ServerAddress(tcp: "11211") == .tcp(host: "127.0.0.1", port: 11211))
    #expect(ServerAddress(tcp: "*:1") == .tcp(host: "", port: 1))
    #expect(ServerAddress(tcp: "[::1]:80") == .tcp(host: "::1", port: 80))
    for text in ["", ":1", "a:", "a:65536", "::1:80", "a:b", "+80", "a:+80"] {
      #expect(ServerAddress(tcp: text) == nil, "\(text)")
    }
    #expect(ServerAddress.tcp(host: "::1", port: 80).description == "[::1]:80")
  }
}

extension Client {
  fileprivate func statistic(_ name: String) throws -> Int? {
    try send("stats\r\n")
    var found: Int?
    while true {
      let words = try line().split(separator: " ")
      if words.first == "END" { return found }
      if words.count == 3, words[1] == name { found = Int(words[2]) }
    }
  }
}

/// Calls `body` with a socket at a path at which no process listens.
private func withAbandonedSocket(_ path: String, _ body: () throws -> Void) throws {
  let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
  let length = socklen_t(MemoryLayout<sockaddr_un>.size)
  let status = withUnsafePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
  }
  close(descriptor)
  guard status == 0 else { throw Failure() }
  try body()
}
