import Vitrine

/// External changes of a disk by a test. They are journaled like others, are durable at once, and ignore faults and
/// stops. Open handles and mappings see them.
extension SimulatedDisk {
  /// Makes a disk with these files, by absolute path. A path that ends with a slash makes an empty folder.
  package convenience init(files: [String: [UInt8]], _ options: Options = Options()) {
    self.init(options)
    for (path, bytes) in files.sorted(by: { $0.key < $1.key }) { setContents(path, bytes) }
    foldHistory()
  }

  /// Returns all files by path, and all empty folders with a trailing slash, as `init(files:)` takes them.
  package func export() -> [String: [UInt8]] {
    core.withLock { core in
      var files: [String: [UInt8]] = [:]
      for (path, number) in core.files.allPaths() {
        files[path] = core.files[number].map { $0.bytes(0..<$0.byteCount) } ?? []
      }
      return files
    }
  }

  /// Absolute paths of all files, sorted.
  package var filePaths: [String] {
    core.withLock { core in core.files.allPaths().filter { core.files[$0.number] != nil }.map(\.path) }
  }

  /// Returns the file as programs see it; nil if there is none.
  package func contents(_ path: String) -> [UInt8]? {
    core.withLock { core in
      core.resolve(path).flatMap { core.files[$0] }.map { $0.bytes(0..<$0.byteCount) }
    }
  }

  /// Whether a file or a folder has this path.
  func hasItem(at path: String) -> Bool { core.withLock { $0.resolve(path) != nil } }

  /// Returns the file's length as programs see it; nil if there is none.
  package func byteCount(_ path: String) -> Int? {
    core.withLock { core in core.resolve(path).flatMap { core.files[$0]?.byteCount } }
  }

  /// Replaces a file's bytes in place, or makes the file and its parent folders. Returns false if a name in the
  /// path is of the other kind, or the bytes are too many.
  @discardableResult
  package func setContents(_ path: String, _ bytes: [UInt8]) -> Bool {
    core.withLock { core in
      let components = DiskPath.components(path)
      var parent = DiskState.root
      for (position, name) in components.enumerated() {
        let isFile = position == components.count - 1 && !path.hasSuffix("/")
        var child = core.files.entries(of: parent)?[name]
        if child == nil { child = core.link(name, in: parent, path, isDirectory: !isFile) }
        guard let child, isFile == (core.files[child] != nil) else { return false }
        parent = child
      }
      guard let file = core.files[parent] else { return path.hasSuffix("/") && bytes.isEmpty }
      if bytes.count > file.limit { return false }
      core.journal.recordFromOutside(.replaceContent(file.number, FileContent(bytes)), path)
      core.change(file) {
        $0.setLength(0)
        $0.write(bytes, at: 0)
      }
      return true
    }
  }

  /// Changes bytes of a file in place.
  @discardableResult
  package func damage(_ path: String, _ body: (inout [UInt8]) -> Void) -> Bool {
    guard var bytes = contents(path) else { return false }
    body(&bytes)
    return setContents(path, bytes)
  }

  /// Removes a file, or a folder with all its content. Handles still work, on a file or folder without a name.
  @discardableResult
  package func remove(_ path: String) -> Bool {
    core.withLock { core in
      var components = DiskPath.components(path)
      guard let name = components.popLast(), let parent = core.files.resolve(components),
        core.files.entries(of: parent)?[name] != nil
      else { return false }
      core.unlink(name, in: parent, path)
      return true
    }
  }

  /// Moves a file or folder to another path, whose parent must exist and which must be free.
  @discardableResult
  package func move(_ path: String, to newPath: String) -> Bool {
    core.withLock { core in
      var components = DiskPath.components(path)
      var newComponents = DiskPath.components(newPath)
      guard !newComponents.starts(with: components), let inode = core.files.resolve(components),
        let name = components.popLast(), let parent = core.files.resolve(components),
        let newName = newComponents.popLast(), let newParent = core.files.resolve(newComponents),
        let entries = core.files.entries(of: newParent), entries[newName] == nil
      else { return false }
      core.move(inode, from: (parent, name, path), to: (newParent, newName, newPath))
      return true
    }
  }

  /// Returns another disk with the same content, durable and not, without the handles, locks and faults of this
  /// one.
  package func copy() -> SimulatedDisk { crashStates().diskAfterProcessDeath() }

  /// Returns the files whose mapped bytes differ from the announced ones: because of a store that the engine did
  /// not announce, or one in progress. Call it while no thread stores.
  package func unannouncedStores() -> [String] {
    core.withLock { core in
      let announced = core.journal.state(after: core.journal.operationCount)
      return core.files.allPaths().compactMap { path, number in
        guard let file = core.files[number], file.memory != nil, let history = announced.files[number] else {
          return nil
        }
        return file.bytes(0..<file.byteCount) == history.live.bytes() ? nil : path
      }
    }
  }
}
