#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The system calls for the file of a log.
enum LogFile {
  static let standardOutput = STDOUT_FILENO

  /// Opens a file for appending. A named pipe without a reader is an error, because a blocking open would wait for a
  /// reader.
  static func open(_ path: String) throws(ServerError) -> Int32 {
    #if canImport(Glibc)
      let opened = Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o640)
    #elseif canImport(Musl)
      let opened = Musl.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o640)
    #else
      let opened = Darwin.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o640)
    #endif
    guard opened >= 0 else { throw .log(path, String(cString: strerror(errno))) }
    _ = fcntl(opened, F_SETFL, O_APPEND)
    return opened
  }

  static func close(_ descriptor: Int32) {
    if descriptor != standardOutput { Socket.close(descriptor) }
  }

  /// A pipe whose reading end blocks. Nil if descriptors are short.
  static func pipe() -> (read: Int32, write: Int32)? {
    var pair: [Int32] = [0, 0]
    #if canImport(Glibc)
      guard Glibc.pipe(&pair) == 0 else { return nil }
    #elseif canImport(Musl)
      guard Musl.pipe(&pair) == 0 else { return nil }
    #else
      guard Darwin.pipe(&pair) == 0 else { return nil }
    #endif
    for end in pair { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (pair[0], pair[1])
  }

  static func wake(_ descriptor: Int32) {
    var byte: UInt8 = 1
    _ = system(write: descriptor, &byte, 1)
  }

  /// Waits for ``wake(_:)``.
  static func wait(_ descriptor: Int32) {
    var byte: UInt8 = 0
    withUnsafeMutableBytes(of: &byte) { buffer in
      while case .blocked = Socket.read(descriptor, buffer) {}
    }
  }

  /// Lets writes of this thread to a pipe without a reader fail, rather than end the process.
  static func blockPipeSignal() {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Waits up to the time limit. Returns whether a write returns at once.
  static func isReady(_ descriptor: Int32, milliseconds: Int32) -> Bool {
    var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&wanted, 1, milliseconds) > 0
  }

  /// Returns the number of bytes written, or nil for an error.
  static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int? {
    let count = system(write: descriptor, bytes.baseAddress!, bytes.count)
    if count >= 0 { return count }
    return errno == EINTR || errno == EAGAIN ? 0 : nil
  }

  private static func system(write descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
    #if canImport(Glibc)
      Glibc.write(descriptor, bytes, count)
    #elseif canImport(Musl)
      Musl.write(descriptor, bytes, count)
    #else
      Darwin.write(descriptor, bytes, count)
    #endif
  }
}
