/// A whole disk after some number of operations: the durable content, the visible content, and the changes between
/// the two.
///
/// A value without locks or memory mappings. Applying the journal to the first state gives the state after any
/// operation, and each policy turns such a state into one that a loss of power could have left.
package struct DiskState: Sendable {
  static let root = 0

  /// The number of applied operations; the next one has this index.
  package private(set) var operationCount = 0
  private(set) var files: [Int: FileHistory] = [:]
  private(set) var directories: [Int: DirectoryHistory] = [DiskState.root: DirectoryHistory()]
  private(set) var nextInode = 1

  init() {}

  /// Applies the next operation. An open file without a name still gets operations. They are ignored here if the file
  /// is no longer in the tables, because no crash can bring it back.
  mutating func apply(_ operation: DiskOperation) {
    let index = operation.index
    operationCount = index + 1
    switch operation.change {
    case .createFile(let inode, let parent, let name):
      files[inode] = FileHistory()
      named(inode)
      directories[parent]?.change(inode, .add(name), index: index)
    case .createDirectory(let inode, let parent, let name):
      directories[inode] = DirectoryHistory()
      named(inode)
      directories[parent]?.change(inode, .add(name), index: index)
    case .remove(let inode, let parent, let name):
      directories[parent]?.change(inode, .remove(name), index: index)
    case .rename(let inode, let parent, let from, let to):
      directories[parent]?.change(inode, .rename(from: from, to: to), index: index)
    case .syncDirectory(let inode):
      for gone in directories[inode]?.sync() ?? [] { forget(gone) }
    case .write(let inode, let offset, let bytes):
      files[inode]?.write(bytes, at: offset, isStore: false, index: index)
    case .store(let inode, let offset, let bytes):
      files[inode]?.write(bytes, at: offset, isStore: true, index: index)
    case .allocate(let inode, let byteCount):
      files[inode]?.allocate(byteCount, index: index)
    case .truncate(let inode, let byteCount):
      files[inode]?.truncate(to: byteCount, index: index)
    case .syncFile(let inode, let begun):
      files[inode]?.sync(below: begun)
    case .loseUnsyncedPages(let inode):
      files[inode]?.loseUnsyncedPages()
    case .replaceContent(let inode, let content):
      files[inode]?.replace(with: content)
    case .link(let inode, let parent, let name, let isDirectory):
      if isDirectory, directories[inode] == nil { directories[inode] = DirectoryHistory() }
      if !isDirectory, files[inode] == nil { files[inode] = FileHistory() }
      named(inode)
      directories[parent]?.setDurably(name, inode, isLinked: true)
    case .unlink(let inode, let parent, let name):
      directories[parent]?.setDurably(name, inode, isLinked: false)
    }
  }

  /// The unsynced changes by index, oldest first. Each can be kept or lost on its own.
  package var unsynced: [UnsyncedChange] {
    var found: [UnsyncedChange] = []
    for (inode, file) in files {
      for change in file.unsynced {
        found.append(
          UnsyncedChange(index: change.index, inode: inode, isName: false, canTear: change.canTear))
      }
    }
    for (inode, directory) in directories {
      for change in directory.unsynced {
        found.append(UnsyncedChange(index: change.index, inode: inode, isName: true, canTear: false))
      }
    }
    return found.sorted { $0.index < $1.index }
  }

  /// Returns the disk after a loss of power: nothing on it is unsynced, and files without a name are gone.
  func surviving(_ policy: CrashPolicy) -> DiskState {
    var result = DiskState()
    result.nextInode = nextInode
    var waiting = [DiskState.root]
    while let inode = waiting.popLast() {
      guard let directory = directories[inode] else { continue }
      let entries = directory.surviving(policy, inode: inode)
      result.directories[inode] = DirectoryHistory(durable: entries)
      for child in entries.values {
        if let file = files[child] {
          result.files[child] = FileHistory(durable: file.surviving(policy, inode: child))
        } else if result.directories[child] == nil {
          waiting.append(child)
        }
      }
    }
    return result
  }

  /// Returns the disk for the next process, with the same kernel: all writes are visible, and unsynced ones stay
  /// unsynced. With `droppingCleanPages`, the bytes of a failed sync read as the disk really has them.
  func afterProcessDeath(droppingCleanPages: Bool) -> DiskState {
    var result = self
    if droppingCleanPages {
      for inode in files.keys { result.files[inode]?.dropCleanPages() }
    }
    return result
  }

  /// Equal for disks that no program can tell apart: names, bytes, lengths and allocation of durable files.
  var durableFingerprint: UInt64 {
    var sum: UInt64 = 0
    var waiting = [(DiskState.root, UInt64(1))]
    while let (inode, path) = waiting.popLast() {
      // Summed up, so that the order of the dictionary does not matter.
      for (name, child) in directories[inode]?.durable ?? [:] {
        let childPath = name.utf8.reduce(mixed(path, 0x2F)) { mixed($0, UInt64($1)) }
        if let file = files[child] {
          sum &+= mixed(childPath, file.durable.fingerprint)
        } else {
          sum &+= mixed(childPath, 2)
          waiting.append((child, childPath))
        }
      }
    }
    return sum
  }

  private mutating func named(_ inode: Int) { nextInode = Swift.max(nextInode, inode + 1) }

  private mutating func forget(_ inode: Int) {
    files[inode] = nil
    if let gone = directories.removeValue(forKey: inode) {
      for child in Set(gone.durable.values).union(gone.live.values) { forget(child) }
    }
  }
}

/// One change that a loss of power may undo.
package struct UnsyncedChange: Sendable, Equatable {
  /// The index of the operation.
  package let index: Int
  /// The number of the file, or of the folder that has the entry.
  package let inode: Int
  /// Whether it changes a folder's entries.
  package let isName: Bool
  /// Whether its bytes may arrive in part.
  package let canTear: Bool
}
