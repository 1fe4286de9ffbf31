import CacheCtlKit
import Glibc

/// Writes a file under a temporary name beside it and renames it, so a reader sees the old content or the whole new
/// one.
///
/// The new file may not survive a loss of power. A device or a pipe is written in place.
enum FileReplacement {
  static func write(_ text: String, to path: [UInt8]) throws {
    let target = resolved(path)
    var status = stat()
    let isThere = withCString(target) { stat($0, &status) } == 0
    if isThere, status.st_mode & S_IFMT == S_IFDIR { throw Failure("write \(printable(path)): it is a folder") }
    if isThere, status.st_mode & S_IFMT != S_IFREG {
      return try fill(try Descriptor.open(target, O_WRONLY), text, printable(path))
    }
    let folder = target.lastIndex(of: UInt8(ascii: "/")).map { Array(target[...$0]) } ?? []
    let temporary = folder + Array(".cachectl-\(getpid()).tmp".utf8)
    // A killed process with the same number may have left this file.
    _ = withCString(temporary) { unlink($0) }
    do {
      let file = try Descriptor.open(temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o666)
      if isThere { fchmod(file.raw, status.st_mode & 0o777) }
      try fill(file, text, printable(path))
      guard withCString(temporary, { source in withCString(target) { rename(source, $0) } }) == 0 else {
        throw Failure.system("write", printable(path))
      }
    } catch {
      _ = withCString(temporary) { unlink($0) }
      throw error
    }
  }

  private static func fill(_ file: borrowing Descriptor, _ text: String, _ name: String) throws {
    let output = Output(descriptor: file.raw, name: name)
    try output.write(text)
    try output.flush()
  }

  /// Returns the target of a symbolic link, so that the link stays. A link without a target is replaced.
  private static func resolved(_ path: [UInt8]) -> [UInt8] {
    guard let name = withCString(path, { realpath($0, nil) }) else { return path }
    defer { free(name) }
    return Array(UnsafeRawBufferPointer(start: name, count: strlen(name)))
  }
}
