#if canImport(Darwin)
  @preconcurrency import Darwin
#else
  @preconcurrency import Glibc
#endif

/// Runs other processes and reads their output.
enum ChildProcess {
  /// The path of this program.
  static var ownProgram: String {
    #if os(Linux)
      Files.resolved("/proc/self/exe")
    #else
      Files.resolved(CommandLine.arguments[0])
    #endif
  }

  /// Starts a program with an empty stdin.
  static func spawn(_ program: String, _ arguments: [String], standardOutput: Int32) throws(DemoError) -> pid_t {
    #if os(Linux)
      var actions = posix_spawn_file_actions_t()
    #else
      var actions: posix_spawn_file_actions_t?
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, standardOutput, 1)
    posix_spawn_file_actions_addclose(&actions, standardOutput)

    var vector: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) }
    vector.append(nil)
    defer { for text in vector { free(text) } }
    var child: pid_t = 0
    let code = posix_spawn(&child, program, &actions, nil, vector, environ)
    guard code == 0 else { throw DemoError("start \(program): \(String(cString: strerror(code)))") }
    return child
  }

  /// Runs a program to its end. Returns its output and its exit status, or 128 plus the number of the signal that
  /// ended it.
  static func run(_ program: String, _ arguments: [String]) throws(DemoError) -> (output: String, status: Int32) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw DemoError("make", "a pipe") }
    let (reading, writing) = (ends[0], ends[1])
    defer { _ = close(reading) }
    _ = fcntl(reading, F_SETFD, FD_CLOEXEC)
    let child: pid_t
    do {
      defer { _ = close(writing) }
      child = try spawn(program, arguments, standardOutput: writing)
    }
    var output: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(reading, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { break }
      output += buffer[..<count]
    }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    let signal = status & 0x7F
    return (String(decoding: output, as: UTF8.self), signal == 0 ? status >> 8 & 0xFF : 128 + signal)
  }
}
