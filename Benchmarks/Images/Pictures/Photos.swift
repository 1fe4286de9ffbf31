import Foundation

/// Picture files of one folder.
struct Photos: Sendable {
  let folder: URL
  /// Sorted names.
  let names: [String]
  let byteCount: Int

  private static let endings: Set = ["jpg", "jpeg", "png", "webp"]

  init(in folder: URL) throws {
    var names: [String] = []
    var byteCount = 0
    for url in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: [.fileSizeKey])
    where Photos.endings.contains(url.pathExtension.lowercased()) {
      names.append(url.lastPathComponent)
      byteCount += try url.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
    }
    if names.isEmpty { throw BenchError("no JPEG, PNG or WebP files in \(folder.path)") }
    self.folder = folder
    self.names = names.sorted()
    self.byteCount = byteCount
  }

  func bytes(of name: String) throws -> [UInt8] { Array(try Data(contentsOf: folder.appending(path: name))) }
}
