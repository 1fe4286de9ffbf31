import CVitrineSystem

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

func currentProcessID() -> Int32 { getpid() }

/// A connected Unix socket. Its calls block until the time limit of the client's call.
///
/// Invariant: the descriptor is open until deinit. One thread sends and receives at a time.
final class LocalSocket: Sendable {
  private let descriptor: Int32
  private let processID = currentProcessID()

  init(path: String, _ limit: CallLimit) throws(ClientError) {
    var address = sockaddr_un()
    let most = MemoryLayout.size(ofValue: address.sun_path)
    guard (1..<most).contains(path.utf8.count) else {
      throw .invalidArgument("the path of a socket has 1 to \(most - 1) bytes: \(path)")
    }
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let made = socket(AF_UNIX, LocalSocket.type, 0)
    if made < 0 { throw .noResources(LocalSocket.message()) }
    descriptor = made
    #if canImport(Darwin)
      _ = fcntl(made, F_SETFD, FD_CLOEXEC)
      var one: Int32 = 1
      setsockopt(made, SOL_SOCKET, SO_NOSIGPIPE, &one, socklen_t(MemoryLayout<Int32>.size))
    #endif
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        repeat {
          // If the server's queue of connections is full, `connect` waits for at most this time.
          LocalSocket.setLongestWait(of: made, milliseconds: max(1, limit.leftMilliseconds))
          if connect(made, pointer, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 { return true }
        } while errno == EINTR && limit.leftMilliseconds > 0
        return false
      }
    }
    if !isConnected { throw .unreachable(path: path, reason: LocalSocket.message()) }
    _ = fcntl(made, F_SETFL, O_NONBLOCK)
  }

  deinit {
    end()
    close(descriptor)
  }

  private static func setLongestWait(of socket: Int32, milliseconds: Int32) {
    var wait = timeval()
    wait.tv_sec = numericCast(milliseconds / 1000)
    wait.tv_usec = numericCast(milliseconds % 1000 * 1000)
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Ends the connection. A forked child may have the socket open, too: only a shutdown lets the server see the end
  /// before the child ends.
  func end() {
    if processID == currentProcessID() { shutdown(descriptor, Int32(SHUT_RDWR)) }
  }

  /// Sends a head and a body whole.
  func send(
    _ head: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, _ limit: inout CallLimit
  ) throws(Interruption) {
    var sent = 0
    while sent < head.count + body.count {
      let count = withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { parts in
        let (fromHead, fromBody) = (min(sent, head.count), max(0, sent - head.count))
        parts[0] = iovec(
          iov_base: head.baseAddress.map { UnsafeMutableRawPointer(mutating: $0 + fromHead) },
          iov_len: head.count - fromHead)
        parts[1] = iovec(
          iov_base: body.baseAddress.map { UnsafeMutableRawPointer(mutating: $0 + fromBody) },
          iov_len: body.count - fromBody)
        var message = msghdr()
        message.msg_iov = parts.baseAddress
        message.msg_iovlen = 2
        return sendmsg(descriptor, &message, LocalSocket.noSignal)
      }
      if count >= 0 {
        sent += count
        limit.note(count)
        continue
      }
      let code = errno
      do throws(ClientError) {
        try goOn(after: code, until: Int16(POLLOUT), limit)
      } catch {
        let isEnd = code == EPIPE || code == ECONNRESET
        throw Interruption(error: error, isEnd: isEnd, hasSent: sent > 0)
      }
    }
  }

  /// The bytes of one call to the system.
  struct Received {
    var bytes: [UInt8]
    /// The file that came with them.
    var file: PassedFile?
    /// Whether the process had no descriptor for a file that came with them.
    var lacksDescriptor: Bool
  }

  /// Receives bytes. No bytes mean the end of the connection, also if the peer has broken it off.
  func receive(most: Int = 16 << 10, _ limit: inout CallLimit) throws(ClientError) -> Received {
    while true {
      var (passed, isCut): (Int32, Bool) = (-1, false)
      var code: Int32 = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
        let received = vitrine_receive_passing(descriptor, buffer.baseAddress, buffer.count, &passed, &isCut)
        code = received < 0 ? errno : 0
        count = max(0, received)
      }
      if code == 0 || code == ECONNRESET {
        limit.note(bytes.count)
        return Received(bytes: bytes, file: passed < 0 ? nil : PassedFile(passed), lacksDescriptor: isCut)
      }
      try goOn(after: code, until: Int16(POLLIN), limit)
    }
  }

  /// Waits until the socket is ready, if a call would have blocked. Throws other errors except EINTR.
  private func goOn(after code: Int32, until events: Int16, _ limit: CallLimit) throws(ClientError) {
    if code == EINTR { return }
    guard code == EAGAIN || code == EWOULDBLOCK else { throw .interrupted(reason: String(cString: strerror(code))) }
    var wanted = pollfd(fd: descriptor, events: events, revents: 0)
    if poll(&wanted, 1, limit.leftMilliseconds) == 0 { throw .interrupted(reason: "the server did not answer in time") }
  }

  private static func message() -> String { String(cString: strerror(errno)) }

  #if canImport(Darwin)
    private static let type = SOCK_STREAM
    private static let noSignal: Int32 = 0
  #else
    private static let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    private static let noSignal = Int32(MSG_NOSIGNAL)
  #endif
}
