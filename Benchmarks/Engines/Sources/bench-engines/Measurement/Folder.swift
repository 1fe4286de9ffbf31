import Glibc

/// Folders of plain files.
enum Folder {
  static func make(_ path: String) throws {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw Failure.system("make \(path)", errno) }
  }

  /// Makes a folder and those above it.
  static func makeAll(_ path: String) throws {
    var made = path.hasPrefix("/") ? "/" : ""
    for name in path.split(separator: "/") {
      made += made.isEmpty || made.hasSuffix("/") ? String(name) : "/" + name
      try make(made)
    }
  }

  /// Removes a folder with all its content, if it exists.
  static func remove(_ path: String) throws {
    try forEachEntry(path) { entry, status in
      if status.st_mode & S_IFMT == S_IFDIR {
        try remove(entry)
      } else if unlink(entry) != 0 {
        throw Failure.system("remove \(entry)", errno)
      }
    }
    guard rmdir(path) == 0 || errno == ENOENT else { throw Failure.system("remove \(path)", errno) }
  }

  /// Bytes that a folder and its content occupy, as `du` counts them.
  static func allocatedByteCount(_ path: String) throws -> Int {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw Failure.system("stat \(path)", errno) }
    var count = Int(status.st_blocks) * 512
    try forEachEntry(path) { entry, status in
      if status.st_mode & S_IFMT == S_IFDIR {
        count += try allocatedByteCount(entry)
      } else {
        count += Int(status.st_blocks) * 512
      }
    }
    return count
  }

  /// The names in a folder; none if it does not exist.
  static func names(_ path: String) throws -> [String] {
    guard let folder = opendir(path) else {
      if errno == ENOENT { return [] }
      throw Failure.system("open \(path)", errno)
    }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  private static func forEachEntry(_ path: String, _ body: (String, stat) throws -> Void) throws {
    for name in try names(path) {
      var status = stat()
      // An engine may remove a file of its own at any time.
      guard lstat("\(path)/\(name)", &status) == 0 else { continue }
      try body("\(path)/\(name)", status)
    }
  }
}
