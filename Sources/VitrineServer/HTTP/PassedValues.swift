import Vitrine

/// The values whose files a client on this machine has mapped. Each is held, and counts as pinned, until the client
/// releases it or the connection ends.
///
/// Used by one thread.
final class PassedValues {
  /// A value that the client may have mapped.
  private struct Held {
    let segment: SegmentHold
    let share: MemoryShare
  }

  private var held: [UInt64: Held] = [:]
  private var lastHandle: UInt64 = 0
  private let memory: MemoryBudget
  private let hasReceivedAll: () -> Bool

  /// Smaller values are sent: a copy of their bytes costs less than a mapping.
  static let leastByteCount = 16 << 10
  /// Further values are sent, so that a client that releases none takes bounded memory.
  private static let mostValues = 4096
  /// The memory of a held value.
  private static let heldByteCount = 128

  /// A value for a client to map.
  struct Passed {
    let descriptor: OwnDescriptor
    /// The field of the answer with the handle of the value, its offset in the file, and its number of bytes.
    let field: String
  }

  /// `hasReceivedAll`: whether the client has received all bytes that were sent to it. Until then, the system counts a
  /// passed descriptor against the limit of the server's user. So a client that does not receive gets no second one.
  init(_ memory: MemoryBudget, hasReceivedAll: @escaping () -> Bool) {
    self.memory = memory
    self.hasReceivedAll = hasReceivedAll
  }

  var isEmpty: Bool { held.isEmpty }

  /// Opens the file of a value for the client. Returns nil if the bytes must be sent: the value is small, stored
  /// compressed, or copied because Blobs hold an eighth of the budget; the client holds too many values or has not
  /// received all answers; the memory budget is used up; or the file cannot be reopened.
  func pass(_ blob: Blob) -> Passed? {
    guard blob.byteCount >= PassedValues.leastByteCount, held.count < PassedValues.mostValues, hasReceivedAll(),
      let share = memory.take(PassedValues.heldByteCount),
      let (descriptor, segment, offset) = blob.withFileRange({ range, segment in
        OwnDescriptor(readingFileOf: range.descriptor).map { ($0, segment, range.offset) }
      }) ?? nil
    else { return nil }
    lastHandle += 1
    held[lastHandle] = Held(segment: segment, share: share)
    return Passed(
      descriptor: descriptor, field: "\(ClientFields.place): \(lastHandle) \(offset) \(blob.byteCount)\r\n")
  }

  /// Releases values by their handles, separated by blanks. Ignores unknown handles. Returns false at the first word
  /// that is not a number; the handles before it are released.
  func release(_ handles: String) -> Bool {
    for word in handles.split(separator: " ") {
      guard let handle = UInt64(word) else { return false }
      held[handle] = nil
    }
    return true
  }
}
