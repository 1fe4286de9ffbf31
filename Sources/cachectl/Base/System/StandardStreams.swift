import Glibc

/// The three standard descriptors, which a parent may have closed.
package enum StandardStreams {
  /// Replaces closed streams by streams whose reads and writes fail. So no file of a store is ever opened as descriptor
  /// 1 and then written to as if it were stdout. Also turns a broken pipe into an error instead of a signal.
  package static func prepare() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
      // The lowest free number is this one. Reading stdin and writing stdout fail; diagnostics are lost.
      _ = open("/dev/null", descriptor == STDOUT_FILENO ? O_RDONLY : O_WRONLY)
    }
    signal(SIGPIPE, SIG_IGN)
  }
}

/// Messages for people, on stderr.
package enum Diagnostics {
  package static func write(_ text: String) {
    let bytes = Array(text.utf8)
    bytes.withUnsafeBytes { buffer in
      var rest = buffer[...]
      while !rest.isEmpty {
        let count = Glibc.write(STDERR_FILENO, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count < 0, errno == EINTR { continue }
        // There is no place to report that reporting failed.
        if count <= 0 { return }
        rest = rest.dropFirst(count)
      }
    }
  }
}
