import Vitrine

/// The calls on folders.
extension DiskCore {
  mutating func openDirectory(
    _ name: String, in parent: Int, _ parentPath: String, create: Bool
  ) throws(SystemError) -> Int {
    let path = DiskPath.join(parentPath, name)
    _ = try begin(.openDirectory, path)
    try DiskPath.check(name, in: parentPath, "open folder")
    let entries = try entries(of: parent, parentPath, "open folder")
    if let inode = entries[name] {
      if !files.isFolder(inode) { throw failure(ErrorCode.notDirectory, "open folder", path) }
      return inode
    }
    guard create else { throw failure(ErrorCode.notFound, "open folder", path) }
    _ = try begin(.createDirectory, path)
    if space.refusesNewNames { throw failure(ErrorCode.noSpace, "create folder", path) }
    let inode = files.takeNumber()
    try journal.record(.createDirectory(inode, in: parent, name: name), path)
    files.addFolder(inode, name, in: parent)
    return inode
  }

  mutating func openFile(
    _ name: String, in parent: Int, _ parentPath: String, _ access: FileAccess
  ) throws(SystemError) -> LiveFile {
    let path = DiskPath.join(parentPath, name)
    _ = try begin(access == .create ? .createFile : .openFile, path)
    try DiskPath.check(name, in: parentPath, "open")
    let entries = try entries(of: parent, parentPath, "open")
    if access == .create {
      if entries[name] != nil { throw failure(ErrorCode.alreadyExists, "open", path) }
      if space.refusesNewNames { throw failure(ErrorCode.noSpace, "open", path) }
      let file = LiveFile(number: files.takeNumber(), content: FileContent())
      try journal.record(.createFile(file.number, in: parent, name: name), path)
      files.addFile(file, name, in: parent)
      return file
    }
    guard let inode = entries[name] else { throw failure(ErrorCode.notFound, "open", path) }
    guard let file = files[inode] else {
      throw failure(access == .readWrite ? ErrorCode.isDirectory : ErrorCode.invalidArgument, "open", path)
    }
    return file
  }

  mutating func list(_ inode: Int, _ path: String) throws(SystemError) -> [DirectoryEntry] {
    _ = try begin(.list, path)
    // Sorted, since a dictionary's order would differ from run to run.
    return try entries(of: inode, path, "list").sorted { $0.key < $1.key }.map { name, child in
      DirectoryEntry(name: name, kind: files[child] != nil ? .file : .directory)
    }
  }

  mutating func remove(_ name: String, in parent: Int, _ parentPath: String) throws(SystemError) {
    let path = DiskPath.join(parentPath, name)
    _ = try begin(.remove, path)
    guard let inode = try entries(of: parent, parentPath, "remove")[name] else {
      throw failure(ErrorCode.notFound, "remove", path)
    }
    if files.isFolder(inode) { throw failure(ErrorCode.isDirectory, "remove", path) }
    try journal.record(.remove(inode, in: parent, name: name), path)
    files.unlink(name, in: parent)
    loseName(inode)
  }

  mutating func rename(
    _ name: String, to newName: String, in parent: Int, _ parentPath: String
  ) throws(SystemError) {
    let path = DiskPath.join(parentPath, name)
    _ = try begin(.rename, path)
    try DiskPath.check(newName, in: parentPath, "rename")
    let entries = try entries(of: parent, parentPath, "rename")
    guard let inode = entries[name] else { throw failure(ErrorCode.notFound, "rename", path) }
    let replaced = entries[newName]
    if replaced == inode { return }
    if let replaced {
      switch (files.entries(of: inode), files.entries(of: replaced)) {
      case (nil, nil): break
      case (nil, .some): throw failure(ErrorCode.isDirectory, "rename", path)
      case (.some, nil): throw failure(ErrorCode.notDirectory, "rename", path)
      case (.some, .some(let inside)):
        if !inside.isEmpty { throw failure(ErrorCode.directoryNotEmpty, "rename", path) }
      }
    }
    try journal.record(.rename(inode, in: parent, from: name, to: newName), path)
    files.unlink(name, in: parent)
    files.link(inode, newName, in: parent)
    if let replaced { loseName(replaced) }
  }

  mutating func syncDirectory(_ inode: Int, _ path: String) throws(SystemError) {
    switch try begin(.syncDirectory, path) {
    case .pretend: return
    case .loseUnsyncedPages(let code): throw failure(code, "sync folder", path)
    default: try journal.record(.syncDirectory(inode), path)
    }
  }

  private func entries(of inode: Int, _ path: String, _ operation: String) throws(SystemError) -> [String: Int] {
    guard let entries = files.entries(of: inode) else { throw failure(ErrorCode.notFound, operation, path) }
    return entries
  }
}
