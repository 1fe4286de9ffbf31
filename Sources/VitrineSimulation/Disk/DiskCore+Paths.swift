import Vitrine

extension DiskCore {
  /// Returns the file or folder at a path from the root, nil if there is none.
  func resolve(_ path: String) -> Int? { resolve(DiskCore.components(path)) }

  func resolve(_ components: [String]) -> Int? {
    var inode = DiskState.root
    for component in components {
      guard let next = directories[inode]?[component] else { return nil }
      inode = next
    }
    return inode
  }

  static func components(_ path: String) -> [String] {
    var components: [String] = []
    for part in path.split(separator: "/") where part != "." {
      if part == ".." { _ = components.popLast() } else { components.append(String(part)) }
    }
    return components
  }

  static func join(_ path: String, _ name: String) -> String {
    path.hasSuffix("/") ? path + name : "\(path)/\(name)"
  }

  /// Returns the paths of every file and every empty folder, sorted, the latter with a trailing slash.
  func allPaths() -> [(path: String, inode: Int)] {
    var found: [(path: String, inode: Int)] = []
    var waiting = [("/", DiskState.root)]
    while let (path, inode) = waiting.popLast() {
      let entries = directories[inode] ?? [:]
      if entries.isEmpty, inode != DiskState.root { found.append((path + "/", inode)) }
      for (name, child) in entries {
        let childPath = DiskCore.join(path, name)
        if files[child] != nil {
          found.append((childPath, child))
        } else {
          waiting.append((childPath, child))
        }
      }
    }
    return found.sorted { $0.path < $1.path }
  }

  /// Checks that `name` is a single valid path component.
  static func check(_ name: String, in path: String, _ operation: String) throws(SystemError) {
    let code: Int32
    if name.isEmpty {
      code = ErrorCode.notFound
    } else if name == "." || name == ".." || name.utf8.contains(where: { $0 == 0x2F || $0 == 0 }) {
      code = ErrorCode.invalidArgument
    } else if name.utf8.count > 255 {
      code = ErrorCode.nameTooLong
    } else {
      return
    }
    throw SystemError(code: code, operation: operation, path: join(path, name))
  }
}
