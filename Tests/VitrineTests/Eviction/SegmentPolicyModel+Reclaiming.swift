@testable import Vitrine

/// The steps of "Reclaiming space" in `Docs/Eviction.md`.
extension SegmentPolicyModel {
  /// A live record of a victim.
  private struct Item {
    let record: PolicySegment.Record
    /// Whether its key has an entry, which may have its head in another record.
    var hasKey: Bool
    let hasHead: Bool
    let hasPayload: Bool
    /// The numbers of the records that the entry has its key and its payload in.
    let entry: (record: Int, payload: Int)?
    let uses: Int
    let isPinned: Bool
    /// Whether other keys use the payload, too. Then it stays even without the entry.
    let isShared: Bool
    var isKept: Bool { !hasKey || isPinned }
    var byteCount: Int { (hasHead ? record.head : 0) + (hasPayload ? record.payload : 0) }
    /// A copy of a payload takes its dead head along.
    var copiedByteCount: Int { hasHead ? byteCount : record.head + byteCount }
    /// Whether the entry of the key uses another payload.
    var isStranger: Bool { hasKey && !hasHead && entry!.payload != record.number }
    var isUsed: Bool { hasKey && (uses > 0 || isPinned) }
  }

  /// The result of a look at a victim.
  private enum Look {
    case progress
    /// Copies would free too little, and nothing was dropped.
    case full
    /// Records that must be kept find no room.
    case stuck
  }

  /// The bytes of a segment by their kind.
  private struct Load {
    /// Live keys and payloads.
    var partCount = 0
    var live = 0
    /// Dead heads before payloads of other keys.
    var bound = 0
    var written: Int
    var dead: Int { written - live - bound }
  }

  private func load(_ segment: PolicySegment, _ live: (keys: Set<Int>, payloads: Set<Int>)) -> Load {
    var load = Load(written: segment.written)
    for record in segment.records {
      if live.keys.contains(record.number) {
        load.partCount += 1
        load.live += record.head
      }
      if live.payloads.contains(record.number) {
        load.partCount += 1
        load.live += record.payload
      }
      if live.payloads.contains(record.number), !live.keys.contains(record.number) { load.bound += record.head }
    }
    return load
  }

  /// Bytes beyond the budget if so many more are taken.
  func missing(_ byteCount: Int) -> Int {
    space.own + space.segments.reduce(0) { $0 + $1.byteCount } + roundUp(byteCount, to: 4096) - facts.byteBudget
  }

  /// Reclaims segments until the bytes fit.
  mutating func makeRoom(for byteCount: Int) {
    var queuedCount = 0
    while missing(byteCount) > 0 {
      retireDead()
      if missing(byteCount) <= 0 { return }
      cutSealed()
      if missing(byteCount) <= 0 { return }
      if !clean(&queuedCount) {
        counts.unserved += 1
        return
      }
    }
  }

  private mutating func retireDead() {
    let live = live
    for segment in space.segments where segment.state == .sealed && load(segment, live).partCount == 0 {
      space.segments.removeAll { $0.id == segment.id }
      sweeps.present.removeAll { $0 == segment.id }
      sweeps.next.removeAll { $0 == segment.id }
    }
  }

  /// Sealed segments keep no unused end.
  private mutating func cutSealed() {
    for index in space.segments.indices where space.segments[index].state == .sealed {
      let filled = roundUp(space.segments[index].end, to: 4096)
      space.segments[index].byteCount = min(space.segments[index].byteCount, filled)
    }
  }

  /// Whether overwrites and removals have left more dead bytes than the allowance.
  private var hasManyDeadBytes: Bool {
    let live = live
    let loads = space.segments.filter { $0.state == .sealed && $0.stream != .single }.map { load($0, live) }
    let dead = loads.reduce(0) { $0 + ($1.partCount > 0 ? $1.dead : 0) }
    return dead
      > Sizing.deadAllowance(
        budget: facts.byteBudget, own: space.own, segmentByteCount: facts.segmentByteCount)
  }

  /// One step. Returns false if it can free nothing.
  private mutating func clean(_ queuedCount: inout Int) -> Bool {
    let isDeadReclaimed = hasManyDeadBytes
    var tried: [UInt64] = []
    var dense: [UInt64] = []
    var looks = 0
    while tried.count < 4, looks < 32 {
      looks += 1
      var victim = nextVictim(isDeadReclaimed, tried, dense)
      if victim == nil {
        for stream in StreamKind.allCases {
          if let id = open(stream), space.segments[index(id)!].written > 0 { seal(id) }
        }
        victim = nextVictim(isDeadReclaimed, tried, dense)
      }
      guard let victim else { return false }
      switch empty(victim.id, isSparse: victim.isSparse, isDeadReclaimed, &queuedCount) {
      case .progress: return true
      case .full: if victim.isSparse { dense.append(victim.id) }
      case .stuck:
        queue(victim.id, isKept: true)
        tried.append(victim.id)
      }
    }
    return false
  }

  // MARK: Step 2

  private func mostFull(_ isDeadReclaimed: Bool) -> Double {
    isDeadReclaimed ? numbers.sparseShare.dead : numbers.sparseShare.usual
  }

  private mutating func nextVictim(
    _ isDeadReclaimed: Bool, _ tried: [UInt64], _ dense: [UInt64]
  ) -> (id: UInt64, isSparse: Bool)? {
    let live = live
    let all = space.segments.map { (segment: $0, load: load($0, live)) }.filter {
      $0.load.partCount > 0
        && !($0.segment.stream == .single && $0.load.partCount == 1 && $0.load.live < $0.load.written)
    }
    let candidates = all.filter { $0.segment.state == .sealed && !tried.contains($0.segment.id) }
    let mostFull = mostFull(isDeadReclaimed)
    let sparse = candidates.filter {
      let full = $0.load.live + $0.load.bound
      return $0.segment.stream != .single && $0.load.dead > 0 && Double(full) < mostFull * Double($0.load.written)
        && full <= roomForCopies($0.segment.copies) && !dense.contains($0.segment.id)
    }
    let sparsest = sparse.min {
      ($1.load.dead, facts.slot($0.segment.id)) < ($0.load.dead, facts.slot($1.segment.id))
    }
    if let sparsest { return (sparsest.segment.id, true) }
    func isKept(_ id: UInt64, _ load: Load) -> Bool {
      guard let look = kept.last(where: { $0.id == id }) else { return false }
      return Double(look.liveByteCount - load.live) < (1 - numbers.mostKept) * Double(load.written)
    }
    let open = candidates.filter { !isKept($0.segment.id, $0.load) }
    let queued = (sweeps.present + sweeps.next).compactMap { id in open.first { $0.segment.id == id }?.segment }
    let (main, probation) = (queued.first { isMain($0) }, queued.first { !isMain($0) })
    let counted = all.filter { !isKept($0.segment.id, $0.load) }
    let liveBytes = counted.reduce(0) { $0 + $1.load.live }
    let probationBytes = counted.reduce(0) { $0 + (isMain($1.segment) ? 0 : $1.load.live) }
    let isProbationLong = Double(probationBytes) > numbers.probationShare * Double(liveBytes)
    guard let chosen = isProbationLong ? probation ?? main : main ?? probation else { return nil }
    if sweeps.next.contains(chosen.id) { sweeps = (sweeps.present + sweeps.next, []) }
    return (chosen.id, false)
  }

  /// Bytes of copies that find room in one segment.
  private func roomForCopies(_ stream: StreamKind) -> Int {
    let open = open(stream).map { space.segments[index($0)!].byteCount - space.segments[index($0)!].end } ?? 0
    let spare = space.spares.map { space.segments[index($0)!].byteCount - PolicySegment.firstOffset }.max() ?? 0
    return max(open, spare)
  }

  // MARK: Steps 3 to 10

  private func items(of segment: PolicySegment) -> [Item] {
    let live = live
    return segment.records.compactMap { record in
      let hasHead = live.keys.contains(record.number)
      let hasPayload = live.payloads.contains(record.number)
      if !hasHead, !hasPayload { return nil }
      // The payload of a pinned entry with its head elsewhere counts like one that other keys use.
      let entry = entries[record.key].flatMap { hasHead || !$0.isPinned ? $0 : nil }
      return Item(
        record: record, hasKey: entry != nil, hasHead: hasHead, hasPayload: hasPayload,
        entry: entry.map { ($0.record, $0.payload) }, uses: entry?.uses ?? 0, isPinned: entry?.isPinned ?? false,
        isShared: entry != nil && entries.values.count { $0.payload == record.number } > 1)
    }
  }

  /// Empties a segment, queues it again or leaves it.
  private mutating func empty(
    _ id: UInt64, isSparse: Bool, _ isDeadReclaimed: Bool, _ queuedCount: inout Int
  ) -> Look {
    let segment = space.segments[index(id)!]
    let isMain = isMain(segment)
    copying.grant(numbers.copiedShare, atMost: facts.segmentByteCount)
    var items = items(of: segment)
    let copied = items.reduce(0) { $0 + $1.copiedByteCount }
    if isSparse, Double(copied) >= mostFull(isDeadReclaimed) * Double(segment.written) { return .full }
    let mayStay = queuedCount < numbers.mostQueuedAgain
    let pinned = items.reduce(0) { $0 + ($1.isPinned ? $1.byteCount : 0) }
    if !mayStay, !isSparse, Double(pinned) >= 0.5 * Double(segment.written) { return .stuck }
    if !isSparse {
      // An entry that uses another payload by now has its turn in another segment.
      for index in items.indices where items[index].isStranger { items[index].hasKey = false }
      copying.note(
        uses: items.reduce(0) { $0 + ($1.hasKey ? $1.uses : 0) }, byteCount: items.reduce(0) { $0 + $1.byteCount },
        segmentByteCount: facts.segmentByteCount)
      if mayStay, isQueuedAgain(segment, items) {
        queuedCount += 1
        counts.queuedAgain += 1
        for item in items { spend(item, isMain: isMain) }
        queueInMain(id)
        return .progress
      }
      if isFull(of: items.filter { $0.isKept || $0.isShared }, segment) {
        return keep(segment, items, isMain: isMain)
      }
    } else {
      counts.sparse += 1
    }
    var drops = items.filter { !isCopied($0, of: segment, isSparse: isSparse) }
    var copies: [Item] = []
    for item in byValue(items.filter { isCopied($0, of: segment, isSparse: isSparse) }, isSparse: isSparse) {
      if isSparse || item.isPinned || copying.take(item.copiedByteCount) || item.isKept {
        copies.append(item)
      } else {
        drops.append(item)
        counts.withoutBudget += 1
      }
    }
    if !isSparse { for item in copies { spend(item, isMain: isMain) } }
    let copiedCount = copy(copies.sorted { $0.record.offset < $1.record.offset }.map(\.record), of: segment)
    counts.copied += copiedCount
    if !isSparse, copies.contains(where: { $0.isKept && isThere($0) }) {
      return copiedCount > 0 ? .progress : .stuck
    }
    if !isSparse { drops += copies.filter(isThere) }
    let dropped = drops
    drop(dropped, isMain: isMain)
    let payloads = live.payloads
    let rescued = copy(drops.filter { payloads.contains($0.record.number) }.map(\.record), of: segment)
    retireDead()
    return dropped.count + copiedCount + rescued > 0 ? .progress : .stuck
  }

  /// Leaves a segment, but drops entries and spends uses as if it were emptied.
  private mutating func keep(_ segment: PolicySegment, _ items: [Item], isMain: Bool) -> Look {
    let before = load(segment, live)
    for item in items where isCopied(item, of: segment, isSparse: false) { spend(item, isMain: isMain) }
    let dropped = items.filter { !isCopied($0, of: segment, isSparse: false) }
    drop(dropped, isMain: isMain)
    let isLeft = items.contains { $0.hasKey && !$0.isPinned && entries[$0.record.key]?.record == $0.entry!.record }
    queue(segment.id, isKept: true)
    if !isLeft { kept.append((segment.id, load(segment, live).live)) }
    let after = load(segment, live)
    return after.live + after.bound < before.live + before.bound ? .progress : .full
  }

  private mutating func drop(_ items: [Item], isMain: Bool) {
    if !isMain {
      ghost.fit(entryCount: entries.count)
      for item in items { ghost.note(facts.hash(item.record.key)) }
    }
    // An entry whose head was copied just now stays.
    drop(items.filter { entries[$0.record.key]?.record == $0.entry!.record }.map(\.record.key))
    counts.dropped += items.count
  }

  /// Whether copies of these items fill nearly the whole segment.
  private func isFull(of items: [Item], _ segment: PolicySegment) -> Bool {
    let byteCount = items.reduce(0) { $0 + $1.copiedByteCount }
    return Double(byteCount) > numbers.mostKept * Double(segment.written)
  }

  private func isQueuedAgain(_ segment: PolicySegment, _ items: [Item]) -> Bool {
    if segment.stream == .single {
      guard let item = items.first, item.hasKey else { return false }
      if item.isPinned { return true }
      return item.uses > 0 && Double(item.uses) >= copying.usesPerByte * Double(item.byteCount)
    }
    let used = items.reduce(0) { $0 + ($1.isUsed ? $1.byteCount : 0) }
    let share = isMain(segment) ? numbers.queuedShare.main : numbers.queuedShare.probation
    return used > 0 && Double(used) >= share * Double(segment.written)
  }

  private func isCopied(_ item: Item, of segment: PolicySegment, isSparse: Bool) -> Bool {
    if isSparse || item.isKept { return true }
    if item.uses == 0 || segment.stream == .single { return false }
    return Double(item.uses) >= numbers.copiedMultiple * copying.usesPerByte * Double(item.byteCount)
  }

  /// Items in the order in which they get the bytes for copies: those that are kept in any case first, then those
  /// with the most uses per byte. Items with equal values stay in the order of their offsets.
  private func byValue(_ items: [Item], isSparse: Bool) -> [Item] {
    func value(_ item: Item) -> Double {
      if item.isKept { return .infinity }
      return Double(item.uses + (isSparse ? 1 : 0)) / Double(max(1, item.byteCount))
    }
    return items.sorted { (value($1), $0.record.offset) < (value($0), $1.record.offset) }
  }

  private func isThere(_ item: Item) -> Bool {
    item.hasHead ? entries[item.record.key]?.record == item.record.number : live.payloads.contains(item.record.number)
  }

  /// A turn costs a record of probation all its uses. It costs a record of main one, and all under `sieve`.
  private mutating func spend(_ item: Item, isMain: Bool) {
    if item.hasKey { set(uses: isMain ? max(0, item.uses - numbers.costOfMain) : 0, item.record.key) }
  }

  private mutating func queueInMain(_ id: UInt64) {
    queue(id, isKept: true)
    let index = index(id)!
    if space.segments[index].stream == .single {
      space.segments[index].isMainSingle = true
    } else {
      space.segments[index].stream = space.segments[index].copies
    }
  }

  /// Copies records to main. A record that finds no room stays. Returns the number of copies.
  private mutating func copy(_ records: [PolicySegment.Record], of segment: PolicySegment) -> Int {
    let stream = segment.copies
    var count = 0
    for record in records {
      let live = live
      let hasKey = live.keys.contains(record.number)
      let payload = live.payloads.contains(record.number)
      if !hasKey, !payload { continue }
      let byteCount = record.head + record.payload
      if open(stream).map({ !fits(byteCount, in: $0) }) ?? true {
        guard segment.stream != .single, let spare = space.spares.first else { continue }
        open(spare, for: stream)
      }
      let copy = add(record.key, RecordSize(head: record.head, payload: record.payload), to: open(stream)!)
      move(record.number, to: copy)
      count += 1
    }
    return count
  }
}
