import Glibc
import Synchronization

/// A bare file to append to: the speed of the disk without an engine. Thread-safe.
final class RawFile: Sendable {
  private let descriptor: CInt
  private let path: String
  private let end = Atomic(0)

  init(_ path: String) throws(Failure) {
    self.path = path
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .system("make", path) }
  }

  deinit {
    close(descriptor)
    unlink(path)
  }

  func append(_ bytes: RawSpan, sync: Bool) throws(Failure) {
    let offset = end.wrappingAdd(bytes.byteCount, ordering: .relaxed).oldValue
    let written = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
    guard written == bytes.byteCount else { throw .system("write", path) }
    if sync { try self.sync() }
  }

  func sync() throws(Failure) {
    guard fdatasync(descriptor) == 0 else { throw .system("sync", path) }
  }
}
