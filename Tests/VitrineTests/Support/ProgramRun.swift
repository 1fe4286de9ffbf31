import Foundation

/// Runs a program of the tests, `PROGRAM SCENE FOLDER` with an empty folder, and returns its exit and its output.
func runProgram(
  _ program: String, _ scene: String
) throws -> (reason: Process.TerminationReason, status: Int32, text: String) {
  /// Makes a sanitizer leave the signal to the program.
  func options(_ variable: String) -> String {
    (ProcessInfo.processInfo.environment[variable].map { $0 + ":" } ?? "") + "handle_sigbus=0"
  }
  let folder = try TemporaryFolder()
  let process = Process()
  // The tests' own executable is beside it.
  let tests = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
  process.executableURL = tests.deletingLastPathComponent().appendingPathComponent(program)
  process.arguments = [scene, folder.store]
  process.environment = ProcessInfo.processInfo.environment.merging([
    "SWIFT_BACKTRACE": "enable=no", "TSAN_OPTIONS": options("TSAN_OPTIONS"), "ASAN_OPTIONS": options("ASAN_OPTIONS"),
  ]) { $1 }
  let output = Pipe()
  process.standardOutput = output
  process.standardError = FileHandle.nullDevice
  try process.run()
  let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  return (process.terminationReason, process.terminationStatus, text)
}
