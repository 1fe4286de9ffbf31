import Glibc

/// One file for each value, read by open, read and close into a buffer that the thread keeps.
final class FilesEngine: Engine {
  private let folder: String
  private let plan: StorePlan

  private init(_ folder: String, _ plan: StorePlan) {
    self.folder = folder
    self.plan = plan
  }

  static func open(_ folder: String, _ plan: StorePlan) throws -> FilesEngine {
    try PictureFiles.makeFolders(folder, plan)
    return FilesEngine(folder, plan)
  }

  func session() -> any EngineSession { ReadFilesSession(folder, plan) }

  func close() {}
}

private final class ReadFilesSession: FileSession {
  let files: PictureFiles
  private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 64)

  init(_ folder: String, _ plan: StorePlan) { files = PictureFiles(folder, plan) }

  deinit { buffer.deallocate() }

  func withValue(_ key: Key, _ body: (UnsafeRawBufferPointer) -> Void) throws -> Bool {
    guard let file = try files.descriptor(key) else { return false }
    defer { close(file) }
    let count = try PictureFiles.byteCount(file)
    if count > buffer.count {
      buffer.deallocate()
      buffer = .allocate(byteCount: 2 * count, alignment: 64)
    }
    guard read(file, buffer.baseAddress, count) == count else { throw Failure.system("files: read", errno) }
    body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    return true
  }

  /// Reads 64 bytes of the file alone.
  func touch(_ key: Key) throws -> UInt64? {
    guard let file = try files.descriptor(key) else { return nil }
    defer { close(file) }
    let count = read(file, buffer.baseAddress, 64)
    guard count >= 0 else { throw Failure.system("files: read", errno) }
    return Words.touch(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
  }
}
