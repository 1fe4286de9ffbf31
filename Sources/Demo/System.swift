// The few system calls that the demonstration makes itself. Only the loading of pictures imports Foundation.
#if canImport(Darwin)
  @preconcurrency import Darwin
#else
  @preconcurrency import Glibc
#endif

/// An error that ends the demonstration, in words for people.
struct DemoError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }

  /// For the last failed system call.
  init(_ operation: String, _ path: String) {
    self.init("\(operation) \(path): \(String(cString: strerror(errno)))")
  }
}

/// Files and folders, by path.
enum Files {
  static func makeFolder(_ path: String) throws(DemoError) {
    if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
    throw DemoError("make folder", path)
  }

  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// The path without symbolic links, as the system's own lists show it.
  static func resolved(_ path: String) -> String {
    guard let text = realpath(path, nil) else { return path }
    defer { free(text) }
    return String(cString: text)
  }

  static func read(_ path: String) throws(DemoError) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw DemoError("open", path) }
    defer { _ = close(file) }
    var info = stat()
    guard fstat(file, &info) == 0 else { throw DemoError("stat", path) }
    var bytes = [UInt8](repeating: 0, count: Int(info.st_size))
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeMutableBytes { systemRead(file, $0.baseAddress! + done, $0.count - done) }
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw DemoError("read", path) }
      if count == 0 { break }
      done += count
    }
    bytes.removeLast(bytes.count - done)
    return bytes
  }

  /// Reads a file whose size is not known beforehand.
  static func readStream(_ path: String) throws(DemoError) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw DemoError("open", path) }
    defer { _ = close(file) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = systemRead(file, &part, part.count)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw DemoError("read", path) }
      if count == 0 { return bytes }
      bytes += part[..<count]
    }
  }

  static func write(_ bytes: [UInt8], to path: String) throws(DemoError) {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw DemoError("create", path) }
    defer { _ = close(file) }
    guard writeAll(bytes, to: file) else { throw DemoError("write", path) }
  }

  /// Returns whether all bytes were written.
  static func writeAll(_ bytes: [UInt8], to file: Int32) -> Bool {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes { systemWrite(file, $0.baseAddress! + done, $0.count - done) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return false }
      done += count
    }
    return true
  }

  struct Found {
    let path: String
    /// The path within the folder that was walked.
    let name: String
    let byteCount: Int
  }

  /// Calls `body` with every regular file below a folder, in the order of their names. Symbolic links are skipped,
  /// so the walk never leaves the folder. `body` returns whether to continue, and so does this.
  @discardableResult
  static func walk(_ folder: String, prefix: String = "", _ body: (Found) throws -> Bool) throws -> Bool {
    for name in try names(in: folder) {
      let path = folder + "/" + name
      var info = stat()
      guard lstat(path, &info) == 0 else { continue }
      let goesOn =
        switch info.st_mode & S_IFMT {
        case S_IFDIR: try walk(path, prefix: prefix + name + "/", body)
        case S_IFREG: try body(Found(path: path, name: prefix + name, byteCount: Int(info.st_size)))
        default: true
        }
      if !goesOn { return false }
    }
    return true
  }

  /// Removes a folder with all its content; a missing folder is no error. Follows no symbolic link.
  static func removeTree(_ path: String) throws(DemoError) {
    var info = stat()
    guard lstat(path, &info) == 0 else { return }
    if info.st_mode & S_IFMT == S_IFDIR {
      for name in try names(in: path) { try removeTree(path + "/" + name) }
      guard rmdir(path) == 0 else { throw DemoError("remove folder", path) }
    } else {
      guard unlink(path) == 0 else { throw DemoError("remove", path) }
    }
  }

  private static func names(in folder: String) throws(DemoError) -> [String] {
    guard let stream = opendir(folder) else { throw DemoError("open folder", folder) }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names.sorted()
  }
}

#if canImport(Darwin)
  private let systemRead = Darwin.read
  private let systemWrite = Darwin.write
#else
  private let systemRead = Glibc.read
  private let systemWrite = Glibc.write
#endif
