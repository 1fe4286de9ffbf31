import Foundation
import Testing

/// Another process with a store: `store-process`, which answers each line with one line. Killed with its owner.
final class StoreProcess {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var unread = Data()

  static var executable: URL {
    let tests = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    return tests.deletingLastPathComponent().appendingPathComponent("store-process")
  }

  /// `launcher`: a program and its arguments that replaces itself by this one, such as `nsenter`.
  init(launcher: [String] = []) throws {
    let words = launcher + [StoreProcess.executable.path]
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.standardInput = input
    process.standardOutput = output
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    try process.run()
  }

  deinit { kill() }

  /// Runs one of its programs to the end: the exit status, and the output.
  static func run(_ arguments: [String]) throws -> (status: Int32, report: String) {
    let process = Process()
    let output = Pipe()
    process.executableURL = executable
    process.arguments = arguments
    process.standardOutput = output
    try process.run()
    let report = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, report)
  }

  var id: Int32 { process.processIdentifier }

  func send(_ line: String) throws { try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8)) }

  /// The next line of its output, empty if it has ended.
  func line() -> String {
    while true {
      if let end = unread.firstIndex(of: 10) {
        defer { unread = Data(unread[(end + 1)...]) }
        return String(decoding: unread[..<end], as: UTF8.self)
      }
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { return "" }
      unread += more
    }
  }

  @discardableResult
  func ask(_ line: String) throws -> String {
    try send(line)
    return self.line()
  }

  func kill() {
    guard process.isRunning else { return }
    Glibc.kill(id, SIGKILL)
    // Foundation also waits for the forked children of its child; a process is dead once it can be waited for.
    var ended = siginfo_t()
    while waitid(P_PID, id_t(id), &ended, WEXITED | WNOWAIT) == -1, errno == EINTR {}
  }
}

/// A folder of one test.
final class TestFolder {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/vitrine-processes-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var store: String { path + "/store" }

  /// Everything that a write, or the creation of a file, would change.
  func everything() throws -> [String] { try TestFolder.everything(in: store) }

  static func everything(in store: String) throws -> [String] {
    var lines: [String] = []
    for name in try FileManager.default.subpathsOfDirectory(atPath: store).sorted() + ["."] {
      var status = stat()
      guard lstat("\(store)/\(name)", &status) == 0 else { throw CocoaError(.fileReadNoSuchFile) }
      let isFile = status.st_mode & S_IFMT == S_IFREG
      let bytes = isFile ? try Data(contentsOf: URL(fileURLWithPath: "\(store)/\(name)")) : Data()
      lines.append(
        """
        \(name) \(status.st_mode) \(status.st_size) \(status.st_ino) \(bytes.hashValue) \
        \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) \(status.st_ctim.tv_sec).\(status.st_ctim.tv_nsec)
        """)
    }
    return lines
  }
}
