import Vitrine

extension DiskOperation {
  /// The changes in the frame of the log that it put in place; empty for all else.
  var logged: [Vitrine.Change] {
    switch change {
    case .write(_, _, let bytes), .store(_, _, let bytes):
      // A file of the log begins with what tells of it alone.
      guard path.contains("/wal/"), byteRange?.lowerBound != 0 else { return [] }
      return bytes.withUnsafeBytes { bytes in
        guard Frame.byteCount(bytes) == bytes.count else { return [] }
        var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[Frame.headerByteCount...]))
        var changes: [Vitrine.Change] = []
        while let change = Vitrine.Change.decode(&reader) { changes.append(change) }
        return changes
      }
    default:
      return []
    }
  }
}
