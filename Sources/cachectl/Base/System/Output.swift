import CacheCtlKit
import Glibc

/// Buffered output to stdout or to a file. Used from one thread.
package final class Output {
  private let descriptor: CInt
  private let name: String
  private var buffer: [UInt8] = []
  private static let bufferByteCount = 1 << 16

  package init(descriptor: CInt, name: String = "stdout") {
    self.descriptor = descriptor
    self.name = name
  }

  package var isTerminal: Bool { isatty(descriptor) == 1 }

  /// Buffers until the buffer is full, or until ``flush()``.
  package func write(_ text: String) throws {
    buffer += text.utf8
    if buffer.count >= Output.bufferByteCount { try flush() }
  }

  /// Writes before it returns, in one call if the system takes it whole.
  package func writeNow(_ text: String) throws {
    buffer += text.utf8
    try flush()
  }

  package func write(_ bytes: RawSpan) throws {
    try flush()
    try bytes.withUnsafeBytes { try writeAll($0) }
  }

  package func write(_ json: JSON) throws { try write(json.document) }

  package func flush() throws {
    guard !buffer.isEmpty else { return }
    let bytes = buffer
    buffer.removeAll(keepingCapacity: true)
    try bytes.withUnsafeBytes { try writeAll($0) }
  }

  private func writeAll(_ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EPIPE {
        throw OutputClosed()
      } else if errno == EAGAIN {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&waiting, 1, -1)
      } else if errno == EFAULT {
        // Mapped bytes whose file was cut short meanwhile. Zeros replace them when they are read, and the store then
        // counts the entry as damaged.
        let readable = Array(rest.prefix(Output.bufferByteCount))
        try readable.withUnsafeBytes { try writeAll($0) }
        rest = rest.dropFirst(readable.count)
      } else if errno != EINTR {
        throw Failure.system("write", name)
      }
    }
  }
}
