/// A file in which a body of unknown length grows. The log does not name it before it becomes a segment. Until then a
/// crash leaves an orphan, which the next opening removes.
///
/// The payload begins where the longest possible head would end. The head is written in front of it once the length of
/// the payload is known.
final class StagedFile: Sendable {
  let id: UInt64
  private let file: CachedFile
  let payloadOffset: Int

  init(id: UInt64, file: CachedFile, payloadOffset: Int) {
    self.id = id
    self.file = file
    self.payloadOffset = payloadOffset
    file.syncBeforeClosing(true)
  }

  /// Opens the file for immediate use. The result must not be kept, because there may be many bodies.
  func openFile() throws(SystemError) -> any File { try file.open() }

  var name: String { SegmentHeader.fileName(id) }

  func attach(
    to segment: Segment, _ accounts: borrowing SegmentAccounts, mapping: Mapping?, byteCount: Int,
    allocatedByteCount: Int, account: StorageAccount
  ) {
    accounts.attach(
      segment, file: file, mapping: mapping, byteCount: byteCount, allocatedByteCount: allocatedByteCount,
      account: account,
      access: .readWrite)
  }

  /// Maps the file up to the end of the payload.
  func map(payloadByteCount: Int) throws(SystemError) -> Mapping {
    let mapping = try openFile().map(byteCount: roundUp(payloadOffset + payloadByteCount, to: 4096), writable: false)
    mapping.guardPages(isWritable: false)
    return mapping
  }
}

/// A staged file and the facts about it that change.
struct StagedRoom {
  let file: StagedFile
  /// Bytes for which the file has room.
  var byteCount = 0
  /// Bytes of the disk that the file takes, as the ledger counts them.
  var allocatedByteCount = 0
  /// Bytes of entries that were evicted for the file.
  var evictedByteCount = 0
  /// Whether the file is a segment by now, and is retired like any segment.
  var isNamed = false
}
