import Glibc

/// The protocol of systemd for services: sockets that it has opened, and messages about the state.
enum ServiceManager {
  private static let firstSocket: Int32 = 3

  /// The listening sockets that were passed to this process (`LISTEN_FDS`). Those with the name `http` are for HTTP
  /// (`LISTEN_FDNAMES`).
  static func inheritedSockets() -> (memcached: [Int32], http: [Int32]) {
    guard let process = variable("LISTEN_PID").flatMap({ Int32($0) }), process == getpid(),
      let count = variable("LISTEN_FDS").flatMap({ Int32($0) }), (1...64).contains(count)
    else { return ([], []) }
    let names = (variable("LISTEN_FDNAMES") ?? "").split(separator: ":", omittingEmptySubsequences: false)
    unsetenv("LISTEN_PID")
    unsetenv("LISTEN_FDS")
    unsetenv("LISTEN_FDNAMES")
    let sockets = (0..<Int(count)).map { (firstSocket + Int32($0), $0 < names.count && names[$0] == "http") }
    return (sockets.filter { !$0.1 }.map(\.0), sockets.filter(\.1).map(\.0))
  }

  static func notifyReady() { notify("READY=1\n") }
  static func notifyStopping() { notify("STOPPING=1\n") }

  /// Sends a message to the socket that `NOTIFY_SOCKET` names. A name that begins with `@` is an abstract one.
  private static func notify(_ message: String) {
    guard let path = variable("NOTIFY_SOCKET"), path.hasPrefix("/") || path.hasPrefix("@") else { return }
    var address = sockaddr_un()
    let name = Array(path.utf8)
    guard name.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { place in
      place.copyBytes(from: name)
      if name.first == UInt8(ascii: "@") { place[0] = 0 }
    }
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let length = socklen_t(MemoryLayout.offset(of: \sockaddr_un.sun_path)! + name.count)
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        _ = sendto(descriptor, message, message.utf8.count, Int32(MSG_NOSIGNAL), pointer, length)
      }
    }
  }

  private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
