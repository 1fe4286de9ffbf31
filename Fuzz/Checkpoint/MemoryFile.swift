import Vitrine

/// As much of a file as a checkpoint needs. Used by one thread.
final class MemoryFile: File, @unchecked Sendable {
  private var bytes: [UInt8] = []

  var path: String { "memory" }
  var announcesStores: Bool { false }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
    let end = min(bytes.count, offset + buffer.count)
    guard offset < end else { return 0 }
    buffer.copyBytes(from: bytes[offset..<end])
    return end - offset
  }

  func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, at offset: Int) {
    let end = offset + first.count + second.count
    if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
    bytes.replaceSubrange(offset..<end, with: Array(first) + Array(second))
  }

  func allocate(byteCount: Int) {}
  func truncate(to byteCount: Int) {}
  func sync() {}
  func status() -> FileStatus { FileStatus(byteCount: bytes.count, allocatedByteCount: bytes.count) }
  func map(byteCount: Int, writable: Bool) throws(SystemError) -> Mapping {
    throw SystemError(code: 19, operation: "map", path: path)
  }
  func tryLock() -> Bool { true }
  func willStore(_ range: Range<Int>) {}
  func didStore(_ range: Range<Int>) {}
}
