import Vitrine

/// The rules of paths and names on a simulated disk.
enum DiskPath {
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
