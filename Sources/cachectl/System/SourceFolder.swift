import CacheCtlKit
import Glibc

/// Reads the regular files of a folder and of all folders in it. No symbolic link is followed, so nothing outside
/// the folder is ever read.
struct SourceFolder: ~Copyable {
  private let root: Descriptor
  /// A folder to leave out, wherever it is found.
  private let excluded: FileIdentity?

  init(_ path: [UInt8], excluding excluded: FileIdentity?) throws(Failure) {
    root = try Descriptor.open(path, O_RDONLY | O_DIRECTORY)
    self.excluded = excluded
  }

  /// Calls `file` with the path of each file within the folder and the open file, folder by folder in the order of
  /// names. Calls `skipped` with the path of each entry that is not read, and the reason.
  func forEachFile(
    _ file: ([UInt8], borrowing Descriptor) throws -> Void, skipped: ([UInt8], String) -> Void
  ) throws {
    var pending: [[[UInt8]]] = [[]]
    while let folder = pending.popLast() {
      guard let listing = try list(folder, skipped) else { continue }
      var folders: [[[UInt8]]] = []
      for name in listing.names {
        let path = folder + [name]
        switch kind(of: name, in: listing.folder) {
        case .file:
          guard
            let opened = openFile(name, in: listing.folder, skipped: { skipped(SourceFolder.join(path), $0) })
          else {
            continue
          }
          try file(SourceFolder.join(path), opened)
        case .folder: folders.append(path)
        case .skipped(let reason): skipped(SourceFolder.join(path), reason)
        }
      }
      pending += folders.reversed()
    }
  }

  /// Returns whether `isMeant` holds for the path of each regular file. Opens none of them.
  func allFiles(_ isMeant: ([UInt8]) -> Bool) throws -> Bool {
    var pending: [[[UInt8]]] = [[]]
    while let folder = pending.popLast() {
      guard let listing = try list(folder, { _, _ in }) else { continue }
      for name in listing.names {
        switch kind(of: name, in: listing.folder) {
        case .file: if !isMeant(SourceFolder.join(folder + [name])) { return false }
        case .folder: pending.append(folder + [name])
        case .skipped: break
        }
      }
    }
    return true
  }

  private enum Kind {
    case file
    case folder
    case skipped(String)
  }

  private struct Listing: ~Copyable {
    let folder: Descriptor
    let names: [[UInt8]]
  }

  private func kind(of name: [UInt8], in folder: borrowing Descriptor) -> Kind {
    var status = stat()
    guard withCString(name, { fstatat(folder.raw, $0, &status, AT_SYMLINK_NOFOLLOW) }) == 0 else {
      return .skipped(String(cString: strerror(errno)))
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return .file
    case S_IFDIR: return FileIdentity(status) == excluded ? .skipped("it is the store itself") : .folder
    case S_IFLNK: return .skipped("a symbolic link")
    default: return .skipped("not a regular file")
    }
  }

  /// Returns nil, and reports it, if a folder below the root cannot be read.
  private func list(_ names: [[UInt8]], _ skipped: ([UInt8], String) -> Void) throws(Failure) -> Listing? {
    do throws(Failure) {
      let folder = try open(names)
      let content = try folder.names()
      return Listing(folder: folder, names: content)
    } catch {
      if names.isEmpty { throw error }
      skipped(SourceFolder.join(names), error.message)
      return nil
    }
  }

  private func openFile(
    _ name: [UInt8], in folder: borrowing Descriptor, skipped: (String) -> Void
  ) -> Descriptor? {
    do throws(Failure) {
      // O_NONBLOCK, in case the file has become a pipe since it was listed.
      return try folder.open(name, O_RDONLY | O_NONBLOCK)
    } catch {
      skipped(error.message)
      return nil
    }
  }

  /// From the root, one name at a time: two descriptors are enough for any depth.
  private func open(_ names: [[UInt8]]) throws(Failure) -> Descriptor {
    var folder = try root.open(Array(".".utf8), O_RDONLY | O_DIRECTORY)
    for name in names { folder = try folder.open(name, O_RDONLY | O_DIRECTORY) }
    return folder
  }

  private static func join(_ names: [[UInt8]]) -> [UInt8] {
    Array(names.joined(separator: [UInt8(ascii: "/")]))
  }
}
