import Vitrine

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A queue of answers. Values are sent from the store's memory, which the queue retains, and are never copied.
///
/// Used by one thread.
final class ResponseQueue {
  private enum Part {
    case text(byteCount: Int)
    /// Text whose first byte passes a descriptor. It is the first part of its message.
    case passing(OwnDescriptor, byteCount: Int)
    case value(Blob, Range<Int>, MemoryShare?)
    case held(HeldBytes, MemoryShare)

    var byteCount: Int {
      switch self {
      case .text(let byteCount), .passing(_, let byteCount): byteCount
      case .value(_, let range, _): range.count
      case .held(let held, _): held.bytes.count
      }
    }
  }

  /// The bytes of all text parts, one after another.
  private var text: [UInt8] = []
  private var parts: [Part] = []
  /// The number of parts that were sent whole.
  private var sentParts = 0
  /// The number of bytes of `text` before the first part that was not sent whole.
  private var sentText = 0
  /// The number of bytes of that part that were sent.
  private var sentBytes = 0
  /// The number of bytes of values that were not sent.
  private var valueByteCount = 0

  /// Limits of the queue. A caller stops when ``isFull``, and goes on when the queue is sent. One answer may exceed
  /// them.
  private static let mostParts = 128
  private static let mostTextBytes = 64 << 10
  private static let mostValueBytes = 8 << 20
  private static let mostVectors = 64

  var isEmpty: Bool { parts.isEmpty }
  var isFull: Bool {
    parts.count >= ResponseQueue.mostParts || text.count >= ResponseQueue.mostTextBytes
      || valueByteCount >= ResponseQueue.mostValueBytes
  }

  // MARK: Appending

  func append(_ string: StaticString) {
    append(UnsafeRawBufferPointer(start: string.utf8Start, count: string.utf8CodeUnitCount))
  }

  func append(_ string: String) {
    text.append(contentsOf: string.utf8)
    note(textByteCount: string.utf8.count)
  }

  func append(_ bytes: UnsafeRawBufferPointer) {
    text.append(contentsOf: bytes)
    note(textByteCount: bytes.count)
  }

  func append(byte: UInt8) {
    text.append(byte)
    note(textByteCount: 1)
  }

  /// Appends a number in decimal digits.
  func append(number: UInt64) {
    withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { digits in
      var (start, left) = (20, number)
      repeat {
        start -= 1
        digits[start] = UInt8(0x30 + left % 10)
        left /= 10
      } while left > 0
      append(UnsafeRawBufferPointer(rebasing: digits[start...]))
    }
  }

  func append(number: Int) { append(number: UInt64(max(0, number))) }

  /// Appends a value, or a part of it, and holds its share of memory until the bytes are sent.
  func append(_ blob: Blob, _ share: MemoryShare? = nil, part: Range<Int>? = nil) {
    let range = part ?? 0..<blob.byteCount
    guard !range.isEmpty else { return }
    parts.append(.value(blob, range, share))
    valueByteCount += range.count
  }

  /// Appends bytes, and holds their share of memory until they are sent.
  func append(_ held: HeldBytes, _ share: MemoryShare) {
    guard !held.bytes.isEmpty else { return }
    parts.append(.held(held, share))
    valueByteCount += held.bytes.count
  }

  /// Passes a descriptor to the client with the text that is appended next. The queue closes it afterwards. Only for a
  /// Unix socket.
  func pass(_ descriptor: OwnDescriptor) { parts.append(.passing(descriptor, byteCount: 0)) }

  private func note(textByteCount count: Int) {
    guard count > 0 else { return }
    switch parts.count > sentParts ? parts.last : nil {
    case .text(let before)?: parts[parts.count - 1] = .text(byteCount: before + count)
    case .passing(let descriptor, let before)?:
      parts[parts.count - 1] = .passing(descriptor, byteCount: before + count)
    default: parts.append(.text(byteCount: count))
    }
  }

  // MARK: Sending

  enum Sending: Equatable {
    case done
    /// The socket accepts no more bytes at present.
    case blocked
    case failed
  }

  /// Sends until the queue is empty or the socket blocks. Calls `count` with the bytes of each system call.
  func send(to socket: Int32, _ count: (Int) -> Void) -> Sending {
    while sentParts < parts.count {
      let sent = sendOnce(to: socket)
      if sent < 0 {
        if errno == EINTR { continue }
        return errno == EAGAIN || errno == EWOULDBLOCK ? .blocked : .failed
      }
      count(sent)
      advance(by: sent)
    }
    removeAll()
    return .done
  }

  /// Empties the queue and returns its bytes, for callers without a socket, such as tests.
  func takeBytes() -> [UInt8] {
    var bytes: [UInt8] = []
    var offset = 0
    for part in parts {
      switch part {
      case .text(let count), .passing(_, let count):
        bytes += text[offset..<offset + count]
        offset += count
      case .value(let blob, let range, _): blob.withBytes { $0.withUnsafeBytes { bytes += $0[range] } }
      case .held(let held, _): bytes += held.bytes
      }
    }
    removeAll()
    return bytes
  }

  private func sendOnce(to socket: Int32) -> Int {
    withUnsafeTemporaryAllocation(of: iovec.self, capacity: ResponseQueue.mostVectors) { vectors in
      text.withUnsafeMutableBytes { text in
        var (count, offset) = (0, sentText)
        var passed: OwnDescriptor?
        collecting: for part in parts[sentParts...].prefix(ResponseQueue.mostVectors) {
          // The queue retains the Blob, so its bytes stay valid beyond the closure.
          switch part {
          case .text(let byteCount):
            vectors[count] = iovec(iov_base: text.baseAddress! + offset, iov_len: byteCount)
            offset += byteCount
          case .passing(let descriptor, let byteCount):
            if count > 0 { break collecting }
            if sentBytes == 0 { passed = descriptor }
            vectors[count] = iovec(iov_base: text.baseAddress! + offset, iov_len: byteCount)
            offset += byteCount
          case .value(let blob, let range, _):
            let start = blob.withBytes { $0.withUnsafeBytes { $0.baseAddress! } } + range.lowerBound
            vectors[count] = iovec(iov_base: UnsafeMutableRawPointer(mutating: start), iov_len: range.count)
          case .held(let held, _):
            vectors[count] = iovec(
              iov_base: UnsafeMutableRawPointer(mutating: held.bytes.baseAddress!), iov_len: held.bytes.count)
          }
          count += 1
        }
        vectors[0].iov_base += sentBytes
        vectors[0].iov_len -= sentBytes
        if let passed {
          return Socket.send(UnsafeBufferPointer(rebasing: vectors[..<count]), passing: passed, to: socket)
        }
        var message = msghdr()
        message.msg_iov = vectors.baseAddress
        message.msg_iovlen = numericCast(count)
        return sendmsg(socket, &message, Socket.noSignal)
      }
    }
  }

  private func advance(by count: Int) {
    var left = count
    while left > 0 {
      let part = parts[sentParts]
      let rest = part.byteCount - sentBytes
      if left < rest {
        sentBytes += left
        return
      }
      left -= rest
      sentBytes = 0
      switch part {
      case .text(let byteCount): sentText += byteCount
      case .passing(_, let byteCount):
        sentText += byteCount
        // Closes the descriptor.
        parts[sentParts] = .text(byteCount: 0)
      case .value, .held:
        valueByteCount -= part.byteCount
        // Releases the value and its share of memory.
        parts[sentParts] = .text(byteCount: 0)
      }
      sentParts += 1
    }
  }

  private func removeAll() {
    text.removeAll(keepingCapacity: text.capacity <= 2 * ResponseQueue.mostTextBytes)
    parts.removeAll(keepingCapacity: true)
    (sentParts, sentText, sentBytes, valueByteCount) = (0, 0, 0, 0)
  }
}
