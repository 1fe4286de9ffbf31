import FolderRemoval
import Foundation
import Testing
import Vitrine
import VitrineServer

/// A client that sends all of its requests before it reads an answer.
@Suite(.timeLimit(.minutes(60))) struct UnreadAnswerTests {
  /// The unread answers take more than a quarter of the socket's buffer. Linux does not report such a Unix socket as
  /// writable, although it accepts more bytes. The server has let other connections work by then.
  @Test(arguments: [20, 60, 150]) func aServerReadsOnAtAUnixSocket(_ byteCount: Int) throws {
    let folder = NSTemporaryDirectory() + "vitrine-unread-\(UUID().uuidString.prefix(8))"
    let store = try CacheStore.open(at: folder, options: StoreOptions(byteBudget: 64 << 20))
    defer {
      try? store.close()
      try? FileManager.default.removeFolderInUse(atPath: folder)
    }
    let value = String(repeating: "v", count: byteCount)
    try store.put(Array(value.utf8), for: "k")
    var options = ServerOptions()
    options.addresses = [.unix(path: folder + "/s", mode: 0o600)]
    options.threadCount = 1
    options.stalledMilliseconds = 3_600_000
    let server = try CacheServer(store, options)
    defer { server.stop() }
    let client = try Client(path: folder + "/s")
    let large = String(repeating: "x", count: 2_000_000)
    let requests = String(repeating: "get k\r\n", count: 600) + "set large 0 0 \(large.utf8.count)\r\n\(large)\r\n"
    try client.send(requests)
    for _ in 0..<600 {
      #expect(try [client.line(), client.line(), client.line()] == ["VALUE k 0 \(byteCount)", value, "END"])
    }
    #expect(try client.line() == "STORED")
    #expect(store.bytes("large")?.count == large.utf8.count)
  }
}
