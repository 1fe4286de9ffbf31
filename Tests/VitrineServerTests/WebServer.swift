import FolderRemoval
import Foundation
import Vitrine

@testable import VitrineServer

/// A server at free ports of this machine, over a store in a folder of its own.
final class WebServer {
  let folder: String
  let store: CacheStore
  let server: CacheServer
  /// For the memcached protocol.
  let port: UInt16
  let webPort: UInt16
  private let parent = NSTemporaryDirectory() + "vitrine-webserver-\(UUID().uuidString)"

  init(name: String = "store", byteBudget: Int = 64 << 20, _ change: (inout ServerOptions) -> Void = { _ in }) throws {
    try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
    folder = parent + "/" + name
    store = try CacheStore.open(at: folder, options: StoreOptions(byteBudget: byteBudget))
    var options = ServerOptions()
    options.addresses = [.tcp(host: "127.0.0.1", port: 0)]
    options.webAddresses = [.tcp(host: "127.0.0.1", port: 0)]
    options.threadCount = 2
    // No test depends on the speed of the machine.
    options.stalledMilliseconds = 3_600_000
    change(&options)
    server = try CacheServer(store, options)
    guard case .tcp(_, let port)? = server.addresses.first, case .tcp(_, let webPort)? = server.webAddresses.first
    else {
      throw Failure()
    }
    (self.port, self.webPort) = (port, webPort)
  }

  deinit {
    server.stop()
    try? store.close()
    try? FileManager.default.removeFolderInUse(atPath: parent)
  }

  func client() throws -> Client { try Client(port: webPort) }

  /// The answer to a request on a connection of its own.
  func get(_ path: String, _ fields: [String] = []) throws -> WebResponse { try request("GET", path, fields, nil) }

  func put(_ path: String, _ body: [UInt8]) throws -> WebResponse { try request("PUT", path, [], body) }

  private func request(_ method: String, _ path: String, _ fields: [String], _ body: [UInt8]?) throws -> WebResponse {
    let client = try client()
    try client.send(WebResponse.request(method, path, fields, body: body))
    return try client.response()
  }
}

extension Client {
  /// The next answer of HTTP.
  func response() throws -> WebResponse {
    var lines: [String] = []
    while true {
      let line = try line()
      if line.isEmpty { break }
      lines.append(line)
    }
    let head = lines.joined(separator: "\r\n")
    guard let response = WebResponse(head: head) else { throw Failure() }
    return WebResponse(head: head, body: try bytes(response.bodyByteCount(isHead: false)))!
  }
}
