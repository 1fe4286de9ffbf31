import CVitrineSystem

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A file outside the store that appears under its name once it is whole.
final class ExportedFile {
  private let path: String
  private let temporary: String
  private let descriptor: Int32
  private var isFinished = false
  private var written = 0

  /// Makes an empty file beside `path`.
  init(_ path: String) throws(SystemError) {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SystemError(code: EINVAL, operation: "create", path: path)
    }
    let temporary = "\(path).\(String(UInt32.random(in: 0 ... .max), radix: 16)).partial"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    // Before the properties are set: the deinitializer must not remove the file of another copy.
    if descriptor < 0 { throw SystemError(code: errno, operation: "create", path: temporary) }
    self.path = path
    self.temporary = temporary
    self.descriptor = descriptor
  }

  deinit {
    close(descriptor)
    if !isFinished { unlink(temporary) }
  }

  /// Appends bytes.
  func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    var done = 0
    while done < bytes.count {
      let step = Int(
        vitrine_write2(descriptor, bytes.baseAddress! + done, min(bytes.count - done, 1 << 30), nil, 0, Int64(written)))
      if step < 0 { throw SystemError(code: Int32(-step), operation: "write", path: temporary) }
      if step == 0 { throw SystemError(code: ENOSPC, operation: "write", path: temporary) }
      done += step
      written += step
    }
  }

  /// Appends a range of another file. The system copies it if it can.
  func copy(_ source: Int32, _ range: Range<Int>) throws(SystemError) {
    var offset = range.lowerBound
    while offset < range.upperBound {
      let step = Int(vitrine_copy_range(source, Int64(offset), descriptor, Int64(written), range.upperBound - offset))
      // Not every system, file system and pair of file systems can copy. The copy through memory reports other errors.
      if step <= 0 { break }
      offset += step
      written += step
    }
    if offset < range.upperBound { try copyThroughMemory(source, offset..<range.upperBound) }
  }

  private func copyThroughMemory(_ source: Int32, _ range: Range<Int>) throws(SystemError) {
    let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: min(range.count, 1 << 18), alignment: 16)
    defer { piece.deallocate() }
    var offset = range.lowerBound
    while offset < range.upperBound {
      let got = pread(source, piece.baseAddress!, min(piece.count, range.upperBound - offset), off_t(offset))
      if got < 0, errno == EINTR { continue }
      if got <= 0 { throw SystemError(code: got < 0 ? errno : EIO, operation: "read", path: "a segment") }
      try write(UnsafeRawBufferPointer(rebasing: piece[..<got]))
      offset += got
    }
  }

  /// Gives the file its name, in place of a file that is there.
  func finish() throws(SystemError) {
    if rename(temporary, path) != 0 { throw SystemError(code: errno, operation: "rename", path: path) }
    isFinished = true
  }
}
