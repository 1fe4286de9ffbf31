import Foundation

/// The shared resources of the scenes: a working folder, and the pictures.
struct Bench: Sendable {
  let photosFolder: String?
  let rowCount: Int
  let seed: UInt64
  /// The working folder, which is removed at the end.
  let work: URL

  init(_ command: BenchCommand) throws {
    photosFolder = command.photosFolder
    rowCount = command.rowCount
    seed = command.seed
    work = FileManager.default.temporaryDirectory.appending(path: "vitrine-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true)
  }

  func removeWork() { try? FileManager.default.removeItem(at: work) }

  /// A new, empty folder.
  func folder(_ name: String) throws -> URL {
    let url = work.appending(path: name)
    try? FileManager.default.removeItem(at: url)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    return url
  }

  /// Returns the given photos, or photos drawn once for all scenes.
  func photos() throws -> Photos {
    if let photosFolder { return try Photos(in: URL(filePath: photosFolder, directoryHint: .isDirectory)) }
    let drawn = work.appending(path: "photos")
    if !FileManager.default.fileExists(atPath: drawn.path) {
      try DrawnPicture.writePhotos(count: 20, seed: seed, into: try folder("photos"))
    }
    return try Photos(in: drawn)
  }
}
