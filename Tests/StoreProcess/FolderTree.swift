import Glibc

/// A folder and all its content; symbolic links are not followed, and files removed meanwhile are ignored.
enum FolderTree {
  /// Its bytes on the disk, as `du` counts them: blocks, directories included.
  static func diskUsage(_ path: String) -> Int {
    var total = 0
    walk(path) { _, status in total += Int(status.st_blocks) * 512 }
    return total
  }

  /// The files in it, by their paths within it.
  static func files(_ path: String) -> [String] {
    var files: [String] = []
    walk(path) { file, status in
      if status.st_mode & S_IFMT != S_IFDIR { files.append(String(file.dropFirst(path.utf8.count + 1))) }
    }
    return files
  }

  static func remove(_ path: String) {
    walk(path) { path, _ in _ = Glibc.remove(path) }
  }

  /// Visits the content of a folder before the folder.
  private static func walk(_ path: String, _ body: (_ path: String, _ status: stat) -> Void) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    if status.st_mode & S_IFMT == S_IFDIR, let folder = opendir(path) {
      while let entry = readdir(folder) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { walk("\(path)/\(name)", body) }
      }
      closedir(folder)
    }
    body(path, status)
  }
}
