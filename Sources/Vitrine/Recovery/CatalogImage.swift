/// The catalog as a checkpoint stores it, and as an opening reads it. In a store of the first format, the checkpoint is
/// written whole under the commit lock. In a store with pieces, the body of a root is taken under the lock and written
/// later.
extension CatalogWriter {
  /// Before keys are added and before a segment is made, the checkpoint files get room for this many more segments than
  /// exist. So writing a checkpoint never needs more room, not even when log and budget are full and the checkpoint is
  /// written to free space.
  package static let spareSegments = 8

  /// Returns the length of a checkpoint file for the catalog, `more` keys and `moreSegments` segments. Each of these
  /// keys may be the fourth that uses a blob; from four keys on, the count of a blob takes an entry of its own.
  package func checkpointByteCount(moreKeys more: Int = 0, moreSegments: Int = CatalogWriter.spareSegments) -> Int {
    CheckpointHeader.fileByteCount(
      keys: keyCount + more, blobs: blobCount + more, segments: segments.all.count + moreSegments,
      largeCounts: contents.largeCountCount + more)
  }

  /// Writes the body and fills the counts of `header`. O(entries), one write for each 64 KiB. `mark` returns the
  /// offset below which a segment's records are vouched for.
  package func write(
    to file: any File, header: inout CheckpointHeader, mark: (Segment) -> Int
  ) throws(SystemError) {
    let writer = CheckpointBodyWriter(file: file, store: header.identity.store, generation: header.generation)
    header.segmentCount = writeSegments(mark, writer.append)
    var keyCount = 0
    for shard in 0..<KeyTable.shardCount {
      // Only words are copied under the shard's lock, so gets do not wait for writes.
      let entries = keys.copy(shard: shard)
      keyCount += entries.count
      writer.append(UInt64(entries.count))
      for entry in entries {
        writer.append(entry.kept.word0)
        writer.append(entry.kept.word1)
      }
    }
    var blobCount = 0
    for shard in 0..<ContentTable.shardCount {
      let words = contents.copy(shard: shard)
      blobCount += words.count
      writer.append(UInt64(words.count))
      for word in words { writer.append(word) }
    }
    for (location, count) in contents.largeCounts {
      writer.append(location.bits)
      writer.append(UInt64(count))
    }
    header.useTimeCount = writeUseTimes(writer.append)
    try writer.finish()
    header.keyCount = keyCount
    header.blobCount = blobCount
    header.largeCountCount = contents.largeCountCount
    header.bodyWordCount = writer.wordCount
    noteCounts(in: &header)
  }

  /// Appends the accounts of the segments. Returns the number of segments.
  private func writeSegments(_ mark: (Segment) -> Int, _ append: (UInt64) -> Void) -> Int {
    var segmentCount = 0
    for case let segment? in segments.all where segments[segment].state != .retired {
      segmentCount += 1
      append(UInt64(segment.slot) | UInt64(segments[segment].stream.rawValue) << 32)
      append(segment.id)
      append(UInt64(segments[segment].byteCount))
      append(segments[segment].state.code)
      append(UInt64(segments[segment].fill.tail))
      append(UInt64(segments[segment].live.units))
      append(UInt64(segments[segment].live.count))
      append(UInt64(mark(segment)))
      append(catalog.segments.firstSequence(segment.slot))
    }
    return segmentCount
  }

  /// Appends the readings of the recency clock. Returns their number.
  private func writeUseTimes(_ append: (UInt64) -> Void) -> Int {
    let readings = catalog.useTimes.readings(at: keys.clock)
    for reading in readings {
      append(UInt64(reading.stamp))
      append(UInt64(bitPattern: reading.time))
    }
    return readings.count
  }

  private func noteCounts(in header: inout CheckpointHeader) {
    header.logicalByteCount = max(0, logicalByteCount)
    header.recency = keys.clock.count
    header.nextSegment = nextSegment
    header.entrySums = sums.saved.map {
      CheckpointHeader.EntrySum(
        group: $0.group.number, entryCount: max(0, $0.sum.entryCount), byteCount: max(0, $0.sum.byteCount))
    }
  }

  /// The words of each shard as a part would have it.
  package func shardWords() -> [Int] {
    var words = (0..<KeyTable.shardCount).map { 2 * keys.count(shard: $0) + contents.count(shard: $0) }
    // The shards of the few payloads with wide counts are not known, so each shard counts its share of them.
    let wide = contents.largeCountCount
    if wide > 0 { for shard in words.indices { words[shard] += wide / words.count + 1 } }
    return words
  }

  /// The words of the facts that were noted since the last draft. They may fold to fewer.
  package var journalWords: Int { keyWriter.journal.wordCount + contentWriter.journal.wordCount }

  /// Begins to note the changes of the tables, from a state that the pieces have.
  package mutating func beginJournal() {
    keyWriter.journal.isNoting = true
    contentWriter.journal.isNoting = true
  }

  /// Takes the body of a root without its pieces, and fills the counts of `header`. O(segments).
  package func rootBody(header: inout CheckpointHeader, mark: (Segment) -> Int) -> RootBody {
    var body = RootBody()
    header.segmentCount = writeSegments(mark) { body.segments.append($0) }
    header.useTimeCount = writeUseTimes { body.useTimes.append($0) }
    header.keyCount = 0
    header.blobCount = 0
    for shard in 0..<KeyTable.shardCount {
      header.keyCount += keys.count(shard: shard)
      header.blobCount += contents.count(shard: shard)
    }
    header.largeCountCount = contents.largeCountCount
    noteCounts(in: &header)
    return body
  }

  /// Reads the catalog of a checkpoint; nil if any of it is damaged or contradicts itself. If the file is too short
  /// for the counts in its header, nothing is allocated.
  /// The pieces of a root are in `area`. `clock` is the recency clock to begin with; that of the checkpoint if nil.
  package static func read(
    from file: any File, header: CheckpointHeader, area: (any File)? = nil, clock: UInt64? = nil
  ) -> CatalogWriter? {
    guard let byteCount = try? file.status().byteCount, header.leastFileByteCount <= byteCount else { return nil }
    guard var writer = CatalogWriter(identity: header.identity) else { return nil }
    let body = CheckpointBodyReader(file: file, header: header)
    guard writer.fill(body, header, area, clock ?? header.recency) else { return nil }
    return writer
  }

  private mutating func fill(
    _ body: CheckpointBodyReader, _ header: CheckpointHeader, _ area: (any File)?, _ clock: UInt64
  ) -> Bool {
    guard readSegments(body, header) else { return false }
    var counted = EntrySums.Counts(of: header.identity.styleBudgets.tags)
    let isFilled =
      header.isRoot ? fillFromPieces(body, header, area, clock, &counted) : fillFromBody(body, header, &counted)
    guard isFilled, readUseTimes(body, header, clock) else { return false }
    keys.clock.set(clock)
    logicalByteCount = header.logicalByteCount
    nextSegment = header.nextSegment
    sums = EntrySums(
      saved: header.entrySums.compactMap { saved in
        EntrySums.Group(saved.group).map {
          ($0, EntrySums.Sum(entryCount: saved.entryCount, byteCount: saved.byteCount))
        }
      })
    sums.track(header.identity.styleBudgets.tags, isEmpty: keyCount == 0)
    sums.compare(with: counted)
    return keyCount == header.keyCount && blobCount == header.blobCount
      && contents.largeCountCount == header.largeCountCount
  }

  private mutating func fillFromPieces(
    _ body: CheckpointBodyReader, _ header: CheckpointHeader, _ area: (any File)?, _ clock: UInt64,
    _ counted: inout EntrySums.Counts
  ) -> Bool {
    guard let pieces = RootBody.pieces(body, wordCount: header.pieceWordCount) else { return false }
    if pieces.isEmpty { return true }
    guard let area else { return false }
    let table = catalog.segments
    let loader = PieceLoader(
      area: area, store: header.identity.store, clock: clock, keyCount: header.keyCount, blobCount: header.blobCount)
    return loader.fill(&self, from: pieces, names: { table.names($0) }, note: { counted.note($0) })
  }

  private mutating func readUseTimes(
    _ body: CheckpointBodyReader, _ header: CheckpointHeader, _ clock: UInt64
  ) -> Bool {
    var readings: [UseTimes.Reading] = []
    for _ in 0..<header.useTimeCount {
      guard let stamp = body.next(), let time = body.next() else { return false }
      // Bounded so that differences of times do not overflow.
      let bounded = min(max(Int64(bitPattern: time), -1 << 60), 1 << 60)
      let rebased = RecencyClock.rebased(UInt32(truncatingIfNeeded: stamp), from: header.recency, to: clock)
      readings.append(UseTimes.Reading(stamp: rebased, time: bounded))
    }
    catalog.useTimes.withLock { $0 = UseTimes(readings) }
    return true
  }

  private mutating func readSegments(_ body: CheckpointBodyReader, _ header: CheckpointHeader) -> Bool {
    for _ in 0..<header.segmentCount {
      guard let place = body.next(), let id = body.next(), let byteCount = body.next(), let code = body.next(),
        let tail = body.next(), let liveUnits = body.next(), let liveCount = body.next(), let vouched = body.next(),
        let first = body.next(), let stream = StreamKind(rawValue: UInt32(truncatingIfNeeded: place >> 32)),
        let state = Segment.State(code: code), byteCount <= 1 << 40, tail <= byteCount, vouched <= byteCount,
        tail >= SegmentHeader.byteCount,
        liveUnits <= 1 << 40, liveCount <= 1 << 40, id < UInt64(1) << 62
      else { return false }
      let slot = Int(place & 0xFFFF_FFFF)
      guard slot < SegmentTable.slotLimit, slot >= segments.all.count || segments.all[slot] == nil else {
        return false
      }
      let segment = Segment(
        id: id, slot: slot, byteCount: Int(byteCount), stream: stream, state: state, tail: Int(tail))
      segments[segment].live = SegmentLive(units: Int(liveUnits), count: Int(liveCount))
      segments.insert(segment, vouchedUpTo: Int(vouched), firstSequence: first)
    }
    return true
  }

  private mutating func fillFromBody(
    _ body: CheckpointBodyReader, _ header: CheckpointHeader, _ counted: inout EntrySums.Counts
  ) -> Bool {
    for shard in 0..<KeyTable.shardCount {
      guard let count = body.next(), count <= header.keyCount else { return false }
      let isWhole = keyWriter.fill(shard: shard, count: Int(count)) {
        guard let word0 = body.next(), let word1 = body.next() else { return nil }
        let slot = KeySlot(word0: word0, word1: word1).kept
        guard catalog.segments.names(slot.location) else { return nil }
        counted.note(slot)
        return slot
      }
      guard isWhole else { return false }
      keyCount += Int(count)
    }
    var largeCount = 0
    for shard in 0..<ContentTable.shardCount {
      guard let count = body.next(), count <= header.blobCount else { return false }
      let isWhole = contentWriter.fill(shard: shard, count: Int(count)) {
        guard let word = body.next(), catalog.segments.names(ContentTable.location(ofWord: word)) else { return nil }
        if ContentTable.hasLargeCount(word) { largeCount += 1 }
        return word
      }
      guard isWhole else { return false }
      blobCount += Int(count)
    }
    guard largeCount == header.largeCountCount else { return false }
    for _ in 0..<header.largeCountCount {
      guard let bits = body.next(), let count = body.next(), (4...1 << 40).contains(count) else { return false }
      contentWriter.setLargeCount(Int(count), of: Location(bits: bits & Location.mask))
    }
    return true
  }
}

extension SegmentTable {
  /// Returns whether a location lies in a segment of the catalog.
  fileprivate func names(_ location: Location) -> Bool {
    location.offset >= SegmentHeader.byteCount && location.offset < plannedByteCount(location.slot)
  }
}

/// The body of a root, without its pieces, as it was taken under the commit lock.
package struct RootBody {
  var segments: [UInt64] = []
  var useTimes: [UInt64] = []

  /// Writes the body with these pieces, and fills the rest of the counts of `header`.
  package func write(_ pieces: [Piece], to file: any File, header: inout CheckpointHeader) throws(SystemError) {
    let writer = CheckpointBodyWriter(file: file, store: header.identity.store, generation: header.generation)
    for word in segments { writer.append(word) }
    for piece in pieces { piece.encode(writer.append) }
    header.pieceWordCount = writer.wordCount - segments.count
    for word in useTimes { writer.append(word) }
    header.bodyWordCount = writer.wordCount
    try writer.finish()
  }

  /// Reads the pieces of a root, whose segments were read. Returns nil if the words are none of a root.
  static func pieces(_ body: CheckpointBodyReader, wordCount: Int) -> [Piece]? {
    var pieces: [Piece] = []
    var left = wordCount
    while left > 0 {
      guard
        let piece = Piece({
          left -= 1
          return left < 0 ? nil : body.next()
        })
      else { return nil }
      pieces.append(piece)
    }
    return isPlausible(pieces) ? pieces : nil
  }

  /// Whether no piece is there twice, and no block belongs to two pieces.
  private static func isPlausible(_ pieces: [Piece]) -> Bool {
    guard pieces.count <= CheckpointHeader.mostPieces, Set(pieces.map(\.number)).count == pieces.count else {
      return false
    }
    let ranges = pieces.flatMap(\.ranges).sorted { $0.start < $1.start }
    return zip(ranges, ranges.dropFirst()).allSatisfy { $0.end <= $1.start }
  }

  /// Reads the pieces that a root names; nil if its body is damaged.
  package static func pieces(from file: any File, header: CheckpointHeader) -> [Piece]? {
    guard header.isRoot, let byteCount = try? file.status().byteCount, header.leastFileByteCount <= byteCount else {
      return nil
    }
    let body = CheckpointBodyReader(file: file, header: header)
    for _ in 0..<header.segmentCount * CheckpointHeader.segmentWords where body.next() == nil { return nil }
    return pieces(body, wordCount: header.pieceWordCount)
  }
}

extension Segment.State {
  fileprivate var code: UInt64 {
    switch self {
    case .spare: 0
    case .open: 1
    case .sealed, .retired: 2
    }
  }

  fileprivate init?(code: UInt64) {
    switch code {
    case 0: self = .spare
    case 1: self = .open
    case 2: self = .sealed
    default: return nil
    }
  }
}
