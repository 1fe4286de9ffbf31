/// The files and folders of a disk as the programs see them, by number, since names change.
struct FileTree {
  private var files: [Int: LiveFile] = [:]
  /// Entries by folder. A removed folder has none.
  private var folders: [Int: [String: Int]] = [:]
  private var nextNumber: Int

  init(_ state: DiskState) {
    nextNumber = state.nextInode
    var waiting = [DiskState.root]
    while let folder = waiting.popLast() {
      let entries = state.directories[folder]?.live ?? [:]
      folders[folder] = entries
      for child in entries.values {
        if let file = state.files[child] {
          files[child] = LiveFile(number: child, content: file.live)
        } else {
          waiting.append(child)
        }
      }
    }
  }

  // MARK: Reading

  /// The file of that number; nil for a folder, and if its blocks were freed.
  subscript(number: Int) -> LiveFile? { files[number] }

  /// Returns the entries of a folder; nil if there is no such folder.
  func entries(of folder: Int) -> [String: Int]? { folders[folder] }

  func isFolder(_ number: Int) -> Bool { folders[number] != nil }

  /// The number of blocks of all files.
  var allocatedPageCount: Int { files.values.reduce(0) { $0 + $1.content.allocatedPageCount } }

  /// Returns the file or folder at a path from the root, nil if there is none.
  func resolve(_ components: [String]) -> Int? {
    var number = DiskState.root
    for component in components {
      guard let next = folders[number]?[component] else { return nil }
      number = next
    }
    return number
  }

  /// Returns the paths of every file and every empty folder, sorted, the latter with a trailing slash.
  func allPaths() -> [(path: String, number: Int)] {
    var found: [(path: String, number: Int)] = []
    var waiting = [("/", DiskState.root)]
    while let (path, folder) = waiting.popLast() {
      let entries = folders[folder] ?? [:]
      if entries.isEmpty, folder != DiskState.root { found.append((path + "/", folder)) }
      for (name, child) in entries {
        let childPath = DiskPath.join(path, name)
        if files[child] != nil {
          found.append((childPath, child))
        } else {
          waiting.append((childPath, child))
        }
      }
    }
    return found.sorted { $0.path < $1.path }
  }

  // MARK: Changes

  /// Returns a number that no file and no folder has had.
  mutating func takeNumber() -> Int {
    defer { nextNumber += 1 }
    return nextNumber
  }

  mutating func addFile(_ file: LiveFile, _ name: String, in parent: Int) {
    folders[parent]?[name] = file.number
    files[file.number] = file
  }

  mutating func addFolder(_ number: Int, _ name: String, in parent: Int) {
    folders[parent]?[name] = number
    folders[number] = [:]
  }

  /// Gives a file or folder a name, which may replace that of another one.
  mutating func link(_ number: Int, _ name: String, in parent: Int) { folders[parent]?[name] = number }

  /// Takes a name away. The file or folder stays.
  mutating func unlink(_ name: String, in parent: Int) { folders[parent]?[name] = nil }

  /// Removes a file or folder that has lost its last name. A file with holds stays until ``endHold(on:)``. Returns the
  /// number of blocks that it frees, nil if it stays or is a folder.
  mutating func remove(_ number: Int) -> Int? {
    folders[number] = nil
    files[number]?.loseName()
    return releaseIfUnused(number)
  }

  /// Ends one hold on a file. Returns the number of blocks that it frees, nil if it stays.
  mutating func endHold(on file: LiveFile) -> Int? {
    file.endHold()
    return releaseIfUnused(file.number)
  }

  private mutating func releaseIfUnused(_ number: Int) -> Int? {
    guard let file = files[number], file.isUnused else { return nil }
    files[number] = nil
    return file.content.allocatedPageCount
  }
}
