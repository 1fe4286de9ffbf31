import Glibc

/// One file for each value, mapped for the time of a get.
final class MappedFilesEngine: Engine {
  private let folder: String
  private let plan: StorePlan

  private init(_ folder: String, _ plan: StorePlan) {
    self.folder = folder
    self.plan = plan
  }

  static func open(_ folder: String, _ plan: StorePlan) throws -> MappedFilesEngine {
    try PictureFiles.makeFolders(folder, plan)
    return MappedFilesEngine(folder, plan)
  }

  func session() -> any EngineSession { MappedFilesSession(folder, plan) }

  func close() {}
}

private final class MappedFilesSession: FileSession {
  let files: PictureFiles

  init(_ folder: String, _ plan: StorePlan) { files = PictureFiles(folder, plan) }

  func withValue(_ key: Key, _ body: (UnsafeRawBufferPointer) -> Void) throws -> Bool {
    guard let file = try files.descriptor(key) else { return false }
    defer { close(file) }
    let count = try PictureFiles.byteCount(file)
    guard count > 0 else {
      body(UnsafeRawBufferPointer(start: nil, count: 0))
      return true
    }
    guard let start = mmap(nil, count, PROT_READ, MAP_SHARED, file, 0), start != MAP_FAILED else {
      throw Failure.system("files: mmap", errno)
    }
    defer { munmap(start, count) }
    body(UnsafeRawBufferPointer(start: start, count: count))
    return true
  }
}
