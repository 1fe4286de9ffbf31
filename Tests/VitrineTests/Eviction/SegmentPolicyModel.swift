@testable import Vitrine

/// The policies `s3fifo` and `sieve` by brute force, written from `Docs/Eviction.md`: every sum is counted anew over
/// all entries and records, and every order is an array.
///
/// The model chooses the victims, the records that are copied, dropped or queued again, the stream of each record and
/// the place of each copy. ``SegmentPolicyFacts`` and the parameters of the changes have everything that it is told.
struct SegmentPolicyModel {
  struct Entry {
    /// The numbers of the records that have the key and the payload.
    var record: Int
    var payload: Int
    /// Bytes that a get returns.
    var byteCount: Int
    /// `originals` or `bitmaps`.
    let kind: StreamKind
    var uses = 0
    var isPinned = false
    /// The time of the last use.
    var order: Int
  }

  /// Segments, in the order of their numbers, and the segments that are not opened yet, in the order of their making.
  struct Space {
    var segments: [PolicySegment] = []
    var spares: [UInt64] = []
    var nextSegment: UInt64
    /// Bytes of the store's own files.
    var own = 0
  }

  /// The numbers of decisions so far. A test uses them to show that its run has made the decisions under test.
  struct Counts {
    var queuedAgain = 0
    var copied = 0
    var dropped = 0
    var returned = 0
    var sparse = 0
    var withoutBudget = 0
    /// Requests that segments could not serve, so single entries have to be evicted.
    var unserved = 0
  }

  let numbers: SegmentPolicyNumbers
  let facts: SegmentPolicyFacts
  private(set) var entries: [CacheKey: Entry] = [:]
  var space: Space
  /// The segments in the order in which they are reclaimed: the present sweep, and the next one. `s3fifo` has one
  /// sweep.
  var sweeps: (present: [UInt64], next: [UInt64]) = ([], [])
  var ghost = GhostModel()
  var copying = CopyModel()
  /// Segments that were not emptied because nearly all of their bytes are pinned or needed by other keys, with their
  /// live bytes at that time.
  var kept: [(id: UInt64, liveByteCount: Int)] = []
  var counts = Counts()
  private var clock = 0
  private var nextRecord = 0

  init(_ numbers: SegmentPolicyNumbers, _ facts: SegmentPolicyFacts, nextSegment: UInt64) {
    self.numbers = numbers
    self.facts = facts
    space = Space(nextSegment: nextSegment)
  }

  // MARK: Changes

  /// Returns whether the value fits beside the pinned entries.
  mutating func put(_ key: CacheKey, _ byteCount: Int, _ size: RecordSize, _ kind: StreamKind = .originals) -> Bool {
    let number = place(key, size, kind)
    if entries[key]?.isPinned ?? false, !mayBePinned(key, byteCount, head: size.head) { return false }
    if entries[key] == nil { evict(toAdmit: 1) }
    enter(key, record: number, payload: number, byteCount, kind)
    copying.bytesPut += byteCount
    return true
  }

  /// Puts the bytes of another key, so the record has no payload.
  mutating func put(_ key: CacheKey, sharing other: CacheKey, _ size: RecordSize) -> Bool {
    guard let shared = entries[other] else { return false }
    let number = place(key, size, shared.kind)
    if entries[key]?.isPinned ?? false, !mayBePinned(key, shared.byteCount, head: size.head) { return false }
    enter(key, record: number, payload: shared.payload, shared.byteCount, shared.kind)
    copying.bytesPut += shared.byteCount
    return true
  }

  /// Changes the metadata or the pin. Returns whether the entry is there and may be pinned.
  mutating func change(_ key: CacheKey, isPinned: Bool?, _ size: RecordSize) -> Bool {
    guard let entry = entries[key] else { return false }
    if let isPinned, isPinned == entry.isPinned { return true }
    let number = place(key, size, entry.kind)
    let isPinned = isPinned ?? entry.isPinned
    if isPinned, !mayBePinned(key, entry.byteCount, head: size.head) { return false }
    enter(key, record: number, payload: entry.payload, entry.byteCount, entry.kind)
    entries[key]!.isPinned = isPinned
    return true
  }

  mutating func get(_ key: CacheKey) {
    clock += 1
    guard let uses = entries[key]?.uses else { return }
    entries[key]!.uses = min(3, uses + 1)
    entries[key]!.order = clock
  }

  mutating func remove(_ key: CacheKey) { entries[key] = nil }

  private mutating func enter(
    _ key: CacheKey, record: Int, payload: Int, _ byteCount: Int, _ kind: StreamKind
  ) {
    clock += 1
    let former = entries[key]
    entries[key] = Entry(
      record: record, payload: payload, byteCount: byteCount, kind: kind,
      uses: former.map { min(3, $0.uses + 1) } ?? 0, isPinned: former?.isPinned ?? false, order: clock)
  }

  /// Evicts entries in the order of their last use, if the number of entries is limited.
  private mutating func evict(toAdmit new: Int) {
    while facts.entryBudget > 0, entries.count + new > facts.entryBudget {
      guard let oldest = entries.filter({ !$0.value.isPinned }).min(by: { $0.value.order < $1.value.order }) else {
        return
      }
      entries[oldest.key] = nil
    }
  }

  /// Whether pinned entries stay within a quarter of each budget, or take no more than before.
  private func mayBePinned(_ key: CacheKey, _ byteCount: Int, head: Int) -> Bool {
    let pinned = entries.filter { $0.value.isPinned }
    let before = pinned.reduce(0) { $0 + pinnedBytes($1.value) }
    let others = pinned.filter { $0.key != key }
    let after = others.reduce(byteCount + head) { $0 + pinnedBytes($1.value) }
    if others.count + 1 <= pinned.count, after <= before { return true }
    return after <= facts.byteBudget / 4 && (facts.entryBudget == 0 || others.count + 1 <= facts.entryBudget / 4)
  }

  private func pinnedBytes(_ entry: Entry) -> Int { entry.byteCount + (record(entry.record)?.record.head ?? 0) }

  /// Whether a change that writes a head of `byteCount` bytes needs no new segment.
  func hasRoom(for byteCount: Int, _ key: CacheKey, _ kind: StreamKind) -> Bool {
    guard let id = open(stream(of: key, kind)) else { return false }
    return fits(byteCount, in: id)
  }

  // MARK: Places

  func record(_ number: Int) -> (segment: PolicySegment, record: PolicySegment.Record)? {
    for segment in space.segments {
      if let record = segment.records.first(where: { $0.number == number }) { return (segment, record) }
    }
    return nil
  }

  /// The segments and the offsets of all records.
  var places: [Int: (segment: UInt64, offset: Int)] {
    var places: [Int: (segment: UInt64, offset: Int)] = [:]
    for segment in space.segments {
      for record in segment.records { places[record.number] = (segment.id, record.offset) }
    }
    return places
  }

  /// The records whose own keys are live, and those whose payloads are.
  var live: (keys: Set<Int>, payloads: Set<Int>) {
    (Set(entries.values.map(\.record)), Set(entries.values.map(\.payload)))
  }

  func index(_ id: UInt64) -> Int? { space.segments.firstIndex { $0.id == id } }

  func isMain(_ segment: PolicySegment) -> Bool {
    switch segment.stream {
    case .mainOriginals, .mainBitmaps, .returnedOriginals, .returnedBitmaps: true
    case .single: segment.isMainSingle || !numbers.hasProbation
    case .originals, .bitmaps, .spare: !numbers.hasProbation
    }
  }

  /// The stream of a new record. Does not change the ghost.
  private func stream(of key: CacheKey, _ kind: StreamKind) -> StreamKind {
    let returned: StreamKind = kind == .bitmaps ? .returnedBitmaps : .returnedOriginals
    guard numbers.hasProbation, facts.byteBudget >= 21 * facts.segmentByteCount else { return kind }
    if let entry = entries[key] {
      return record(entry.record).map { isMain($0.segment) } ?? false ? returned : kind
    }
    return numbers.knowsReturnedKeys && ghost.has(facts.hash(key)) ? returned : kind
  }

  /// Places a new record. Returns its number.
  private mutating func place(_ key: CacheKey, _ size: RecordSize, _ kind: StreamKind) -> Int {
    if let extent = size.extent {
      // Copies for several segments may need more than one spare.
      for part in stride(from: facts.segmentByteCount, to: extent, by: facts.segmentByteCount) {
        makeRoom(for: part)
        if space.spares.isEmpty, missing(facts.segmentByteCount) <= 0 {
          space.spares.append(makeSegment(facts.segmentByteCount))
        }
      }
      makeRoom(for: extent)
      let id = makeSegment(extent)
      space.segments[index(id)!].stream = .single
      space.segments[index(id)!].state = .sealed
      sweeps.present.append(id)
      return add(key, size, to: id)
    }
    let stream = stream(of: key, kind)
    if entries[key] == nil, stream != kind {
      _ = ghost.take(facts.hash(key))
      counts.returned += 1
    }
    while true {
      if let id = open(stream), fits(size.head + size.payload, in: id) { return add(key, size, to: id) }
      // The last spare is kept for copies.
      while space.spares.count < 2 {
        makeRoom(for: facts.segmentByteCount)
        space.spares.append(makeSegment(facts.segmentByteCount))
      }
      open(space.spares[0], for: stream)
    }
  }

  mutating func add(_ key: CacheKey, _ size: RecordSize, to id: UInt64) -> Int {
    let index = index(id)!
    nextRecord += 1
    space.segments[index].records.append(
      PolicySegment.Record(
        number: nextRecord, key: key, offset: space.segments[index].end, head: size.head, payload: size.payload))
    return nextRecord
  }

  private mutating func makeSegment(_ byteCount: Int) -> UInt64 {
    let id = space.nextSegment
    space.nextSegment += 1
    space.segments.append(PolicySegment(id: id, byteCount: byteCount))
    return id
  }

  func open(_ stream: StreamKind) -> UInt64? {
    space.segments.first { $0.state == .open && $0.stream == stream }?.id
  }

  func fits(_ byteCount: Int, in id: UInt64) -> Bool {
    let segment = space.segments[index(id)!]
    return segment.end + byteCount <= segment.byteCount
  }

  /// Opens a spare for a stream, in place of the full segment.
  mutating func open(_ id: UInt64, for stream: StreamKind) {
    if let full = open(stream) { seal(full) }
    space.spares.removeAll { $0 == id }
    space.segments[index(id)!].stream = stream
    space.segments[index(id)!].state = .open
    queue(id, isKept: isOfCopies(stream))
  }

  /// Under `sieve`, the present sweep may have kept some records of a segment of copies, so it goes to the next one.
  mutating func seal(_ id: UInt64) {
    space.segments[index(id)!].state = .sealed
    if !numbers.hasProbation, isOfCopies(space.segments[index(id)!].stream) { queue(id, isKept: true) }
  }

  private func isOfCopies(_ stream: StreamKind) -> Bool { stream == .mainOriginals || stream == .mainBitmaps }

  /// Puts a segment at the end of the queue. Under `sieve`, kept records go to the next sweep.
  mutating func queue(_ id: UInt64, isKept: Bool) {
    sweeps.present.removeAll { $0 == id }
    sweeps.next.removeAll { $0 == id }
    if isKept, !numbers.hasProbation { sweeps.next.append(id) } else { sweeps.present.append(id) }
  }
}

extension SegmentPolicyModel {
  /// Removes entries that a step has dropped.
  mutating func drop(_ keys: [CacheKey]) { for key in keys { remove(key) } }

  mutating func set(uses: Int, _ key: CacheKey) { entries[key]!.uses = uses }

  /// Points entries to the copy of a record.
  mutating func move(_ number: Int, to copy: Int) {
    for (key, entry) in entries {
      if entry.record == number { entries[key]!.record = copy }
      if entry.payload == number { entries[key]!.payload = copy }
    }
  }
}
