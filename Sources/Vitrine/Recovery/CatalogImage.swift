/// The catalog as a checkpoint holds it: written whole under the commit lock, read back at opening.
extension CatalogWriter {
  /// Before keys are added and before a segment is made, the checkpoint files get room for this many more segments than
  /// exist. So writing a checkpoint never needs more room, not even when log and budget are full and the checkpoint is
  /// written to free space.
  package static let spareSegments = 8

  /// Returns the length of a checkpoint file for the catalog, `more` keys and `moreSegments` segments. Each of these keys
  /// may be the fourth that uses a blob; from four keys on, the count of a blob takes an entry of its own.
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
    var segmentCount = 0
    for case let segment? in segments.all where segments[segment].state != .retired {
      segmentCount += 1
      writer.append(UInt64(segment.slot) | UInt64(segments[segment].stream.rawValue) << 32)
      writer.append(segment.id)
      writer.append(UInt64(segments[segment].byteCount))
      writer.append(segments[segment].state.code)
      writer.append(UInt64(segments[segment].fill.tail))
      writer.append(UInt64(segments[segment].live.units))
      writer.append(UInt64(segments[segment].live.count))
      writer.append(UInt64(mark(segment)))
      writer.append(catalog.segments.firstSequence(segment.slot))
    }
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
    let readings = catalog.useTimes.readings(at: keys.clock)
    for reading in readings {
      writer.append(UInt64(reading.stamp))
      writer.append(UInt64(bitPattern: reading.time))
    }
    try writer.finish()
    header.segmentCount = segmentCount
    header.keyCount = keyCount
    header.blobCount = blobCount
    header.largeCountCount = contents.largeCountCount
    header.logicalByteCount = max(0, logicalByteCount)
    header.useTimeCount = readings.count
    header.recency = keys.clock.now
    header.bodyWordCount = writer.wordCount
    header.nextSegment = nextSegment
    header.entrySums = sums.saved.map {
      CheckpointHeader.EntrySum(
        group: $0.group.number, entryCount: max(0, $0.sum.entryCount), byteCount: max(0, $0.sum.byteCount))
    }
  }

  /// Reads the catalog of a checkpoint; nil if any of it is damaged or contradicts itself. If the file is too short
  /// for the counts in its header, nothing is allocated.
  package static func read(from file: any File, header: CheckpointHeader) -> CatalogWriter? {
    guard let byteCount = try? file.status().byteCount, header.leastFileByteCount <= byteCount else { return nil }
    guard var writer = CatalogWriter(identity: header.identity) else { return nil }
    guard writer.fill(CheckpointBodyReader(file: file, header: header), header) else { return nil }
    return writer
  }

  private mutating func fill(_ body: CheckpointBodyReader, _ header: CheckpointHeader) -> Bool {
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
    var counted = EntrySums.Counts(of: header.identity.styleBudgets.tags)
    for shard in 0..<KeyTable.shardCount {
      guard let count = body.next(), count <= header.keyCount else { return false }
      let isWhole = keyWriter.fill(shard: shard, count: Int(count)) {
        guard let word0 = body.next(), let word1 = body.next() else { return nil }
        let slot = KeySlot(word0: word0, word1: word1).kept
        guard names(slot.location) else { return nil }
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
        guard let word = body.next(), names(ContentTable.location(ofWord: word)) else { return nil }
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
    var readings: [UseTimes.Reading] = []
    for _ in 0..<header.useTimeCount {
      guard let stamp = body.next(), let time = body.next() else { return false }
      // Bounded so that differences of times do not overflow.
      let bounded = min(max(Int64(bitPattern: time), -1 << 60), 1 << 60)
      readings.append(UseTimes.Reading(stamp: UInt32(truncatingIfNeeded: stamp), time: bounded))
    }
    catalog.useTimes.withLock { $0 = UseTimes(readings) }
    keys.clock.set(header.recency)
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
  }

  /// Returns whether a location lies in a segment of the catalog.
  private func names(_ location: Location) -> Bool {
    location.offset >= SegmentHeader.byteCount && location.offset < catalog.segments.plannedByteCount(location.slot)
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
