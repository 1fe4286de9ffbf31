import Vitrine

extension DiskOperation {
  /// The changes in the log frame that it stored; empty for all other operations.
  var logged: [Vitrine.Change] { loggedBytes.flatMap(DiskOperation.changes) ?? [] }

  /// Bytes stored in a log file behind its header.
  private var loggedBytes: [UInt8]? {
    switch change {
    case .write(_, _, let bytes), .store(_, _, let bytes):
      // A log file begins with its own header.
      path.contains("/wal/") && byteRange?.lowerBound != 0 ? bytes : nil
    default: nil
    }
  }

  /// The changes of a frame; nil if the bytes are not exactly one.
  private static func changes(inFrame bytes: [UInt8]) -> [Vitrine.Change]? {
    bytes.withUnsafeBytes { bytes in
      guard Frame.byteCount(bytes) == bytes.count else { return nil }
      var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[Frame.headerByteCount...]))
      var changes: [Vitrine.Change] = []
      while let change = Vitrine.Change.decode(&reader) { changes.append(change) }
      return changes
    }
  }

  /// The changes in the log frames that consecutive operations stored. A frame may take several writes.
  static func logged(by operations: ArraySlice<DiskOperation>) -> [Vitrine.Change] {
    var found: [Vitrine.Change] = []
    var begun: (path: String, end: Int, bytes: [UInt8]) = ("", 0, [])
    for operation in operations {
      guard let bytes = operation.loggedBytes, let range = operation.byteRange else { continue }
      let goesOn = operation.path == begun.path && range.lowerBound == begun.end
      begun = (operation.path, range.upperBound, goesOn ? begun.bytes + bytes : bytes)
      guard let changes = changes(inFrame: begun.bytes) else { continue }
      found += changes
      begun.bytes = []
    }
    return found
  }
}
