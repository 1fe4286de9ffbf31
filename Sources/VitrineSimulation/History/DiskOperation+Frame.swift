import Vitrine

extension DiskOperation {
  /// The changes in the log frame that it stored; empty for all other operations.
  var logged: [Vitrine.Change] {
    switch change {
    case .write(_, _, let bytes), .store(_, _, let bytes):
      // A log file begins with its own header.
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
