import CacheCtlKit
import Glibc

/// A folder for new files, at paths given name by name. No name is followed through a symbolic link and no file is
/// overwritten, so nothing outside the folder, and no existing file, is ever touched.
final class DestinationFolder {
  private let root: Descriptor
  /// The folder of the previous file, kept open because the next file is often in it too.
  private var latestNames: [String] = []
  private var latest: Descriptor

  /// Makes the folder if it is missing, but not its parents.
  init(_ path: [UInt8]) throws(Failure) {
    if withCString(path, { mkdir($0, 0o777) }) != 0, errno != EEXIST {
      throw .system("make", printable(path))
    }
    root = try Descriptor.open(path, O_RDONLY | O_DIRECTORY)
    latest = try root.open(Array(".".utf8), O_RDONLY | O_DIRECTORY)
  }

  /// Passes a new, empty file to `body`; removes it again if `body` throws.
  func create(_ names: [String], _ body: (borrowing Descriptor) throws -> Void) throws {
    guard let name = names.last else { throw Failure("a file without a name") }
    try enter(Array(names.dropLast()))
    let bytes = Array(name.utf8)
    try fill(latest, bytes, body)
  }

  private func fill(
    _ folder: borrowing Descriptor, _ name: [UInt8], _ body: (borrowing Descriptor) throws -> Void
  ) throws {
    let file = try folder.open(name, O_WRONLY | O_CREAT | O_EXCL, mode: 0o666)
    do {
      try body(file)
    } catch {
      _ = withCString(name) { unlinkat(folder.raw, $0, 0) }
      throw error
    }
  }

  private func enter(_ names: [String]) throws(Failure) {
    if latestNames == names { return }
    var folder = try root.open(Array(".".utf8), O_RDONLY | O_DIRECTORY)
    for name in names {
      let bytes = Array(name.utf8)
      if withCString(bytes, { mkdirat(folder.raw, $0, 0o777) }) != 0, errno != EEXIST {
        throw .system("make", printable(folder.path + Array("/".utf8) + bytes))
      }
      folder = try folder.open(bytes, O_RDONLY | O_DIRECTORY)
    }
    latest = folder
    latestNames = names
  }
}
