/// The open segments, at most one for each stream, the spares to open next, and the number of the next record.
struct WritableSegments {
  /// The streams with records in segments, in order of their raw values.
  static let streams = StreamKind.allCases.filter { $0 != .spare }

  private var open: [Segment?] = Array(repeating: nil, count: streams.count)
  private(set) var spares: [Segment] = []
  private(set) var nextRecord: UInt64
  /// The size of segments that suits the content and the rate of puts.
  var growth = CacheFormat.smallestSegment

  init(nextRecord: UInt64) { self.nextRecord = nextRecord }

  /// Returns a number for a record; none is used twice.
  mutating func takeRecordNumber() -> UInt64 {
    defer { nextRecord += 1 }
    return nextRecord
  }

  subscript(stream: StreamKind) -> Segment? { open[Int(stream.rawValue)] }

  var allOpen: [Segment] { open.compactMap { $0 } }
  var hasOpen: Bool { open.contains { $0 != nil } }

  /// Makes a segment, usually a spare, the open one of the stream.
  mutating func open(_ segment: Segment, for stream: StreamKind) {
    removeSpare(segment)
    open[Int(stream.rawValue)] = segment
  }

  mutating func close(_ stream: StreamKind) { open[Int(stream.rawValue)] = nil }

  mutating func closeAll() {
    for index in open.indices { open[index] = nil }
  }

  // MARK: Spares

  mutating func addSpare(_ segment: Segment) { spares.append(segment) }
  mutating func removeSpare(_ segment: Segment) { spares.removeAll { $0 === segment } }
  mutating func removeAllSpares() { spares = [] }
  func isSpare(_ segment: Segment) -> Bool { spares.contains { $0 === segment } }
}

extension CommitState {
  /// A spare of at least `byteCount` bytes.
  func spare(ofAtLeast byteCount: Int) -> Segment? {
    writable.spares.first { index.segments[$0].byteCount >= byteCount }
  }

  /// Bytes of copies that find room in the open segment of a stream, or in a spare. Counts the larger of the two,
  /// because a record cannot span both.
  func roomForCopies(_ stream: StreamKind) -> Int {
    let spare = writable.spares.map { index.segments[$0].byteCount - SegmentHeader.byteCount }.max() ?? 0
    return max(spare, writable[stream].map { index.segments[$0].byteCount - index.segments[$0].fill.tail } ?? 0)
  }

  /// Spares of the ordinary size. A larger one takes no ordinary records: as an open segment it would take room that
  /// batches and large records need.
  var ordinarySpares: [Segment] {
    let ordinary = segmentByteCount
    return writable.spares.filter { index.segments[$0].byteCount == ordinary }
  }

  /// A spare to open for a record of `byteCount` bytes, which fits a segment of the ordinary size. The last spare of
  /// that size is kept for copies. Smaller spares, made before segments grew, go first.
  func openableSpare(ofAtLeast byteCount: Int) -> Segment? {
    let ordinary = segmentByteCount
    let small = writable.spares.first {
      index.segments[$0].byteCount < ordinary && index.segments[$0].byteCount >= byteCount
    }
    let spares = ordinarySpares
    if let small, !spares.isEmpty { return small }
    return spares.count > 1 ? spares.first : nil
  }
}
