import Foundation
import Glibc
import LocalServer
import Testing
import Vitrine
import VitrineImages

/// `cachectl serve` with HTTP and a log, in a process of its own.
struct ServeCommandTests {
  @Test func theToolServesHTTPAndOpensItsLogAnew() throws {
    let folder = NSTemporaryDirectory() + "vitrine-tool-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let log = folder + "/log"
    let (process, line) = try start([
      "serve", folder + "/store", "--http", "127.0.0.1:0", "--log", log, "--budget", "64MiB", "--threads", "1",
    ])
    defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
    // HTTP alone: no other address was asked for.
    let match = try #require(line.firstMatch(of: #/ at http://127\.0\.0\.1:([0-9]+), with/#))
    let client = try Client(port: try #require(UInt16(match.1)))
    try client.send(WebResponse.request("PUT", "/v1/original/k", [], body: [1, 2, 3]))
    #expect(try client.response().status == 201)
    try FileManager.default.moveItem(atPath: log, toPath: log + ".1")
    kill(process.processIdentifier, SIGHUP)
    while !FileManager.default.fileExists(atPath: log) { Thread.sleep(forTimeInterval: 0.01) }
    try client.send(WebResponse.request("GET", "/v1/original/k", [], body: nil))
    #expect(try client.response().body == [1, 2, 3])
    process.terminate()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    let (old, new) = (try text(log + ".1"), try text(log))
    #expect(old.contains("event=start"))
    #expect(old.contains("method=PUT"))
    #expect(new.contains("method=GET"))
    #expect(new.hasSuffix("event=stop\n"))
  }

  @Test func theToolMakesPicturesOfAListedHost() throws {
    let folder = NSTemporaryDirectory() + "vitrine-tool-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let layout = try #require(BitmapLayout(width: 90, height: 60, format: .rgbx8888))
    let file = try ImageEncoder.encode(try Bitmap(layout: layout) { _ in }, as: .png)
    let origin = try LocalServer.TestServer { $0.path == "/a?b" ? .init(body: file) : .status(404) }
    let (process, _) = try start([
      "serve", folder + "/store", "--http", "unix:" + folder + "/s", "--budget", "64MiB", "--threads", "1",
      "--image-host", "127.0.0.1:\(origin.port)", "--image-style", "square-20", "--image-private",
      "--image-timeout", "3600",
    ])
    defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
    let client = try Client(path: folder + "/s")
    for (path, status) in [("a%3Fb", 200), ("a%3Fb", 200), ("missing", 404)] {
      let target = "/image/square-20/http%3A%2F%2F127.0.0.1%3A\(origin.port)%2F\(path)"
      try client.send(WebResponse.request("GET", target, [], body: nil))
      let response = try client.response()
      #expect(response.status == status)
      if status == 200 { #expect(try ImageDecoder().decode(response.body).size.width == 20) }
    }
    try client.send(WebResponse.request("GET", "/image/square-20/http%3A%2F%2F127.0.0.1%3A1%2Fa", [], body: nil))
    #expect(try client.response().status == 403)
    let refused = "/image/square-21/http%3A%2F%2F127.0.0.1%3A\(origin.port)%2Fa"
    try client.send(WebResponse.request("GET", refused, [], body: nil))
    #expect(try client.response().status == 403)
    #expect(origin.paths == ["/a?b", "/missing"])
    process.terminate()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }

  @Test func aReadOnlyToolRefusesChanges() throws {
    let folder = NSTemporaryDirectory() + "vitrine-tool-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (process, _) = try start([
      "serve", folder + "/store", "--unix", folder + "/s", "--read-only", "--budget", "64MiB", "--threads", "1",
    ])
    defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
    let client = try Client(path: folder + "/s")
    try client.send("set k 0 0 1\r\nx\r\nget k\r\n")
    #expect(try client.line() == "SERVER_ERROR the store is open for reading only")
    #expect(try client.line() == "END")
    process.terminate()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }

  @Test func httpOverAUnixSocketReplacesTheSocketOfAKilledServer() throws {
    let folder = NSTemporaryDirectory() + "vitrine-tool-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/s"
    let words = [
      "serve", folder + "/store", "--http", "unix:" + path, "--unix-mode", "600", "--budget", "64MiB", "--threads", "1",
    ]
    let (killed, _) = try start(words)
    kill(killed.processIdentifier, SIGKILL)
    killed.waitUntilExit()
    #expect(FileManager.default.fileExists(atPath: path))
    let (process, line) = try start(words)
    defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
    #expect(line.contains(" at http://unix:\(path), with"))
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    let client = try Client(path: path)
    try client.send(WebResponse.request("PUT", "/v1/original/k", [], body: [1, 2, 3]))
    #expect(try client.response().status == 201)
    process.terminate()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  /// Of 128 descriptors, 32 are for the store, 32 for the log and the program, and 4 for the event loop.
  @Test func fewDescriptorsLowerTheLimitOfConnections() throws {
    let folder = NSTemporaryDirectory() + "vitrine-tool-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/s"
    let (process, _) = try start(
      ["serve", folder + "/store", "--unix", path, "--budget", "64MiB", "--threads", "1"], descriptors: 128)
    defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
    var clients: [Client] = []
    for _ in 0..<60 {
      let client = try Client(path: path)
      try client.send("mn\r\n")
      #expect(try client.line() == "MN")
      clients.append(client)
    }
    #expect(try Client(path: path).line() == "ERROR Too many open connections")
    // The store finds descriptors nevertheless.
    try clients[0].send("set k 0 0 100000\r\n" + String(repeating: "x", count: 100_000) + "\r\n")
    #expect(try clients[0].line() == "STORED")
    process.terminate()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }

  private static let unusable: [(words: [String], status: Int32)] = [
    (["--http", "unix:"], 3), (["--http", "unix:/" + String(repeating: "x", count: 200)], 3),
    (["--http", "0", "--unix-mode", "600"], 2), (["--http", "unix:/none/s", "--unix-mode", "888"], 2),
    (["--http", "unix:/none/s"], 3), (["--http", "unix"], 2),
  ]

  @Test(arguments: unusable)
  func anHTTPAddressThatCannotBeUsedIsAnError(_ sample: (words: [String], status: Int32)) throws {
    let folder = NSTemporaryDirectory() + "vitrine-tool-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (process, line) = try start(["serve", folder] + sample.words)
    process.waitUntilExit()
    #expect(line.isEmpty)
    #expect(process.terminationStatus == sample.status)
  }

  @Test func aLogThatCannotBeWrittenIsAnError() throws {
    let folder = NSTemporaryDirectory() + "vitrine-tool-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (process, line) = try start(["serve", folder, "--http", "0", "--log", folder + "/none/log"])
    process.waitUntilExit()
    #expect(line.isEmpty)
    #expect(process.terminationStatus == 3)
  }

  /// Starts the tool, and returns its first line. `descriptors` is the most that the process may have.
  private func start(_ arguments: [String], descriptors: Int? = nil) throws -> (Process, String) {
    let process = Process()
    let tests = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    let tool = tests.deletingLastPathComponent().appendingPathComponent("cachectl")
    // No test depends on the speed of the machine.
    let words = arguments + ["--stalled", "3600"]
    if let descriptors {
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", "ulimit -n \(descriptors) && exec \"$0\" \"$@\"", tool.path] + words
    } else {
      process.executableURL = tool
      process.arguments = words
    }
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    return (process, String(decoding: output.fileHandleForReading.availableData, as: UTF8.self))
  }

  private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
}
