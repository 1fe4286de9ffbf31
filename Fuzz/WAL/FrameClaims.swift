import FuzzSupport

@testable import Vitrine

/// The claims about a frame with a valid checksum and any content: its decoded changes, encoded again, decode to the
/// same changes, and an index accepts or refuses them.
enum FrameClaims {
  static func check(changeCount: Int, _ content: [UInt8]) {
    let buffer = ByteBuffer()
    Frame.begin(buffer)
    buffer.append(content)
    Frame.finish(buffer, offset: 0, seed: 1, sequence: 1, durableSequence: 0, changeCount: changeCount)
    guard let header = Frame.parse(buffer.bytes, at: 0, seed: 1) else { refute("a frame just written is not read") }
    guard let changes = Frame.changes(buffer.bytes, at: 0, header) else { return }
    claim(changes.count == changeCount, "\(changes.count) changes of \(changeCount)")
    for case .put(let put) in changes {
      if let inline = put.inline { claim(inline.upperBound <= buffer.count, "a record past its frame") }
    }
    expectSame(changes, in: buffer)
    apply(changes)
  }

  private static func expectSame(_ changes: [Change], in frame: ByteBuffer) {
    for change in changes {
      let buffer = ByteBuffer()
      if case .put(let put) = change, let inline = put.inline {
        let record = UnsafeRawBufferPointer(rebasing: frame.bytes[inline])
        change.encode(into: buffer, record: (record, UnsafeRawBufferPointer(start: nil, count: 0)))
        var reader = ByteReader(buffer.bytes)
        guard case .put(var again)? = Change.decode(&reader) else { refute("a put just written is not read") }
        again.inline = put.inline
        claim(.put(again) == change, "a put is another once it is written")
      } else {
        change.encode(into: buffer)
        var reader = ByteReader(buffer.bytes)
        claim(Change.decode(&reader) == change, "a change is another once it is written")
      }
    }
  }

  private static func apply(_ changes: [Change]) {
    guard var index = CatalogWriter(identity: SmallStore.shared.identity) else { return }
    // Two segments exist already, so that puts have a place.
    for slot in 0..<2 {
      index.apply(
        [
          .segmentMade(slot: slot, id: UInt64(slot + 1), byteCount: 1 << 16),
          .segmentOpened(slot: slot, stream: .originals, firstSequence: 1),
        ], sequence: 1, isChecked: false)
    }
    index.apply(changes, sequence: 2, isChecked: false)
    claimCounts(index)
  }

  static func claimCounts(_ index: borrowing CatalogWriter) {
    var keys = 0
    for shard in 0..<KeyTable.shardCount { keys += index.catalog.keys.copy(shard: shard).count }
    let counted = (keys: index.keyCount, blobs: index.blobCount)
    claim(keys == counted.keys, "\(keys) keys, counted as \(counted.keys)")
    var blobs = 0
    for shard in 0..<ContentTable.shardCount { blobs += index.catalog.contents.count(shard: shard) }
    claim(blobs == counted.blobs, "\(blobs) blobs, counted as \(counted.blobs)")
  }
}
