import CacheCtlKit
import Glibc

/// An open trace file, as it lies on the disk.
final class TraceFile: TraceBytes {
  private let descriptor: Descriptor
  /// Bytes of the file.
  let byteCount: Int
  /// Bytes read.
  private(set) var position = 0

  init(_ path: [UInt8]) throws(Failure) {
    // O_NONBLOCK: opening a pipe without a writer must not wait.
    descriptor = try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
    let status = try descriptor.status()
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw Failure("\(printable(path)): a trace is a regular file, because it may be read more than once")
    }
    byteCount = Int(status.st_size)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    var count = 0
    repeat { count = Glibc.read(descriptor.raw, buffer.baseAddress, buffer.count) } while count < 0 && errno == EINTR
    guard count >= 0 else { throw Failure.system("read", printable(descriptor.path)) }
    position += count
    return count
  }

  /// Returns the first bytes of the file. Does not move the position of the next read.
  func magic(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = max(0, pread(descriptor.raw, buffer.baseAddress, count, 0))
    }
  }

  /// The unpacked bytes of the file, by its first bytes: gzip, zstd or neither.
  func unpacked() throws -> any TraceBytes {
    let magic = magic(4)
    if magic.starts(with: [0x1F, 0x8B]) { return try GzipBytes(self) }
    if magic == [0x28, 0xB5, 0x2F, 0xFD] { return try ZstdBytes(self) }
    return self
  }
}

/// Packed bytes on their way to a decompressor.
struct PackedBytes {
  private let source: any TraceBytes
  private var buffer = [UInt8](repeating: 0, count: 64 << 10)
  private var position = 0
  private var end = 0
  private var isAtEnd = false

  init(_ source: any TraceBytes) { self.source = source }

  /// Whether all bytes have been taken. Reads on if the buffer is empty.
  mutating func isEmpty() throws -> Bool {
    if position == end, !isAtEnd {
      position = 0
      end = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
      isAtEnd = end == 0
    }
    return position == end
  }

  /// Passes the buffered bytes to `body`, which returns the number of bytes that it took.
  mutating func take(_ body: (UnsafeMutableRawBufferPointer) -> Int) {
    position += buffer.withUnsafeMutableBytes { body(UnsafeMutableRawBufferPointer(rebasing: $0[position..<end])) }
  }
}
