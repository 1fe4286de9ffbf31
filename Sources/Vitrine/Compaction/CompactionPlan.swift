/// The live and dead bytes of a segment that takes no more records, as compaction counts them.
struct SegmentLoad: Sendable {
  let slot: Int
  let stream: StreamKind
  /// Bytes to copy: live records, and heads that are bound to a payload.
  let liveByteCount: Int
  /// Bytes written to the segment.
  let byteCount: Int

  /// The bytes that copying gains.
  var deadByteCount: Int { max(0, byteCount - liveByteCount) }

  /// Returns whether `self` frees more space for each copied byte.
  func isSparser(than other: SegmentLoad) -> Bool {
    liveByteCount * other.byteCount < other.liveByteCount * byteCount
  }
}

/// The segments to compact next, and the stream of the copies.
struct CompactionPlan {
  let slots: [Int]
  let target: StreamKind

  /// Chooses the sparsest segments whose copies go to one stream and fit into the room of that stream.
  /// Greedy: with live records spread at random, cleaning the sparsest first copies least (Rosenblum and
  /// Ousterhout, 1992). Nil if none of `loads` fits.
  init?(_ loads: [SegmentLoad], room: (StreamKind) -> Int) {
    let loads = loads.sorted { $0.isSparser(than: $1) }
    guard let first = loads.first(where: { $0.liveByteCount <= room($0.stream.copies) }) else { return nil }
    target = first.stream.copies
    var left = room(target)
    var slots: [Int] = []
    for load in loads where load.stream.copies == target && load.liveByteCount <= left {
      left -= load.liveByteCount
      slots.append(load.slot)
    }
    self.slots = slots
  }
}

extension StreamKind {
  /// The stream for compaction's copies from a segment of this stream.
  var copies: StreamKind {
    switch self {
    case .bitmaps, .mainBitmaps, .returnedBitmaps: .mainBitmaps
    case .originals, .mainOriginals, .returnedOriginals, .single, .spare: .mainOriginals
    }
  }
}
