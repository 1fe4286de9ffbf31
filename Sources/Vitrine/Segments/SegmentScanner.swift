/// Walks the records of a segment file without an index: for `repair`, for `dump`, and for opening a store whose
/// checkpoints are all damaged.
package struct SegmentScanner {
  package struct Found {
    package let offset: Int
    package let header: RecordHeader
    package let url: [UInt8]
    package let style: [UInt8]
  }

  /// A place that a scan cannot read as a record.
  package enum Damage: String, CaseIterable {
    case head = "the record's head fails its check"
    case page = "the disk does not deliver the page"
  }

  package let file: any File
  package let store: StoreID
  package let segment: UInt64

  package init(file: any File, store: StoreID, segment: UInt64) {
    self.file = file
    self.store = store
    self.segment = segment
  }

  /// The longest head of a record.
  private static let largestHead =
    RecordHeader.fixedByteCount + 32 + 8 * (RecordHeader.largestPayload / RecordHeader.pieceByteCount) + 65536 + 255
    + 65536

  /// Calls `body` with each record whose head is intact. Calls `damage` with each other place that begins like
  /// a record, and with each page that the disk does not deliver. No payload is checked. `byteCount`: the file's
  /// size. Returns the end of the last record.
  package func records(
    byteCount: Int, _ body: (Found) -> Void, damage: (_ offset: Int, _ what: Damage) -> Void = { _, _ in }
  ) -> Int {
    let window = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
    defer { window.deallocate() }
    var windowStart = 0
    var windowCount = 0
    var offset = SegmentHeader.byteCount
    var end = offset
    /// Reads on if `count` bytes from `offset` on are not in the window, and the file has more.
    func load(atLeast count: Int) -> Bool {
      let windowEnd = windowStart + windowCount
      if offset >= windowStart, offset + count <= windowEnd || windowEnd == byteCount { return false }
      windowStart = offset
      windowCount = fill(window, at: offset, byteCount: byteCount, damage)
      return true
    }
    while offset + RecordHeader.fixedByteCount <= byteCount {
      // An unwritten range or a hole of the file has no record.
      if load(atLeast: RecordHeader.fixedByteCount), isZero(UnsafeRawBufferPointer(rebasing: window[..<windowCount])) {
        offset += roundUp(windowCount, to: Unit.byteCount)
        continue
      }
      guard UnsafeRawPointer(window.baseAddress!).u32(offset - windowStart) == RecordHeader.magic else {
        offset += Unit.byteCount
        continue
      }
      _ = load(atLeast: SegmentScanner.largestHead)
      let rest = UnsafeRawBufferPointer(rebasing: window[(offset - windowStart)..<windowCount])
      // The head must lie in the window, the payload only in the file.
      guard let header = RecordHeader(head: rest, available: byteCount - offset),
        header.isIntact(in: rest, seed: RecordHeader.seed(store: store, segment: segment, offset: offset))
      else {
        damage(offset, .head)
        offset += Unit.byteCount
        continue
      }
      let view = RecordView(header: header, bytes: rest)
      body(Found(offset: offset, header: header, url: Array(view.url), style: Array(view.style)))
      offset += header.byteCount
      end = offset
    }
    return min(end, byteCount)
  }

  private static let page = 4096

  /// Returns the bytes filled. Pages that the disk does not deliver are reported as damage and read as zeros, in
  /// which no record begins.
  private func fill(
    _ window: UnsafeMutableRawBufferPointer, at offset: Int, byteCount: Int, _ damage: (Int, Damage) -> Void
  ) -> Int {
    let count = min(window.count, byteCount - offset)
    let whole = UnsafeMutableRawBufferPointer(rebasing: window[..<count])
    if (try? file.read(into: whole, at: offset)) == count { return count }
    var start = 0
    while start < count {
      let end = min(count, start + SegmentScanner.page - (offset + start) % SegmentScanner.page)
      let part = UnsafeMutableRawBufferPointer(rebasing: window[start..<end])
      part.initializeMemory(as: UInt8.self, repeating: 0)
      if (try? file.read(into: part, at: offset + start)) != part.count { damage(offset + start, .page) }
      start = end
    }
    return count
  }
}
