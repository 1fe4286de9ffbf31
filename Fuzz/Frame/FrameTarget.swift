import Vitrine

/// Feeds arbitrary bytes to the parsers of the log, as they are and as the content of a frame whose checksum is right;
/// then makes the changes that come out of it in an index, as a recovery would.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneFrame(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  let bytes = UnsafeRawBufferPointer(start: start, count: byteCount)
  _ = WALFileHeader(bytes)
  _ = Frame.parse(bytes, at: 0, seed: 1)
  guard let count = bytes.first else { return 0 }
  let buffer = ByteBuffer()
  Frame.begin(buffer)
  buffer.append(UnsafeRawBufferPointer(rebasing: bytes[1...]))
  Frame.finish(buffer, offset: 0, seed: 1, sequence: 1, durableSequence: 0, changeCount: Int(count))
  guard let header = Frame.parse(buffer.bytes, at: 0, seed: 1) else {
    preconditionFailure("a frame just written is not read")
  }
  guard let changes = Frame.changes(buffer.bytes, at: 0, header) else { return 0 }
  precondition(changes.count == Int(count))
  for case .put(let put) in changes {
    if let inline = put.inline { precondition(inline.upperBound <= buffer.count) }
  }
  expectSame(changes, in: buffer)
  apply(changes)
  return 0
}

/// What was decoded, encoded again, decodes to the same.
private func expectSame(_ changes: [Change], in frame: ByteBuffer) {
  for change in changes {
    let buffer = ByteBuffer()
    if case .put(let put) = change, let inline = put.inline {
      let record = UnsafeRawBufferPointer(rebasing: frame.bytes[inline])
      change.encode(into: buffer, record: (record, UnsafeRawBufferPointer(start: nil, count: 0)))
      var reader = ByteReader(buffer.bytes)
      guard case .put(var again)? = Change.decode(&reader) else { preconditionFailure("not decoded") }
      again.inline = put.inline
      precondition(.put(again) == change)
    } else {
      change.encode(into: buffer)
      var reader = ByteReader(buffer.bytes)
      precondition(Change.decode(&reader) == change)
    }
  }
}

private func apply(_ changes: [Change]) {
  guard let catalog = Catalog(identity: identity) else { return }
  // Two segments are there already, so that puts have somewhere to go.
  for slot in 0..<2 {
    catalog.apply(
      [
        .segmentMade(slot: slot, id: UInt64(slot + 1), byteCount: 1 << 16),
        .segmentOpened(slot: slot, stream: .originals, firstSequence: 1),
      ], sequence: 1, isChecked: false)
  }
  catalog.apply(changes, sequence: 2, isChecked: false)
  var keys = 0
  for shard in 0..<KeyTable.shardCount { keys += catalog.keys.copy(shard: shard).count }
  precondition(keys == catalog.keyCount)
}

private let identity = StoreIdentity(
  store: StoreID(low: 1, high: 2), secret: [UInt8](repeating: 3, count: 192), byteBudget: 1 << 20,
  entryBudget: 0,
  segmentByteCount: 0, walFileByteCount: 1 << 15, durability: .buffered, compressionLevel: 1)
