import FolderRemoval
import Foundation

/// A folder of one test, removed with all its content when the test releases it.
final class TemporaryFolder {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/vitrine-tests-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of the test's store.
  var store: String { path + "/store" }
}

/// Changes of files from outside the store.
enum Files {
  static func read(_ path: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: path)))
  }

  static func write(_ bytes: [UInt8], to path: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }

  /// Works even if an open store makes files below `path` meanwhile.
  static func remove(_ path: String) throws { try FileManager.default.removeFolderInUse(atPath: path) }

  static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  /// All plain files below `folder`, by their paths within it, in order.
  static func below(_ folder: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: folder).filter { name in
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: "\(folder)/\(name)", isDirectory: &isFolder)
        && !isFolder.boolValue
    }.sorted()
  }

  /// Copies a folder in its present state, as the death of its process would leave it.
  static func copyFolder(_ folder: String, to other: String) throws {
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder).sorted() {
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: "\(folder)/\(name)", isDirectory: &isFolder)
      if isFolder.boolValue {
        try FileManager.default.createDirectory(
          atPath: "\(other)/\(name)", withIntermediateDirectories: true)
      } else {
        try write(read("\(folder)/\(name)"), to: "\(other)/\(name)")
      }
    }
  }

  /// The properties of everything below a folder that a write or the creation of a file would change.
  static func state(_ folder: String) throws -> [String] {
    try (FileManager.default.subpathsOfDirectory(atPath: folder) + ["."]).sorted().map { name in
      var status = stat()
      guard lstat("\(folder)/\(name)", &status) == 0 else { throw CocoaError(.fileReadNoSuchFile) }
      let bytes = status.st_mode & S_IFMT == S_IFREG ? try read("\(folder)/\(name)") : []
      return "\(name) \(status.st_mode) \(status.st_ino) \(bytes.count) \(bytes.hashValue) "
        + "\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) \(status.st_ctim.tv_sec).\(status.st_ctim.tv_nsec)"
    }
  }

  /// The disk space of a folder with all its content, as `du` counts it.
  static func diskUsage(_ folder: String) throws -> Int {
    var total = try blocks(folder)
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
      total += try blocks("\(folder)/\(name)")
    }
    return total
  }

  private static func blocks(_ path: String) throws -> Int {
    var status = stat()
    // A file removed meanwhile takes no space any more.
    guard lstat(path, &status) == 0 else {
      if errno == ENOENT { return 0 }
      throw CocoaError(.fileReadUnknown)
    }
    return Int(status.st_blocks) * 512
  }
}
