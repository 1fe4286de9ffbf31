import Foundation

/// A server of one folder in a separate process, so that its work does not count as this process's. It logs the
/// requests.
final class ServerProcess {
  enum Kind {
    /// Python's `http.server` if it is installed: it sends dates, and no other header that helps a cache. Otherwise
    /// ``PictureServer``.
    case plain
    /// ``PictureServer``.
    case slow(delayMilliseconds: Int, bytesPerSecond: Int)
  }

  let name: String
  private let port: UInt16
  private let process: Process
  private let logFile: URL

  init(_ folder: URL, _ kind: Kind, log: URL) throws {
    logFile = log
    port = try LocalSocket.freePort()
    try Data().write(to: log)
    let errors = try FileHandle(forWritingTo: log)
    defer { try? errors.close() }
    switch kind {
    case .plain:
      if let python = ServerProcess.python {
        name = "Python's http.server"
        process = try ServerProcess.start(python, folder, port, errors)
      } else {
        name = "a plain server of its own"
        process = try ChildRole.serve.start([folder.path, "\(port)", "0", "0"], errors: errors)
      }
    case .slow(let delay, let rate):
      name = "a server with \(delay) ms delay and \(Figure.megabytes(rate))/s"
      process = try ChildRole.serve.start([folder.path, "\(port)", "\(delay)", "\(rate)"], errors: errors)
    }
    for _ in 0..<500 where !LocalSocket.isAnswering(port) {
      guard process.isRunning else { throw BenchError("\(name) ended before it began") }
      usleep(10_000)
    }
    guard LocalSocket.isAnswering(port) else { throw BenchError("\(name) does not answer") }
  }

  deinit { stop() }

  func stop() {
    guard process.isRunning else { return }
    // The process may have inherited a mask that blocks milder signals.
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  func url(_ file: String) -> String {
    "http://127.0.0.1:\(port)/" + (file.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? file)
  }

  /// The paths requested so far, in order.
  var requests: [String] {
    let text = (try? String(contentsOf: logFile, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").compactMap { line in
      guard let start = line.range(of: "\"GET ") else { return nil }
      return line[start.upperBound...].split(separator: " ").first.map(String.init)
    }
  }

  private static var python: URL? {
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
      .map { URL(filePath: String($0)).appending(path: "python3") }
      .first { FileManager.default.isExecutableFile(atPath: $0.path) }
  }

  private static func start(_ python: URL, _ folder: URL, _ port: UInt16, _ errors: FileHandle) throws -> Process {
    let process = Process()
    process.executableURL = python
    process.arguments = [
      "-m", "http.server", "\(port)", "--bind", "127.0.0.1", "--directory", folder.path,
    ]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = errors
    try process.run()
    return process
  }
}
