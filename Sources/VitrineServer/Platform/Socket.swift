import CVitrineSystem

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A descriptor that is closed with the last reference. Used by one thread.
final class OwnDescriptor {
  let number: Int32

  /// Opens the file of a descriptor once more, for reading only. Returns nil if that is not possible.
  init?(readingFileOf descriptor: Int32) {
    number = vitrine_reopen_for_reading(descriptor)
    if number < 0 { return nil }
  }

  deinit { Socket.close(number) }
}

/// The system calls for sockets. Descriptors do not block and are not inherited by programs that the process starts.
enum Socket {
  #if canImport(Darwin)
    static let noSignal: Int32 = 0
    private static let streamType = SOCK_STREAM
  #elseif canImport(Glibc)
    static let noSignal = Int32(MSG_NOSIGNAL)
    private static let streamType = Int32(SOCK_STREAM.rawValue)
  #else
    static let noSignal = Int32(MSG_NOSIGNAL)
    private static let streamType = Int32(SOCK_STREAM)
  #endif

  // MARK: Listening

  /// Listens at all addresses of a host. With port 0, listens at a free port of the first address.
  static func listen(host: String, port: UInt16) throws(ServerError) -> [Int32] {
    var hints = addrinfo()
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    hints.ai_socktype = streamType
    var list: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host.isEmpty ? nil : host, String(port), &hints, &list)
    guard status == 0 else { throw .address("\(host):\(port)", String(cString: gai_strerror(status))) }
    defer { freeaddrinfo(list) }
    var sockets: [Int32] = []
    var next = list
    while let address = next?.pointee {
      next = address.ai_next
      do throws(ServerError) {
        guard let made = try listen(address, "\(host):\(port)") else { continue }
        sockets.append(made)
      } catch {
        for socket in sockets { Socket.close(socket) }
        throw error
      }
      // Each further address would get another port.
      if port == 0 { break }
    }
    if sockets.isEmpty { throw .address("\(host):\(port)", "this machine has no such address") }
    return sockets
  }

  /// Returns nil if this machine does not have the family of the address.
  private static func listen(_ address: addrinfo, _ name: String) throws(ServerError) -> Int32? {
    let made = socket(address.ai_family, address.ai_socktype, address.ai_protocol)
    if made < 0, errno == EAFNOSUPPORT { return nil }
    guard made >= 0 else { throw .address(name, message()) }
    var one: Int32 = 1
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    if address.ai_family == AF_INET6 {
      setsockopt(made, Int32(IPPROTO_IPV6), Int32(IPV6_V6ONLY), &one, socklen_t(MemoryLayout<Int32>.size))
    }
    guard bind(made, address.ai_addr, address.ai_addrlen) == 0, prepare(made), beginListening(made) else {
      let reason = message()
      Socket.close(made)
      throw .address(name, reason)
    }
    return made
  }

  /// Listens at a path. Replaces a socket at which no process listens. Only users with write permission by `mode` may
  /// connect.
  static func listen(path: String, mode: UInt16) throws(ServerError) -> Int32 {
    var address = sockaddr_un()
    let most = MemoryLayout.size(ofValue: address.sun_path)
    guard (1..<most).contains(path.utf8.count) else {
      throw .address(path, "a socket's path has 1 to \(most - 1) bytes")
    }
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let made = socket(AF_UNIX, streamType, 0)
    guard made >= 0 else { throw .address(path, message()) }
    let isDone = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        if isAbandoned(path, pointer, length) { unlink(path) }
        return bind(made, pointer, length) == 0
      }
    }
    guard isDone, chmod(path, mode_t(mode)) == 0, prepare(made), beginListening(made) else {
      let reason = message()
      if isDone { unlink(path) }
      Socket.close(made)
      throw .address(path, reason)
    }
    return made
  }

  /// Whether there is a socket at the path that refuses connections.
  private static func isAbandoned(_ path: String, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return false }
    let probe = socket(AF_UNIX, streamType, 0)
    guard probe >= 0 else { return false }
    defer { Socket.close(probe) }
    // A server that hangs does not accept the connection, and this call must not wait for it.
    guard fcntl(probe, F_SETFL, O_NONBLOCK) == 0 else { return false }
    return connect(probe, address, length) != 0 && errno == ECONNREFUSED
  }

  /// The number of descriptors that this process may have.
  static var descriptorLimit: Int {
    var limit = rlimit()
    #if canImport(Glibc)
      let result = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    #else
      let result = getrlimit(RLIMIT_NOFILE, &limit)
    #endif
    return result == 0 ? Int(clamping: limit.rlim_cur) : .max
  }

  private static func beginListening(_ socket: Int32) -> Bool {
    #if canImport(Glibc)
      Glibc.listen(socket, 1024) == 0
    #elseif canImport(Musl)
      Musl.listen(socket, 1024) == 0
    #else
      Darwin.listen(socket, 1024) == 0
    #endif
  }

  static func isListening(_ socket: Int32) -> Bool {
    var listens: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens != 0
  }

  /// Whether a connection has ended with an error, such as a reset by the client. Takes the error.
  static func hasFailed(_ socket: Int32) -> Bool {
    var failure: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(socket, SOL_SOCKET, SO_ERROR, &failure, &length) != 0 || failure != 0
  }

  /// Makes a socket non-blocking, and closes it in programs that this process starts.
  static func prepare(_ socket: Int32) -> Bool {
    fcntl(socket, F_SETFD, FD_CLOEXEC) == 0 && fcntl(socket, F_SETFL, O_NONBLOCK) == 0
  }

  /// The port at which a socket listens; nil for a Unix socket.
  static func port(of socket: Int32) -> UInt16? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &storage) { pointer -> UInt16? in
      let isKnown = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getsockname(socket, $0, &length) == 0
      }
      guard isKnown else { return nil }
      switch Int32(pointer.pointee.ss_family) {
      case AF_INET:
        return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
      case AF_INET6:
        return pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin6_port) }
      default: return nil
      }
    }
  }

  // MARK: Connections

  /// The address of a client, as `127.0.0.1:4321`; `local` for a socket of a path.
  static func peer(of socket: Int32) -> String {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let name = withUnsafeMutablePointer(to: &storage) { pointer -> (host: String, port: String)? in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard getpeername(socket, address, &length) == 0, Int32(address.pointee.sa_family) != AF_UNIX else {
          return nil
        }
        var host = [CChar](repeating: 0, count: 64)
        var port = [CChar](repeating: 0, count: 8)
        let status = getnameinfo(
          address, length, &host, socklen_t(host.count), &port, socklen_t(port.count), NI_NUMERICHOST | NI_NUMERICSERV)
        guard status == 0 else { return nil }
        return (text(host), text(port))
      }
    }
    guard let name else { return "local" }
    return name.host.contains(":") ? "[\(name.host)]:\(name.port)" : "\(name.host):\(name.port)"
  }

  private static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  enum Acceptance {
    case socket(Int32)
    /// No client waits.
    case none
    /// Descriptors or memory are short.
    case shortage
  }

  static func accept(_ listener: Int32) -> Acceptance {
    while true {
      let accepted = next(listener)
      if accepted >= 0 {
        guard prepare(accepted) else {
          Socket.close(accepted)
          continue
        }
        // Answers are sent whole, so waiting for more bytes would only delay them. Fails without harm on a Unix socket.
        var one: Int32 = 1
        setsockopt(accepted, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        // Ends the connection of a client whose machine has vanished.
        setsockopt(accepted, SOL_SOCKET, SO_KEEPALIVE, &one, socklen_t(MemoryLayout<Int32>.size))
        return .socket(accepted)
      }
      switch errno {
      case EINTR, ECONNABORTED: continue
      case EMFILE, ENFILE, ENOMEM, ENOBUFS: return .shortage
      default: return .none
      }
    }
  }

  private static func next(_ listener: Int32) -> Int32 {
    #if canImport(Glibc)
      Glibc.accept(listener, nil, nil)
    #elseif canImport(Musl)
      Musl.accept(listener, nil, nil)
    #else
      Darwin.accept(listener, nil, nil)
    #endif
  }

  enum Receipt {
    case bytes(Int)
    case blocked
    case ended
  }

  static func receive(_ socket: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Receipt {
    while true {
      let count = recv(socket, buffer.baseAddress, buffer.count, 0)
      if count > 0 { return .bytes(count) }
      if count == 0 { return .ended }
      if errno == EINTR { continue }
      return errno == EAGAIN || errno == EWOULDBLOCK ? .blocked : .ended
    }
  }

  /// Reads from a pipe.
  static func read(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Receipt {
    #if canImport(Glibc)
      let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
    #elseif canImport(Musl)
      let count = Musl.read(descriptor, buffer.baseAddress, buffer.count)
    #else
      let count = Darwin.read(descriptor, buffer.baseAddress, buffer.count)
    #endif
    return count > 0 ? .bytes(count) : count == 0 ? .ended : .blocked
  }

  /// Sends parts as one message, and passes a descriptor with its first byte. Returns the number of bytes, or -1.
  static func send(_ parts: UnsafeBufferPointer<iovec>, passing descriptor: OwnDescriptor, to socket: Int32) -> Int {
    vitrine_send_passing(socket, parts.baseAddress, parts.count, descriptor.number)
  }

  /// Whether the peer of a Unix socket has received all bytes that were sent to it.
  static func hasSentAll(_ socket: Int32) -> Bool { vitrine_unsent_count(socket) == 0 }

  /// Whether a connection is one of a Unix socket.
  static func isLocal(_ socket: Int32) -> Bool {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getsockname(socket, $0, &length) == 0 && Int32($0.pointee.sa_family) == AF_UNIX
      }
    }
  }

  /// Tells the client that no more answers follow.
  static func endSending(_ socket: Int32) { _ = shutdown(socket, Int32(SHUT_WR)) }

  /// Sends a text to a refused client, without waiting for the socket.
  static func send(_ text: StaticString, to socket: Int32) {
    var part = iovec(
      iov_base: UnsafeMutableRawPointer(mutating: text.utf8Start), iov_len: text.utf8CodeUnitCount)
    withUnsafeMutablePointer(to: &part) { part in
      var message = msghdr()
      message.msg_iov = part
      message.msg_iovlen = 1
      _ = sendmsg(socket, &message, noSignal)
    }
  }

  /// Removes the file of a socket.
  static func remove(_ path: String) { unlink(path) }

  static func close(_ socket: Int32) {
    #if canImport(Glibc)
      _ = Glibc.close(socket)
    #elseif canImport(Musl)
      _ = Musl.close(socket)
    #else
      _ = Darwin.close(socket)
    #endif
  }

  private static func message() -> String { String(cString: strerror(errno)) }
}
