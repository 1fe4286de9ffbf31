import Glibc

/// One file for each value. A get maps the file, or reads it into a buffer that the thread keeps.
final class FilesEngine: Engine {
  private let folder: String
  private let plan: StorePlan
  private let isMapped: Bool

  init(_ folder: String, _ plan: StorePlan, isMapped: Bool) throws {
    try PictureFiles.makeFolders(folder, plan)
    self.folder = folder
    self.plan = plan
    self.isMapped = isMapped
  }

  func session() -> any EngineSession {
    isMapped ? MappedFilesSession(folder, plan) : ReadFilesSession(folder, plan)
  }

  func close() {}
}

/// Reads a file by open, read and close.
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

/// Maps a file for the time of a get.
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
