/// The segments that take records now, one for each stream at most, and the spares that come next.
struct WritableSegments {
  /// Streams whose records lie in segments, by their raw values.
  static let streams = StreamKind.allCases.filter { $0 != .spare }

  private var open: [Segment?] = Array(repeating: nil, count: streams.count)
  private(set) var spares: [Segment] = []

  /// The segment that takes the stream's records.
  subscript(stream: StreamKind) -> Segment? { open[Int(stream.rawValue)] }

  /// The open segments of all streams.
  var allOpen: [Segment] { open.compactMap { $0 } }
  var hasOpen: Bool { open.contains { $0 != nil } }

  /// Gives records of the stream to a segment from now on, which is no spare any more.
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

  /// A spare with room for a file of `byteCount` bytes.
  func spare(_ byteCount: Int) -> Segment? { spares.first { $0.byteCount >= byteCount } }
  func spareCount(_ byteCount: Int) -> Int { spares.count { $0.byteCount >= byteCount } }
}
