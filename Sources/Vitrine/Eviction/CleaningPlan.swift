/// The fate of the live records of a segment whose space is reclaimed. After S3-FIFO (Yang et al., SOSP 2023), but with
/// queues of segments. Used records of probation go to main, and used records of main get another turn.
/// `Docs/Eviction.md` has the reasons.
struct CleaningPlan {
  /// A segment whose space is reclaimed.
  struct Victim {
    /// Bytes written to the segment.
    let byteCount: Int
    let isMain: Bool
    /// Whether the segment is emptied for its dead bytes, before its turn in the queue.
    let isSparse: Bool
    let isSingle: Bool
    /// The share of bytes, live or bound, from which the segment is not sparse.
    var mostLive = CleaningPlan.sparseShare
  }

  /// A live record of the victim.
  struct Item {
    /// Number of uses, at most 3.
    let uses: Int
    /// Bytes of its head and payload, as far as they are live.
    let byteCount: Int
    /// Whether its key has an entry that uses it. Otherwise only other keys use its payload.
    let hasKey: Bool
    /// Whether the entry is pinned. A pinned record is never dropped.
    var isPinned = false
    /// Whether other keys use its payload, too. If the entry is dropped, the payload stays all the same.
    var isShared = false
    /// Bytes of the record's dead head, which a copy of the payload takes along.
    var boundByteCount = 0

    var copiedByteCount: Int { byteCount + boundByteCount }
    /// Whether the segment can be emptied only if the record is copied.
    var isKept: Bool { !hasKey || isPinned }
  }

  /// Whether the segment is not emptied but goes to the end of main.
  let isQueuedAgain: Bool
  /// Indices of the items to copy, the most useful first, and of those to drop. Empty if the segment is queued again.
  let copies: [Int]
  let drops: [Int]
  /// Whether the segment is not emptied, because copies of its records would free too little and would be copied again
  /// at the next turn, without end. The entries in `drops` are evicted nevertheless.
  let isVain: Bool

  /// The live share below which a segment is emptied for its dead bytes.
  static let sparseShare = 0.5
  /// A segment that is not sparse is emptied only if this share of it is dead, dropped or used. To reclaim dead bytes,
  /// this share must be dead.
  static let leastDeadShare = 1.0 / 16

  /// `usesPerByte`: the average of recent victims. If `mayStay` is false, the segment is not queued again.
  init(_ victim: Victim, _ items: [Item], by rules: CleaningRules, usesPerByte: Double, mayStay: Bool = true) {
    isQueuedAgain = mayStay && !victim.isSparse && CleaningPlan.staysWhole(victim, items, rules, usesPerByte)
    if isQueuedAgain {
      (copies, drops, isVain) = ([], [], false)
      return
    }
    isVain = CleaningPlan.isVain(victim, items)
    func isCopied(_ item: Item) -> Bool {
      if victim.isSparse || item.isKept { return true }
      return item.uses > 0 && !victim.isSingle
        && Double(item.uses) >= rules.copiedDensity * usesPerByte * Double(item.byteCount)
    }
    func value(_ item: Item) -> Double {
      if item.isKept { return .infinity }
      return Double(item.uses + (victim.isSparse ? 1 : 0)) / Double(max(1, item.byteCount))
    }
    copies = items.indices.filter { isCopied(items[$0]) }
      .sorted { (value(items[$0]), $1) > (value(items[$1]), $0) }
    drops = items.indices.filter { !isCopied(items[$0]) }
  }

  /// Whether copies of the segment would free too little. A sparse segment must be sparse with its bound heads. In any
  /// other segment, payloads that other keys use and pinned records, with bound heads, must not fill nearly all of it.
  /// The other records are dropped, or spend uses when they are copied, so they are copied a few times at most.
  static func isVain(_ victim: Victim, _ items: [Item]) -> Bool {
    let kept = items.filter { victim.isSparse || $0.isKept || $0.isShared }.reduce(0) { $0 + $1.copiedByteCount }
    if victim.isSparse { return Double(kept) >= victim.mostLive * Double(victim.byteCount) }
    return Double(kept) > (1 - CleaningPlan.leastDeadShare) * Double(victim.byteCount)
  }

  private static func staysWhole(
    _ victim: Victim, _ items: [Item], _ rules: CleaningRules, _ usesPerByte: Double
  ) -> Bool {
    if victim.isSingle {
      guard let item = items.first, item.hasKey else { return false }
      if item.isPinned { return true }
      if item.uses == 0 { return false }
      return Double(item.uses) >= usesPerByte * Double(item.byteCount)
    }
    let used = items.reduce(0) { $0 + ($1.hasKey && ($1.uses > 0 || $1.isPinned) ? $1.byteCount : 0) }
    let share = victim.isMain ? rules.stayingShare.main : rules.stayingShare.probation
    return used > 0 && Double(used) >= share * Double(victim.byteCount)
  }

  /// The uses that an item keeps when it is copied or its segment is queued again. An item of probation spends all of
  /// its uses. An item of main spends all or one, by the rules of the policy. So no segment stays forever, unless its
  /// entries are pinned or used again.
  static func remainingUses(_ uses: Int, isMain: Bool, by rules: CleaningRules) -> Int {
    isMain && !rules.spendsAllUses ? max(0, uses - 1) : 0
  }
}
