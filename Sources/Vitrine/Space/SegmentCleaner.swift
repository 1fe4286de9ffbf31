/// Reclaims the space of whole segments: drops the entries that the policy would soon drop, and copies the rest. It is
/// eviction and compaction at once, so a full store writes few records twice. ``CleaningPlan`` chooses the entries to
/// drop.
final class SegmentCleaner: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let meters: Meters
  private let expirer: Expirer
  private let evictor: Evictor
  private let compactor: Compactor
  private let retirement: SegmentRetirement

  init(
    _ context: StoreContext, gate: WriteGate, meters: Meters, expirer: Expirer, evictor: Evictor, compactor: Compactor,
    retirement: SegmentRetirement
  ) {
    self.context = context
    self.gate = gate
    self.meters = meters
    self.expirer = expirer
    self.evictor = evictor
    self.compactor = compactor
    self.retirement = retirement
  }

  struct Step {
    var removedCount = 0
    /// Whether a segment has changed. Otherwise another step would find the same.
    var hasProgressed = false
    /// Whether the segment stays because its copies would free too little, and no byte in it has died.
    var isVain = false
  }

  /// A live record of a victim, and the entry of its key. A change of metadata writes a new head elsewhere. Then the
  /// record has only the payload, but its turn still decides about the entry.
  private struct Item {
    let record: LiveRecord
    /// Nil if the key has no entry, or one that does not use this payload.
    var slot: KeySlot?
    let hash: KeyHash?
    let byteCount: Int
    /// Bytes of the head if only the payload is live.
    let boundByteCount: Int
    /// Whether other keys use the payload beside that of the entry.
    let isShared: Bool

    var plain: CleaningPlan.Item {
      CleaningPlan.Item(
        uses: slot?.uses ?? 0, byteCount: byteCount, hasKey: slot != nil, isPinned: isPinned, isShared: isShared,
        boundByteCount: boundByteCount)
    }
    var isPinned: Bool { slot?.flags.contains(.pinned) ?? false }
    /// Whether the entry has its head in another record, which need not use this payload.
    var hasOtherHead: Bool { slot != nil && record.key == nil }
    var victim: Victim? {
      guard let slot, let hash else { return nil }
      return Victim(hash: hash, stamp: slot.stamp, location: slot.location)
    }
  }

  /// The most segments that are queued again while one request for room is served. Gets may add uses as fast as the
  /// turns of segments spend them.
  private static let mostQueuedAgain = 16
  /// The most segments that one step tries to empty.
  private static let mostTries = 4
  /// The most segments that one step looks at.
  private static let mostLooks = 32

  /// Reclaims the space of one segment, or queues it again. Expired entries go first. Evicts at most `most` bytes or
  /// one larger entry, and subtracts the bytes. `queuedCount` counts the segments queued again in one request.
  /// With `reclaimsDead`, dead bytes between live ones are reclaimed before live entries are dropped.
  func clean(
    by rules: CleaningRules, reclaimsDead: Bool, most: inout Int, queuedCount: inout Int,
    _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> Step {
    var step = Step()
    try gate.requireWritable(closing: true)
    // Failed-sync recovery rewrites entries by a list of locations, so it must not evict or move others.
    if gate.mistrustsEarlierRecords { return step }
    let expired = try expirer.expire(count: .max, byteCount: .max, lookingAt: Expirer.mostLooks, upkeep)
    step.removedCount = expired.removedCount
    if step.removedCount > 0 {
      step.hasProgressed = true
      return step
    }
    var tried: [UInt64] = []
    var dense: [UInt64] = []
    var looks = 0
    var removedCount = 0
    while tried.count < SegmentCleaner.mostTries, looks < SegmentCleaner.mostLooks, most > 0 {
      looks += 1
      guard
        let (segment, victim) = try nextVictim(
          by: rules, reclaimsDead: reclaimsDead, except: tried, dense: dense, upkeep)
      else { return step }
      step = try empty(segment, victim, by: rules, most: &most, queuedCount: &queuedCount, upkeep)
      removedCount += step.removedCount
      step.removedCount = removedCount
      if step.hasProgressed { return step }
      if step.isVain {
        if victim.isSparse { dense.append(segment.id) }
        continue
      }
      // The segment's payloads are needed and find no room elsewhere, or its file cannot be opened now.
      commitLock.withLock { held in held.state.postpone(segment) }
      tried.append(segment.id)
    }
    return step
  }

  private func empty(
    _ segment: Segment, _ victim: CleaningPlan.Victim, by rules: CleaningRules, most: inout Int,
    queuedCount: inout Int, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> Step {
    var step = Step()
    // Without its file, neither the heads can be read nor the records copied.
    guard segment.file != nil else { return step }
    let segmentByteCount = commitLock.withLock { held in held.state.largestSegment }
    upkeep.state.copyBudget.fill(bytesPut: meters.bytesPut, most: segmentByteCount)
    var items = items(of: segment)
    if items.isEmpty {
      step.hasProgressed = commitLock.withLock { held in held.state[segment].isDead }
      return step
    }
    if victim.isSparse, CleaningPlan.isVain(victim, items.map(\.plain)) {
      step.isVain = true
      return step
    }
    let mayStay = queuedCount < SegmentCleaner.mostQueuedAgain
    // Copies of the pinned records would be copied again and again. The segment stays.
    let pinnedByteCount = items.reduce(0) { $0 + ($1.isPinned ? $1.byteCount : 0) }
    if !mayStay, !victim.isSparse, 2 * pinnedByteCount >= victim.byteCount { return step }
    if !victim.isSparse {
      // Uses of an entry that uses another payload by now must not keep this one, and its turn has not come.
      for index in items.indices where isStranger(items[index]) { items[index].slot = nil }
    }
    noteUses(of: items, victim, segmentByteCount, upkeep)
    let plan = plan(victim, items, by: rules, mayStay: mayStay, upkeep)
    if plan.isQueuedAgain {
      step.hasProgressed = true
      queuedCount += 1
      queueAgain(segment, victim, items, by: rules)
      return step
    }
    if plan.isVain { return try keep(segment, victim, items, plan, by: rules, most: &most, upkeep) }
    var drops = plan.drops.map { items[$0] }
    var copies: [Item] = []
    for index in plan.copies {
      let item = items[index].plain
      // A sparse victim frees more than its copies take. Pinned records do not count.
      if victim.isSparse || item.isPinned || upkeep.state.copyBudget.take(item.copiedByteCount) || item.isKept {
        copies.append(items[index])
      } else {
        drops.append(items[index])
      }
    }
    let moved = try copy(copies, of: victim, segment, by: rules, upkeep)
    // If records that must be kept find no room, drops would not free the segment.
    if !victim.isSparse, copies.contains(where: { $0.plain.isKept && isLeft($0) }) {
      step.hasProgressed = moved.hasChanged
      return step
    }
    if !moved.lacksFile, !victim.isSparse {
      // Copies that found no room are dropped.
      drops += copies.filter(isLeft)
    }
    step.removedCount = try evict(drops, of: victim, most: &most, upkeep)
    let rescued = try rescueShared(drops, segment, upkeep)
    if moved.recordCount + rescued.recordCount > 0 {
      commitLock.withLock { held in if held.state[segment].isDead { held.state.record.noteFreedSegment() } }
    }
    try retirement.retireDeadSegments(upkeep)
    step.hasProgressed = step.removedCount > 0 || moved.hasChanged || rescued.hasChanged
    return step
  }

  /// Chooses the segment to empty: the one with the most dead bytes if it is sparse, else the next in the order of its
  /// queue. `tried` segments are left out. If all records are in open segments, those are sealed.
  private func nextVictim(
    by rules: CleaningRules, reclaimsDead: Bool, except tried: [UInt64], dense: [UInt64],
    _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> (Segment, CleaningPlan.Victim)? {
    func next() -> (Segment, CleaningPlan.Victim)? {
      commitLock.withLock { held in
        held.state.nextVictim(
          by: rules, reclaimsDead: reclaimsDead, except: tried, dense: dense, upkeep.state.keptSegments)
      }
    }
    if let found = next() { return found }
    try retirement.sealOpenSegments(upkeep) { $0.fill.tail > SegmentHeader.byteCount }
    return next()
  }

  /// Leaves a segment as it is, because copies of it would free too little. The turns of its records count
  /// nevertheless: the entries that the plan drops are evicted, and the others spend uses.
  private func keep(
    _ segment: Segment, _ victim: CleaningPlan.Victim, _ items: [Item], _ plan: CleaningPlan, by rules: CleaningRules,
    most: inout Int, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> Step {
    var step = Step()
    func liveUnits() -> Int {
      commitLock.withLock { held in held.state[segment].live.units + held.state[segment].live.boundUnits }
    }
    let before = liveUnits()
    for index in plan.copies { spendUses(items[index], victim, by: rules) }
    step.removedCount = try evict(plan.drops.map { items[$0] }, of: victim, most: &most, upkeep)
    // An entry whose payload other keys use leaves nothing dead behind. One request drops few segments of them.
    step.hasProgressed = liveUnits() < before
    step.isVain = !step.hasProgressed
    // An entry that is left has another turn, since it may be the last user of its payload then.
    let hasTurns = items.contains { !$0.isPinned && ($0.victim.map(isThere) ?? false) }
    let liveByteCount = commitLock.withLock { held in
      held.state.postpone(segment)
      return held.state[segment].live.units * Unit.byteCount
    }
    if !hasTurns { upkeep.state.keptSegments.note(segment.id, liveByteCount: liveByteCount) }
    return step
  }

  private func noteUses(
    of items: [Item], _ victim: CleaningPlan.Victim, _ segmentByteCount: Int, _ upkeep: borrowing UpkeepLock.Held
  ) {
    if victim.isSparse { return }
    upkeep.state.copyBudget.note(
      uses: items.reduce(0) { $0 + $1.plain.uses }, byteCount: items.reduce(0) { $0 + $1.byteCount },
      segmentByteCount: segmentByteCount)
  }

  private func plan(
    _ victim: CleaningPlan.Victim, _ items: [Item], by rules: CleaningRules, mayStay: Bool,
    _ upkeep: borrowing UpkeepLock.Held
  ) -> CleaningPlan {
    CleaningPlan(
      victim, items.map(\.plain), by: rules, usesPerByte: upkeep.state.copyBudget.usesPerByte, mayStay: mayStay)
  }

  /// Whether the entry of the record's key uses another payload. Reads the head of the entry.
  private func isStranger(_ item: Item) -> Bool {
    guard item.hasOtherHead, let slot = item.slot else { return false }
    guard let reference = catalog.record(at: slot.location, checks: true)?.header,
      let header = catalog.record(at: item.record.location, checks: true)?.header
    else { return true }
    return !header.isPayload(of: reference)
  }

  /// Whether a record that was to be copied is still in its place.
  private func isLeft(_ item: Item) -> Bool {
    if item.record.key == nil, let content = item.record.content {
      return catalog.contents.has(content, item.record.location)
    }
    return item.victim.map(isThere) ?? false
  }

  private func queueAgain(
    _ segment: Segment, _ victim: CleaningPlan.Victim, _ items: [Item], by rules: CleaningRules
  ) {
    for item in items { spendUses(item, victim, by: rules) }
    commitLock.withLock { held in held.state.queueAgain(segment) }
  }

  /// Copies records to main.
  private func copy(
    _ items: [Item], of victim: CleaningPlan.Victim, _ segment: Segment, by rules: CleaningRules,
    _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> CompactionStep {
    if !victim.isSparse {
      for item in items { spendUses(item, victim, by: rules) }
    }
    return try compactor.moveAway(
      items.map(\.record).sorted { $0.location.bits < $1.location.bits }, from: segment, upkeep)
  }

  private func spendUses(_ item: Item, _ victim: CleaningPlan.Victim, by rules: CleaningRules) {
    guard let hash = item.hash, let slot = item.slot else { return }
    let left = CleaningPlan.remainingUses(slot.uses, isMain: victim.isMain, by: rules)
    catalog.keys.set(uses: left, hash, slot.location)
  }

  /// Evicts the entries of items, for at most `most` bytes. Returns the number of entries removed.
  private func evict(
    _ items: [Item], of victim: CleaningPlan.Victim, most: inout Int, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> Int {
    let entries = items.filter { $0.victim != nil }
    let dropped = (most < .max ? fitting(entries, &most) : entries).compactMap(\.victim)
    if !victim.isMain { remember(dropped) }
    return try evictor.evict(dropped, upkeep)
  }

  /// Returns the first item, and each later item that fits into the rest of `most`. Subtracts their bytes from `most`.
  private func fitting(_ items: [Item], _ most: inout Int) -> [Item] {
    var fitting: [Item] = []
    for item in items where fitting.isEmpty || item.byteCount <= most {
      fitting.append(item)
      most = max(0, most - item.byteCount)
    }
    return fitting
  }

  private func remember(_ dropped: [Victim]) {
    commitLock.withLock { held in
      held.state.queues.remember(dropped, entryCount: held.state.index.keyCount)
    }
  }

  /// Copies the payloads of dropped entries that other keys use.
  private func rescueShared(
    _ drops: [Item], _ segment: Segment, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> CompactionStep {
    let shared = drops.compactMap { item -> LiveRecord? in
      guard let content = item.record.content, item.victim.map({ !isThere($0) }) ?? true,
        catalog.contents.has(content, item.record.location)
      else { return nil }
      return LiveRecord(location: item.record.location, key: nil, content: content)
    }
    return try compactor.moveAway(shared, from: segment, upkeep)
  }

  private func isThere(_ victim: Victim) -> Bool { catalog.keys.find(victim.hash, victim.location) }

  // MARK: The records of a segment

  /// The live records of a segment in the order of their offsets.
  private func items(of segment: Segment) -> [Item] {
    LiveRecordFinder(context: context).records(of: segment).map(item)
  }

  /// Returns the item of a record. Without a header, its size is unknown and counts as 0.
  private func item(_ found: LiveRecordFinder.Found) -> Item {
    let record = found.record
    let payload = (record.content == nil ? 0 : found.header?.payloadUnits ?? 0) * Unit.byteCount
    let head = (found.header?.headUnits ?? 0) * Unit.byteCount
    let hasHead = record.key != nil && found.slot != nil
    let slot = found.slot ?? found.key.flatMap(unpinnedSlot)
    let isShared = slot != nil && (record.content.map { catalog.contents.count($0, record.location) > 1 } ?? false)
    return Item(
      record: record, slot: slot, hash: found.key, byteCount: hasHead ? head + payload : payload,
      boundByteCount: hasHead ? 0 : head, isShared: isShared)
  }

  /// The entry of a key whose head lies elsewhere. A pinned entry stays in any case, so its payload counts like one
  /// that other keys use.
  private func unpinnedSlot(_ key: KeyHash) -> KeySlot? {
    catalog.keys.find(key, counts: false) { $0 }.flatMap { $0.flags.contains(.pinned) ? nil : $0 }
  }
}
