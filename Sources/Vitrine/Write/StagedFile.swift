/// A file that a body of unknown length grows in. The log does not name it, so until it is made a segment a crash leaves
/// an orphan, which the next opening removes.
///
/// The payload begins where the longest head would end; the record is laid before it once its head is known. Used by the
/// one writer that made it, under that writer's lock; `allocatedByteCount` and `isNamed` also under the commit lock.
final class StagedFile: @unchecked Sendable {
  let id: UInt64
  private let file: CachedFile
  let payloadOffset: Int
  /// Bytes that it has room for.
  var byteCount = 0
  /// Bytes of the disk that it takes, as the ledger counts them.
  var allocatedByteCount = 0
  /// Bytes of entries that have gone for it.
  var evictedByteCount = 0
  /// It is a segment by now, and goes the way of all segments.
  var isNamed = false

  init(id: UInt64, file: CachedFile, payloadOffset: Int) {
    self.id = id
    self.file = file
    self.payloadOffset = payloadOffset
    file.syncBeforeClosing(true)
  }

  /// To be used at once, and not to be kept: there may be many bodies.
  func openFile() throws(SystemError) -> any File { try file.open() }

  var name: String { SegmentHeader.fileName(id) }

  func attach(to segment: Segment, mapping: Mapping?, byteCount: Int, account: StorageAccount) {
    segment.attach(
      file: file, mapping: mapping, byteCount: byteCount, allocatedByteCount: allocatedByteCount, account: account,
      access: .readWrite)
  }

  /// Shows the payload, and everything before it.
  func map(payloadByteCount: Int) throws(SystemError) -> Mapping {
    let mapping = try openFile().map(byteCount: roundUp(payloadOffset + payloadByteCount, to: 4096), writable: false)
    mapping.guardPages(isWritable: false)
    return mapping
  }
}
