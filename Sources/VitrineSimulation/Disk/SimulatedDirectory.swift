import Vitrine

/// A handle on a folder of a simulated disk.
final class SimulatedDirectory: Directory {
  let path: String
  let promisesAllocation: Bool
  private let disk: SimulatedDisk
  private let inode: Int

  /// May be called under the disk's lock.
  init(disk: SimulatedDisk, inode: Int, path: String, promisesAllocation: Bool) {
    self.disk = disk
    self.inode = inode
    self.path = path
    self.promisesAllocation = promisesAllocation
  }

  func openDirectory(_ name: String, create: Bool, from site: CallSite) throws(SystemError) -> any Directory {
    let opened = try disk.change(from: site) { (core) throws(SystemError) in
      try core.openDirectory(name, in: inode, path, create: create)
    }
    return SimulatedDirectory(
      disk: disk, inode: opened, path: DiskPath.join(path, name), promisesAllocation: promisesAllocation)
  }

  func openFile(_ name: String, _ access: FileAccess, from site: CallSite) throws(SystemError) -> any File {
    let (file, number) = try disk.change(from: site) { (core) throws(SystemError) -> (LiveFile, UInt64) in
      let file = try core.openFile(name, in: inode, path, access)
      file.hold()
      return (file, core.newHandle())
    }
    return SimulatedFile(
      hold: FileHold(disk: disk, alreadyCountedOn: file), handle: number, isWritable: access != .readOnly,
      path: DiskPath.join(path, name))
  }

  func entries() throws(SystemError) -> [DirectoryEntry] {
    try disk.core.withLock { (core) throws(SystemError) in try core.list(inode, path) }
  }

  func remove(_ name: String, from site: CallSite) throws(SystemError) {
    try disk.change(from: site) { (core) throws(SystemError) in try core.remove(name, in: inode, path) }
  }

  func rename(_ name: String, to newName: String, from site: CallSite) throws(SystemError) {
    try disk.change(from: site) { (core) throws(SystemError) in
      try core.rename(name, to: newName, in: inode, path)
    }
  }

  func sync(from site: CallSite) throws(SystemError) {
    try disk.change(from: site) { (core) throws(SystemError) in try core.syncDirectory(inode, path) }
  }

  /// Folders take no blocks on this disk.
  func status() throws(SystemError) -> FileStatus {
    try disk.core.withLock { (core) throws(SystemError) in
      _ = try core.begin(.status, path)
      return FileStatus(byteCount: 0, allocatedByteCount: 0)
    }
  }

  func availableByteCount() throws(SystemError) -> Int {
    try disk.core.withLock { (core) throws(SystemError) in
      _ = try core.begin(.availableSpace, path)
      return core.space.freePageCount * Page.byteCount
    }
  }

  func isStillNamed() -> Bool {
    disk.core.withLock { core in core.files.isFolder(inode) && core.resolve(path) == inode }
  }
}
