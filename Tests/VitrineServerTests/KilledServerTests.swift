import Foundation
import Glibc
import Testing

/// Kills `cachectl serve` by SIGKILL many times while clients store values.
struct KilledServerTests {
  @Test func acknowledgedValuesSurviveKills() throws {
    let folder = NSTemporaryDirectory() + "vitrine-killed-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var acknowledged: [String] = []
    for round in 0..<6 {
      let server = try ServerProcess(folder)
      let client = try server.client()
      for key in acknowledged { #expect(try client.value(of: key) == Self.value(of: key)) }
      // The kill comes at any point of a stream of requests. Most of them are not answered yet.
      let keys = (0..<(200 + round * 137)).map { "round\(round)/\($0)" }
      try client.send(
        keys.map { "set \($0) 0 0 \(Self.value(of: $0).utf8.count)\r\n\(Self.value(of: $0))\r\n" }.joined())
      for key in keys.prefix(keys.count * (round + 1) / 8) {
        #expect(try client.line() == "STORED")
        acknowledged.append(key)
      }
      server.kill()
    }
    let server = try ServerProcess(folder)
    let client = try server.client()
    for key in acknowledged { #expect(try client.value(of: key) == Self.value(of: key)) }
    #expect(server.end() == 0)
    #expect(acknowledged.count > 1000)
  }

  /// A value of some hundred or some ten thousand bytes that is derived from its key.
  private static func value(of key: String) -> String {
    let count = key.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF }
    return String(repeating: key, count: 1 + (count % 7 == 0 ? count / 40 : count % 60))
  }
}

/// `cachectl serve` in a process of its own, at a socket in the store's parent folder.
private final class ServerProcess {
  private let process = Process()
  private let path: String

  init(_ folder: String) throws {
    path = folder + "/s.sock"
    // The executable of the tests is in the folder of the tool.
    let tests = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    process.executableURL = tests.deletingLastPathComponent().appendingPathComponent("cachectl")
    // A slow machine may leave a request unfinished for longer than the default limit.
    process.arguments = ["serve", folder + "/store", "--unix", path, "--budget", "512MiB", "--stalled", "3600"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    // The server writes its first line when it serves.
    guard !output.fileHandleForReading.availableData.isEmpty else { throw Failure() }
  }

  deinit { kill() }

  func client() throws -> Client { try Client(path: path) }

  func kill() {
    if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
  }

  /// Ends the server, and returns its exit status.
  func end() -> Int32 {
    process.terminate()
    process.waitUntilExit()
    return process.terminationStatus
  }
}

extension Client {
  /// The value of a key, nil if there is none.
  fileprivate func value(of key: String) throws -> String? {
    try send("get \(key)\r\n")
    let words = try line().split(separator: " ")
    guard words.first == "VALUE", let count = words.last.flatMap({ Int($0) }) else { return nil }
    let value = try bytes(count)
    _ = try (line(), line())
    return String(decoding: value, as: UTF8.self)
  }
}
