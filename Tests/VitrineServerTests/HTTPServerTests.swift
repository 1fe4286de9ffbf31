import Foundation
import Testing
import Vitrine

@testable import VitrineServer

/// HTTP at sockets, with peers that do not keep up.
struct HTTPServerTests {
  @Test func bothProtocolsShareAStoreAndTheirLoops() throws {
    let server = try WebServer()
    let memcached = try Client(port: server.port)
    try memcached.send("set k 0 0 3\r\nabc\r\n")
    #expect(try memcached.line() == "STORED")
    let clients = try (0..<6).map { _ in try server.client() }
    for client in clients {
      try client.send(WebResponse.request("GET", "/v1/original/k", [], body: nil))
      #expect(try client.response().text == "abc")
    }
    try memcached.send("stats\r\n")
    var connections: String?
    while true {
      let words = try memcached.line().split(separator: " ")
      if words.first == "END" { break }
      if words[1] == "curr_connections" { connections = String(words[2]) }
    }
    #expect(connections == "7")
    // A client that is released closes its connection.
    withExtendedLifetime(clients) {}
  }

  @Test func longValuesComeWhole() throws {
    let server = try WebServer(byteBudget: 256 << 20)
    let value = (0..<9_000_000).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 11) }
    let client = try server.client()
    try client.send(WebResponse.request("PUT", "/v1/original/k", [], body: value))
    #expect(try client.response().status == 201)
    for _ in 0..<3 { try client.send(WebResponse.request("GET", "/v1/original/k", [], body: nil)) }
    for _ in 0..<3 { #expect(try client.response().body == value) }
    try client.send(WebResponse.request("GET", "/v1/original/k", ["Range: bytes=1000000-7999999"], body: nil))
    #expect(try client.response().body == Array(value[1_000_000..<8_000_000]))
  }

  @Test func aClientThatNeverReadsIsClosedAndHoldsNoSegment() throws {
    let server = try WebServer { $0.stalledMilliseconds = 1000 }
    let value = (0..<2_000_000).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 11) }
    try server.store.put(value, for: "k")
    let stalled = try server.client()
    let request = WebResponse.request("GET", "/v1/original/k", [], body: nil)
    try stalled.send((0..<50).flatMap { _ in request })
    try waitFor { try server.metric("vitrine_connections_timed_out_total") == 1 }
    #expect(stalled.isEnded())
    try waitFor { server.store.statistics().pinnedByteCount == 0 }
  }

  @Test func slowHeadsAndBodiesAreClosed() throws {
    let server = try WebServer { $0.stalledMilliseconds = 300 }
    for text in [
      "GET /v1/original/k HTTP/1.1\r\nHost: a\r\n", "G",
      "PUT /v1/original/k HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc",
      "PUT /v1/original/k HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\nabc", "BAD\r\n\r\n",
    ] {
      let client = try server.client()
      try client.send(text)
      #expect(client.isEnded(), "\(text)")
    }
    #expect(!server.store.contains("k"))
    try waitFor { try server.metric("vitrine_value_memory_bytes") == 0 }
    // The malformed request was refused.
    #expect(try server.metric("vitrine_connections_timed_out_total") == 4)
  }

  @Test func aClientThatLeavesWithinABodyStoresNothing() throws {
    let server = try WebServer()
    for length in [10, 3_000_000] {
      let client = try server.client()
      try client.send("PUT /v1/original/k HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\nabc")
    }
    try waitFor { try server.metric("vitrine_connections") == 1 }
    try waitFor { try server.metric("vitrine_value_memory_bytes") == 0 }
    #expect(!server.store.contains("k"))
  }

  @Test func aRefusedUploadIsAnsweredBeforeItsEnd() throws {
    let server = try WebServer { $0.largestValue = 1000 }
    let client = try server.client()
    try client.send(WebResponse.request("PUT", "/v1/original/k", [], body: [UInt8](repeating: 0, count: 100_000)))
    let answer = try client.response()
    #expect(answer.status == 413)
    try client.send(WebResponse.request("GET", "/health", [], body: nil))
    #expect(try client.response().status == 200)
  }

  @Test func connectionsBeyondTheLimitAreToldSo() throws {
    let server = try WebServer { $0.maximumConnections = 2 }
    let clients = try [server.client(), Client(port: server.port)]
    try clients[0].send(WebResponse.request("GET", "/health", [], body: nil))
    #expect(try clients[0].response().status == 200)
    try clients[1].send("mn\r\n")
    #expect(try clients[1].line() == "MN")
    let third = try server.client()
    #expect(try third.line() == "HTTP/1.1 503 Service Unavailable")
    #expect(third.isEnded())
    withExtendedLifetime(clients) {}
  }

  @Test func aServerOfHTTPAloneNeedsNoOtherAddress() throws {
    let path = NSTemporaryDirectory() + "vitrine-\(UUID().uuidString.prefix(8)).sock"
    let server = try WebServer { $0.addresses.append(.unix(path: path + "m", mode: 0o600)) }
    var options = ServerOptions()
    (options.addresses, options.webAddresses) = ([], [.unix(path: path, mode: 0o600)])
    options.stalledMilliseconds = 3_600_000
    let other = try CacheServer(server.store, options)
    let client = try Client(path: path)
    try client.send(WebResponse.request("GET", "/health", [], body: nil))
    #expect(try client.response().text == "ok\n")
    other.stop()
    #expect(!FileManager.default.fileExists(atPath: path))
    options.webAddresses = []
    #expect(throws: ServerError.self) { try CacheServer(server.store, options) }
  }
}

extension WebServer {
  fileprivate func metric(_ name: String) throws -> Double? { try MetricsFormat(get("/metrics").text).value(name) }
}

/// Waits until a condition holds.
private func waitFor(_ condition: () throws -> Bool) throws {
  while try !condition() { Thread.sleep(forTimeInterval: 0.02) }
}
