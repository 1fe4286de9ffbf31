/// The choice of the segment whose space is reclaimed, and of the queue for a new record.
extension CommitState {
  /// The segments whose live records compaction may copy. A segment with one large record is not among them: while the
  /// record is live, only a gap or the head of the record may be dead.
  var compactable: [SegmentLoad] {
    index.segments.all.compactMap { segment in
      guard let segment, case let account = index.segments[segment], account.isSettled, account.live.count > 0,
        account.stream != .single
      else { return nil }
      return SegmentLoad(
        slot: segment.slot, stream: account.stream,
        liveByteCount: (account.live.units + account.live.boundUnits) * Unit.byteCount,
        byteCount: account.fill.tail - SegmentHeader.byteCount)
    }
  }

  /// The segment whose space is reclaimed next, without the `tried` ones. A sparse segment comes first, and none of the
  /// `kept` ones comes unless it is sparse. With `reclaimsDead`, overwrites and removals have left many dead bytes in
  /// all segments. Then a segment of which more than a sixteenth is dead counts as sparse, so that no live entry is
  /// dropped. A walk through a `dense` one has shown that it is not sparse.
  mutating func nextVictim(
    by rules: CleaningRules, reclaimsDead: Bool, except tried: [UInt64] = [], dense: [UInt64] = [], _ kept: KeptSegments
  ) -> (Segment, CleaningPlan.Victim)? {
    let mostLive = reclaimsDead ? 1 - CleaningPlan.leastDeadShare : CleaningPlan.sparseShare
    var sparsest: (segment: Segment, deadByteCount: Int)?
    var next: (main: Segment?, probation: Segment?)
    var live = (all: 0, probation: 0)
    for case let segment? in index.segments.all where index.segments[segment].live.count > 0 {
      let account = index.segments[segment]
      let liveByteCount = account.live.units * Unit.byteCount
      let byteCount = account.fill.tail - SegmentHeader.byteCount
      // The segment holds a single record, and only an entry in another segment uses its payload, behind a dead head. A
      // copy would gain nothing.
      if account.stream == .single, account.live.count == 1, liveByteCount < byteCount { continue }
      let isMain = isMain(segment, by: rules)
      // A kept segment does not have its turn, so its bytes do not make probation long.
      let isKept = kept.contains(segment.id, liveByteCount: liveByteCount, of: byteCount)
      if !isKept {
        live.all += liveByteCount
        if !isMain { live.probation += liveByteCount }
      }
      guard account.isSettled, !tried.contains(segment.id) else { continue }
      let dead = byteCount - liveByteCount - account.live.boundUnits * Unit.byteCount
      if account.stream != .single, Double(byteCount - dead) < mostLive * Double(byteCount),
        dead > sparsest?.deadByteCount ?? 0, byteCount - dead <= roomForCopies(account.stream.copies),
        !dense.contains(segment.id)
      {
        sparsest = (segment, dead)
      }
      if isKept { continue }
      func isNext(_ other: Segment?) -> Bool {
        other.map { queues.segments.rank(segment.id) < queues.segments.rank($0.id) } ?? true
      }
      if isMain {
        if isNext(next.main) { next.main = segment }
      } else if isNext(next.probation) {
        next.probation = segment
      }
    }
    if let sparsest { return (sparsest.segment, victim(sparsest.segment, by: rules, isSparse: true, mostLive)) }
    let takesProbation = Double(live.probation) > (rules.probationShare ?? 0) * Double(live.all)
    guard let chosen = takesProbation ? next.probation ?? next.main : next.main ?? next.probation else { return nil }
    queues.segments.reach(chosen.id)
    return (chosen, victim(chosen, by: rules, isSparse: false))
  }

  private func victim(
    _ segment: Segment, by rules: CleaningRules, isSparse: Bool, _ mostLive: Double = CleaningPlan.sparseShare
  ) -> CleaningPlan.Victim {
    let account = index.segments[segment]
    return CleaningPlan.Victim(
      byteCount: account.fill.tail - SegmentHeader.byteCount,
      isMain: isMain(segment, by: rules), isSparse: isSparse, isSingle: account.stream == .single,
      mostLive: mostLive)
  }

  /// Whether a segment belongs to main. Without probation, all segments do.
  private func isMain(_ segment: Segment, by rules: CleaningRules) -> Bool {
    rules.probationShare == nil || queues.segments.isMain(segment.id, index.segments[segment].stream)
  }

  /// Puts a new segment of a single record behind all others.
  mutating func enqueue(single segment: Segment) {
    let next = index.nextSegment
    queues.segments.open(segment.id, for: .single, before: next)
  }

  /// Ends the stream's open segment, which a frame has sealed.
  mutating func closeSegment(of stream: StreamKind) {
    if let full = writable[stream] { queues.segments.close(full.id, of: stream, before: index.nextSegment) }
    writable.close(stream)
  }

  /// Puts a segment that cannot be emptied now behind all others of its queue.
  mutating func postpone(_ segment: Segment) {
    let next = index.nextSegment
    queues.segments.enqueue(segment.id, before: next)
  }

  /// Puts a segment at the end of main. The next checkpoint stores that the segment belongs to main, except for a
  /// segment of a single record.
  mutating func queueAgain(_ segment: Segment) {
    let next = index.nextSegment
    let stream = index.segments[segment].stream
    if stream == .single {
      queues.segments.enqueueInMain(single: segment.id, before: next)
    } else {
      queues.segments.enqueue(segment.id, before: next)
      index.segments[segment].set(stream: stream.copies)
    }
  }

  /// The stream for a new record of a key. An overwrite goes to the queue of the record that it replaces, probation or
  /// main. A key that probation has dropped recently goes to main.
  mutating func stream(_ stream: StreamKind, of key: KeyHash) -> StreamKind {
    guard hasReturnedStreams else { return stream }
    if let location = index.keys.location(of: key), let segment = index.segment(location.slot) {
      return queues.segments.isMain(segment.id, index.segments[segment].stream) ? stream.returned : stream
    }
    return queues.takeReturned(key) ? stream.returned : stream
  }
}

extension StreamKind {
  /// The stream for new records of main. Copies have streams of their own: their record numbers are lower than the
  /// first number of a segment that takes new records.
  fileprivate var returned: StreamKind {
    switch self {
    case .bitmaps, .mainBitmaps, .returnedBitmaps: .returnedBitmaps
    case .originals, .mainOriginals, .returnedOriginals, .single, .spare: .returnedOriginals
    }
  }
}
