import CacheCtlKit
import Glibc

extension FolderTree {
  /// Copies a folder of plain files and folders, and makes the copy durable, so that later measurements do not wait
  /// for its writes.
  static func copy(_ source: String, to target: String) throws {
    guard mkdir(target, 0o700) == 0 else { throw Failure.system("make", printable(Array(target.utf8))) }
    guard let folder = opendir(source) else { throw Failure.system("open", printable(Array(source.utf8))) }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name == "." || name == ".." { continue }
      var status = stat()
      guard lstat("\(source)/\(name)", &status) == 0 else { continue }
      if status.st_mode & S_IFMT == S_IFDIR {
        try copy("\(source)/\(name)", to: "\(target)/\(name)")
      } else {
        try copyFile("\(source)/\(name)", to: "\(target)/\(name)")
      }
    }
  }

  private static func copyFile(_ source: String, to target: String) throws {
    let from = open(source, O_RDONLY | O_CLOEXEC)
    guard from >= 0 else { throw Failure.system("open", printable(Array(source.utf8))) }
    defer { close(from) }
    let to = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard to >= 0 else { throw Failure.system("make", printable(Array(target.utf8))) }
    defer { close(to) }
    try forEachStretch(of: from) { bytes in
      guard write(to, bytes.baseAddress, bytes.count) == bytes.count else {
        throw Failure.system("write", printable(Array(target.utf8)))
      }
    }
    guard fsync(to) == 0 else { throw Failure.system("sync", printable(Array(target.utf8))) }
  }

  /// Reads a whole file and discards it.
  static func readThrough(_ path: String) {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    defer { close(file) }
    forEachStretch(of: file) { _ in }
  }

  private static func forEachStretch(of file: CInt, _ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 64)
    defer { buffer.deallocate() }
    while true {
      let count = read(file, buffer.baseAddress, buffer.count)
      if count <= 0 { return }
      try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
  }
}
