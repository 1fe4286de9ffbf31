/// What compaction sees of a segment that takes no more records.
struct SegmentLoad: Sendable {
  let slot: Int
  let stream: StreamKind
  /// Bytes that have to be copied: of records that are needed, and of heads that are bound to a payload.
  let liveByteCount: Int
  /// Bytes of it that were written.
  let byteCount: Int

  /// What copying gains.
  var deadByteCount: Int { max(0, byteCount - liveByteCount) }

  /// Whether `self` gives more room for each byte that has to be copied.
  func isSparser(than other: SegmentLoad) -> Bool {
    liveByteCount * other.byteCount < other.liveByteCount * byteCount
  }
}

/// Which segments to take apart next, and where their records go.
struct CompactionPlan {
  let slots: [Int]
  let target: StreamKind

  /// The sparsest segments of one class that fit into the room there is for copies of that class. Greedy: with what is
  /// needed spread at random, cleaning the sparsest first copies least (Rosenblum and Ousterhout, 1992). Nil when none of
  /// `loads` fits.
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
  /// Where compaction puts what it copies from a segment of this stream.
  var copies: StreamKind {
    switch self {
    case .bitmaps, .mainBitmaps: .mainBitmaps
    case .originals, .mainOriginals, .single, .spare: .mainOriginals
    }
  }
}
