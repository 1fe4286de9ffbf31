import Glibc

extension FolderTree {
  /// The bytes of a folder on the disk, as `du` counts them: blocks, directories included. Files that are removed
  /// meanwhile are ignored.
  static func diskUsage(_ path: String) -> Int {
    guard let folder = try? Descriptor.open(Array(path.utf8), O_RDONLY | O_DIRECTORY) else { return 0 }
    return diskUsage(folder)
  }

  private static func diskUsage(_ folder: borrowing Descriptor) -> Int {
    var total = (try? folder.status()).map { Int($0.st_blocks) * 512 } ?? 0
    for name in (try? folder.names()) ?? [] {
      var status = stat()
      guard withCString(name, { fstatat(folder.raw, $0, &status, AT_SYMLINK_NOFOLLOW) }) == 0 else { continue }
      if status.st_mode & S_IFMT == S_IFDIR, let inner = try? folder.open(name, O_RDONLY | O_DIRECTORY) {
        total += diskUsage(inner)
      } else {
        total += Int(status.st_blocks) * 512
      }
    }
    return total
  }
}
