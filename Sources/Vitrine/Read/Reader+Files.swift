// The file of a borrowed value.
extension Reader {
  /// Opens the file in which borrowed bytes lie, for reading only. Returns nil if they are a copy, or if the file cannot
  /// be opened now. The segment is pinned by the borrow, so its file still has its name.
  func file(of borrow: Borrow) -> (file: any File, offset: Int)? {
    guard !borrow.isCopied, let segment = catalog.segments.segment(catalog.segments.slot(of: borrow.pin)),
      let storage = segment.storage
    else { return nil }
    let offset: Int
    if borrow.count == 0 {
      offset = 0
    } else if let found = storage.fileOffset(of: borrow.bytes) {
      offset = found
    } else {
      return nil
    }
    return (try? context.folders.segments.openFile(segment.fileName, .readOnly)).map { ($0, offset) }
  }
}
