@testable import Vitrine

/// The part of a file that readers and the writer of checkpoints need. Used by one thread.
package final class MemoryFile: File, @unchecked Sendable {
  package private(set) var bytes: [UInt8]

  package init(_ bytes: [UInt8] = []) { self.bytes = bytes }

  package var path: String { "memory" }
  package var announcesStores: Bool { false }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
    claim(offset >= 0, "a read at \(offset)")
    guard offset < bytes.count else { return 0 }
    let count = min(buffer.count, bytes.count - offset)
    buffer.copyBytes(from: bytes[offset..<offset + count])
    return count
  }

  package func write(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, at offset: Int, from site: CallSite
  ) {
    let end = offset + first.count + second.count
    if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
    bytes.replaceSubrange(offset..<end, with: Array(first) + Array(second))
  }

  package func allocate(byteCount: Int, from site: CallSite) {}
  package func truncate(to byteCount: Int, from site: CallSite) {}
  package func sync(from site: CallSite) {}
  package func status() -> FileStatus { FileStatus(byteCount: bytes.count, allocatedByteCount: bytes.count) }
  package func map(byteCount: Int, writable: Bool) throws(SystemError) -> Mapping {
    throw SystemError(code: 19, operation: "map", path: path)
  }
  package func tryLock() -> Bool { true }
  package func willStore(_ range: Range<Int>) {}
  package func didStore(_ range: Range<Int>, from site: CallSite) {}
}
