import Foundation

/// Blocks the thread until the condition holds, for at most an hour. The caller's later checks show whether it did.
func wait(until condition: () -> Bool) {
  for _ in 0..<7_200_000 {
    if condition() { return }
    usleep(500)
  }
}

/// Runs the built `cachectl`, as a shell would, in a separate folder that is removed afterwards.
final class Tool {
  struct Outcome {
    let status: Int32
    let output: Data
    let diagnostics: String

    var text: String { String(decoding: output, as: UTF8.self) }
    /// Each line of the output as JSON.
    var lines: [[String: Any]] {
      text.split(separator: "\n").compactMap {
        try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
      }
    }
    /// The output as an array of objects.
    var objects: [[String: Any]] { (try? JSONSerialization.jsonObject(with: output) as? [[String: Any]]) ?? [] }
    var json: [String: Any]? { try? JSONSerialization.jsonObject(with: output) as? [String: Any] }
  }

  let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "cachectl-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func run(_ arguments: String..., input: Data = Data()) throws -> Outcome {
    try run(arguments, input: input)
  }

  private func process(_ arguments: [String]) -> Process {
    let process = Process()
    // The tests' own executable is beside the tool.
    let tests = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    process.executableURL = tests.deletingLastPathComponent().appendingPathComponent("cachectl")
    process.arguments = arguments
    process.currentDirectoryURL = folder
    return process
  }

  /// Runs the tool and kills it (SIGKILL) after this time; returns its output until then.
  func runKilled(_ arguments: [String], afterMicroseconds delay: UInt32) throws -> Outcome {
    try run(arguments) { process in
      usleep(delay)
      kill(process, SIGKILL)
    }
  }

  /// Runs the tool and sends it a signal as soon as it has opened a store for writing.
  func runSignalled(_ arguments: [String], _ signal: Int32, store: String) throws -> Outcome {
    try run(arguments) { process in
      let line = Data("vitrine \(process)\n".utf8)
      // A tool that has ended is no child any more, or a zombie that ignores the signal.
      for _ in 0..<100_000 {
        if read(store + "/LOCK")?.starts(with: line) == true { break }
        usleep(100)
      }
      kill(process, signal)
    }
  }

  /// A tool that runs beside the test.
  struct Running {
    fileprivate let process: Process
    fileprivate let (out, err): (URL, URL)

    func interrupt() { kill(process.processIdentifier, SIGINT) }

    /// Waits for the end of the tool.
    func outcome() -> Outcome {
      process.waitUntilExit()
      let (output, diagnostics) = (try? Data(contentsOf: out), try? Data(contentsOf: err))
      return Outcome(
        status: process.terminationStatus, output: output ?? Data(),
        diagnostics: String(decoding: diagnostics ?? Data(), as: UTF8.self))
    }
  }

  /// Starts the tool and does not wait for it.
  func start(_ arguments: String...) throws -> Running {
    let process = process(arguments)
    let name = UUID().uuidString
    let (out, err) = (folder.appendingPathComponent(".out-\(name)"), folder.appendingPathComponent(".err-\(name)"))
    for file in [out, err] { _ = FileManager.default.createFile(atPath: file.path, contents: nil) }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: out)
    process.standardError = try FileHandle(forWritingTo: err)
    try process.run()
    return Running(process: process, out: out, err: err)
  }

  private func run(_ arguments: [String], meanwhile: (pid_t) -> Void) throws -> Outcome {
    let process = process(arguments)
    // The output goes to a file, since a full pipe would stop the tool.
    let path = folder.appendingPathComponent(".killed").path
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    process.standardOutput = FileHandle(forWritingAtPath: path)
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.run()
    meanwhile(process.processIdentifier)
    process.waitUntilExit()
    return Outcome(status: process.terminationStatus, output: read(".killed") ?? Data(), diagnostics: "")
  }

  /// Runs the tool with more output than a pipe holds, and calls `meanwhile` after its first line. Then the tool is
  /// blocked at the latest until its output is read. The status of a tool ended by a signal is the negated signal.
  func runStalled(_ arguments: [String], meanwhile: () throws -> Void) throws -> Outcome {
    let process = process(arguments)
    let out = Pipe()
    let diagnostics = folder.appendingPathComponent(".stderr").path
    _ = FileManager.default.createFile(atPath: diagnostics, contents: nil)
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = out
    process.standardError = FileHandle(forWritingAtPath: diagnostics)
    try process.run()
    var output = Data()
    while !output.contains(UInt8(ascii: "\n")) {
      let next = out.fileHandleForReading.readData(ofLength: 1)
      if next.isEmpty { break }
      output += next
    }
    try meanwhile()
    output += out.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let status = process.terminationStatus
    return Outcome(
      status: process.terminationReason == .exit ? status : -status, output: output,
      diagnostics: String(decoding: read(".stderr") ?? Data(), as: UTF8.self))
  }

  func run(_ arguments: [String], input: Data = Data()) throws -> Outcome {
    let process = process(arguments)
    let (out, err, stdin) = (Pipe(), Pipe(), folder.appendingPathComponent(".stdin"))
    try input.write(to: stdin)
    process.standardInput = try FileHandle(forReadingFrom: stdin)
    process.standardOutput = out
    process.standardError = err
    try process.run()
    // Diagnostics are short enough for a pipe's buffer.
    let output = out.fileHandleForReading.readDataToEndOfFile()
    let diagnostics = String(decoding: err.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return Outcome(status: process.terminationStatus, output: output, diagnostics: diagnostics)
  }

  /// Writes a file below the folder, with its parent folders.
  func write(_ bytes: Data, to path: String) throws {
    let file = folder.appendingPathComponent(path)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try bytes.write(to: file)
  }

  func read(_ path: String) -> Data? { try? Data(contentsOf: folder.appendingPathComponent(path)) }
}
