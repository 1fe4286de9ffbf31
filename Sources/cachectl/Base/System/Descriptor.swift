import CacheCtlKit
import Glibc

/// An open file or folder, closed at the end of its lifetime. Paths and names are bytes, as the system takes them.
package struct Descriptor: ~Copyable {
  package let raw: CInt
  package let path: [UInt8]

  private init(raw: CInt, path: [UInt8]) {
    self.raw = raw
    self.path = path
  }

  deinit { close(raw) }

  /// Opens a path from the user, following symbolic links as any tool does.
  package static func open(_ path: [UInt8], _ flags: CInt, mode: mode_t = 0) throws(Failure) -> Descriptor {
    let raw = withCString(path) { Glibc.open($0, flags | O_CLOEXEC, mode) }
    guard raw >= 0 else { throw .system("open", printable(path)) }
    return Descriptor(raw: raw, path: path)
  }

  package static func standardInput() throws(Failure) -> Descriptor {
    let raw = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
    guard raw >= 0 else { throw .system("read", "stdin") }
    return Descriptor(raw: raw, path: Array("stdin".utf8))
  }

  /// Opens one name inside this folder, never through a symbolic link.
  package func open(_ name: [UInt8], _ flags: CInt, mode: mode_t = 0) throws(Failure) -> Descriptor {
    let full = name == Array(".".utf8) ? path : path + Array("/".utf8) + name
    let raw = withCString(name) { openat(self.raw, $0, flags | O_NOFOLLOW | O_CLOEXEC, mode) }
    guard raw >= 0 else { throw .system("open", printable(full)) }
    return Descriptor(raw: raw, path: full)
  }

  package func status() throws(Failure) -> stat {
    var status = stat()
    guard fstat(raw, &status) == 0 else { throw .system("stat", printable(path)) }
    return status
  }

  /// Reads up to the end; nil if the file has more than `limit` bytes.
  package func readAll(limit: Int) throws(Failure) -> [UInt8]? {
    var bytes: [UInt8] = []
    var step = max(1 << 16, min(Int(try status().st_size) + 1, limit + 1))
    while true {
      var failed = false
      var count = 0
      let piece = [UInt8](unsafeUninitializedCapacity: step) { buffer, filled in
        repeat { count = read(raw, buffer.baseAddress, step) } while count < 0 && errno == EINTR
        failed = count < 0
        filled = max(0, count)
      }
      if failed { throw .system("read", printable(path)) }
      if count == 0 { return bytes }
      if bytes.isEmpty { bytes = piece } else { bytes += piece }
      if bytes.count > limit { return nil }
      step = 1 << 20
    }
  }
}

extension Descriptor {
  /// The entries of this folder, in the order of their bytes, without `.` and `..`.
  package func names() throws(Failure) -> [[UInt8]] {
    // The listing owns a separate descriptor, with its own position.
    let copy = openat(raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0, let listing = fdopendir(copy) else { throw .system("read", printable(path)) }
    defer { closedir(listing) }
    var names: [[UInt8]] = []
    errno = 0
    while let entry = readdir(listing) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      if name != Array(".".utf8), name != Array("..".utf8) { names.append(name) }
      errno = 0
    }
    if errno != 0 { throw .system("read", printable(path)) }
    return names.sorted { $0.lexicographicallyPrecedes($1) }
  }
}

/// Calls `body` with the bytes and a NUL after them.
package func withCString<R>(_ bytes: [UInt8], _ body: (UnsafePointer<CChar>) -> R) -> R {
  (bytes + [0]).withUnsafeBytes { body($0.baseAddress!.assumingMemoryBound(to: CChar.self)) }
}

/// Identifies a file by its device and inode, under any name.
package struct FileIdentity: Equatable {
  package let device: dev_t
  package let node: ino_t

  package init(_ status: stat) {
    device = status.st_dev
    node = status.st_ino
  }

  /// Returns nil if there is no file at the path.
  package init?(path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status)
  }
}
