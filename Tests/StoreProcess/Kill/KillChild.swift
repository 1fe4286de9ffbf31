import Glibc

/// A writer in a separate process, its messages, and its death.
final class KillChild {
  private var id: pid_t = 0
  private let output: CInt
  private var unread: [UInt8] = []
  private var hasEnded = false

  /// Starts the process. Returns nil if it cannot be started.
  init?(_ plan: KillWriter.Plan) {
    var ends: [CInt] = [0, 0]
    guard pipe(&ends) == 0 else { return nil }
    output = ends[0]
    _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    posix_spawn_file_actions_addclose(&actions, ends[1])
    var arguments = (["store-process", KillCommand.writer] + plan.words).map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    let code = posix_spawn(&id, "/proc/self/exe", &actions, nil, &arguments, environ)
    close(ends[1])
    if code != 0 {
      close(output)
      id = 0
      return nil
    }
  }

  deinit {
    guard id > 0 else { return }
    if !hasEnded { _ = end() }
    close(output)
  }

  /// Its next message; nil if there is none until `deadline`, or it has ended.
  func next(until deadline: UInt64) -> KillMessage? {
    while true {
      if let line = unread.firstIndex(of: 10) {
        let text = String(decoding: unread[..<line], as: UTF8.self)
        unread.removeSubrange(...line)
        return KillMessage(text) ?? .wrong("it said \(text)")
      }
      let now = monotonicNanoseconds()
      if now >= deadline || !receive(waiting: Int32(clamping: (deadline - now + 999_999) / 1_000_000)) { return nil }
    }
  }

  /// Returns false if there is nothing to receive.
  private func receive(waiting milliseconds: Int32) -> Bool {
    var request = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
    guard poll(&request, 1, milliseconds) > 0 else { return false }
    let start = unread.count
    unread.append(contentsOf: repeatElement(0, count: 65_536))
    let count = unread.withUnsafeMutableBytes { read(output, $0.baseAddress! + start, 65_536) }
    unread.removeLast(65_536 - max(count, 0))
    return count > 0
  }

  func kill() { Glibc.kill(id, SIGKILL) }

  /// Kills it, if it lives, and waits for its end. Returns its exit status, or its signal as a negative number.
  func end() -> CInt {
    kill()
    hasEnded = true
    var status: CInt = 0
    while waitpid(id, &status, 0) == -1, errno == EINTR {}
    return status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
  }
}
