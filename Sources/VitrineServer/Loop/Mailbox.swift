import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Messages to the thread of a loop, in their order. The first of them makes a descriptor readable, which wakes the
/// loop.
///
/// Thread-safe.
final class Mailbox<Message: Sendable>: Sendable {
  /// Readable if there are messages.
  let descriptor: Int32
  private let wakeDescriptor: Int32
  private let messages = Mutex<[Message]>([])

  init() throws(ServerError) {
    var pair: [Int32] = [0, 0]
    guard pipe(&pair) == 0 else { throw .noResources(String(cString: strerror(errno))) }
    (descriptor, wakeDescriptor) = (pair[0], pair[1])
    _ = Socket.prepare(descriptor)
    _ = Socket.prepare(wakeDescriptor)
  }

  deinit {
    Socket.close(descriptor)
    Socket.close(wakeDescriptor)
  }

  func post(_ message: Message) {
    let isFirst = messages.withLock { messages in
      messages.append(message)
      return messages.count == 1
    }
    guard isFirst else { return }
    var byte: UInt8 = 1
    _ = write(wakeDescriptor, &byte, 1)
  }

  /// Returns the messages and removes them.
  func take() -> [Message] {
    messages.withLock { messages in
      defer { messages = [] }
      return messages
    }
  }

  /// Returns the messages and removes them, after the descriptor has become readable.
  func read(_ scratch: UnsafeMutableRawBufferPointer) -> [Message] {
    while case .bytes = Socket.read(descriptor, scratch) {}
    return take()
  }
}
