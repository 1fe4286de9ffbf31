import Glibc

/// Another of these processes, which answers each line with one line.
final class ReaderProcess {
  private var id: pid_t = 0
  private let input: CInt
  private let output: CInt

  /// Starts the process. Returns nil if it cannot be started.
  init?() {
    var (down, up): ([CInt], [CInt]) = ([0, 0], [0, 0])
    guard pipe(&down) == 0, pipe(&up) == 0 else { return nil }
    // The child must not keep the parent's ends of the pipes open.
    for end in [down[1], up[0]] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, down[0], 0)
    posix_spawn_file_actions_adddup2(&actions, up[1], 1)
    for end in [down[0], up[1]] { posix_spawn_file_actions_addclose(&actions, end) }
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("store-process"), nil]
    defer { free(arguments[0]) }
    let code = posix_spawn(&id, "/proc/self/exe", &actions, nil, &arguments, environ)
    close(down[0])
    close(up[1])
    (input, output) = (down[1], up[0])
    guard code == 0 else { return nil }
  }

  deinit {
    close(input)
    close(output)
    var status: CInt = 0
    waitpid(id, &status, 0)
  }

  func send(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = write(input, bytes, bytes.count)
  }

  /// The next line of its output, empty if it has ended.
  func line() -> String {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while read(output, &byte, 1) == 1, byte != 10 { line.append(byte) }
    return String(decoding: line, as: UTF8.self)
  }

  func ask(_ line: String) -> String {
    send(line)
    return self.line()
  }
}
