/// The entries and bytes of the groups that have a limit of their own: styles with a budget, and pinned entries.
///
/// The sums follow from the changes of the index, so they are exact as long as each key was counted once. A style that
/// gets a budget later is counted shard by shard: changes of keys in a shard count from the moment at which that shard
/// was counted.
package struct EntrySums: Equatable, Sendable {
  /// The entries of a style, by its tag, or all pinned entries.
  package struct Group: Hashable, Sendable, Comparable {
    package let number: Int

    /// Returns nil for a number that no group has.
    package init?(_ number: Int) {
      guard (0...Group.pinned.number).contains(number) else { return nil }
      self.number = number
    }

    private init(unchecked number: Int) { self.number = number }

    package static func style(_ tag: UInt16) -> Group { Group(unchecked: Int(tag)) }
    package static let pinned = Group(unchecked: 1 << 16)

    package static func < (a: Group, b: Group) -> Bool { a.number < b.number }

    func contains(_ slot: KeySlot) -> Bool {
      self == .pinned ? slot.flags.contains(.pinned) : Int(slot.styleTag) == number
    }
  }

  /// The size of an entry.
  package struct Size {
    let logicalByteCount: Int
    let headUnits: Int

    package init(logicalByteCount: Int, headUnits: Int) {
      self.logicalByteCount = logicalByteCount
      self.headUnits = headUnits
    }

    /// The bytes of a value count for its style. A pin also keeps the head of the record in the folder.
    func byteCount(in group: Group) -> Int {
      group == .pinned ? logicalByteCount + headUnits * Unit.byteCount : logicalByteCount
    }
  }

  package struct Sum: Equatable, Sendable {
    package var entryCount = 0
    package var byteCount = 0
    /// A bit for each shard that was counted.
    fileprivate var counted: UInt64 = 0

    package init(entryCount: Int = 0, byteCount: Int = 0) {
      self.entryCount = entryCount
      self.byteCount = byteCount
    }

    fileprivate init(counted: UInt64) { self.counted = counted }

    package var isCounted: Bool { counted == .max }
  }

  /// Numbers of entries, counted in the index.
  package struct Counts {
    private(set) var entryCounts: [Group: Int]

    init(of tags: [UInt16]) {
      entryCounts = [.pinned: 0]
      for tag in tags { entryCounts[.style(tag)] = 0 }
    }

    @inline(__always)
    mutating func note(_ slot: KeySlot) {
      if slot.flags.contains(.pinned) { entryCounts[.pinned]! += 1 }
      if entryCounts.count > 1 { entryCounts[.style(slot.styleTag)]? += 1 }
    }
  }

  private var sums: [Group: Sum] = [:]

  package init() {}

  /// Marks each group as uncounted whose sum does not have this number of entries. An earlier release did not keep the
  /// sums, or the checkpoint was written while the group was being counted.
  package mutating func compare(with counts: Counts) {
    for (group, count) in counts.entryCounts {
      if let sum = sums[group], sum.isCounted, sum.entryCount == count { continue }
      sums[group] = count > 0 ? Sum() : group == .pinned ? nil : Sum(counted: .max)
    }
  }

  /// Takes over the saved sums of groups that were counted.
  package init(saved: [(group: Group, sum: Sum)]) {
    for (group, sum) in saved {
      sums[group] = sum
      sums[group]!.counted = .max
    }
  }

  /// Whether no style has a budget, and no entry is pinned.
  @inline(__always) package var isEmpty: Bool { sums.isEmpty }

  /// Whether entries are pinned.
  package var hasPins: Bool { !sums.isEmpty && sums[.pinned] != nil }

  /// The sums of all groups that were counted, for a checkpoint.
  package var saved: [(group: Group, sum: Sum)] {
    sums.filter(\.value.isCounted).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Groups that were not counted to the end.
  package var uncounted: [Group] { sums.filter { !$0.value.isCounted }.keys.sorted() }

  /// Returns the sum of a group; nil if it has no limit, or is not counted yet. Without pinned entries, their sum is 0.
  package subscript(_ group: Group) -> Sum? {
    guard let sum = sums[group] else { return group == .pinned ? Sum(counted: .max) : nil }
    return sum.isCounted ? sum : nil
  }

  /// Counts these styles from now on, and no others. A new one must be counted, unless the store `isEmpty`.
  package mutating func track(_ tags: [UInt16], isEmpty: Bool) {
    let before = sums
    sums = [:]
    sums[.pinned] = before[.pinned]
    for tag in tags { sums[.style(tag)] = before[.style(tag)] ?? Sum(counted: isEmpty ? .max : 0) }
  }

  @inline(__always)
  package mutating func add(_ hash: KeyHash, _ size: Size, isPinned: Bool) {
    if sums.isEmpty && !isPinned { return }
    if isPinned, sums[.pinned] == nil { sums[.pinned] = Sum(counted: .max) }
    change(hash, entryCount: 1, size, isPinned: isPinned)
  }

  @inline(__always)
  package mutating func remove(_ hash: KeyHash, _ size: Size, isPinned: Bool) {
    if sums.isEmpty { return }
    change(hash, entryCount: -1, size, isPinned: isPinned)
  }

  private mutating func change(_ hash: KeyHash, entryCount: Int, _ size: Size, isPinned: Bool) {
    let style = Group.style(hash.styleTag)
    change(style, shard: hash.shard, entryCount: entryCount, byteCount: entryCount * size.byteCount(in: style))
    guard isPinned else { return }
    change(.pinned, shard: hash.shard, entryCount: entryCount, byteCount: entryCount * size.byteCount(in: .pinned))
    if sums[.pinned]?.entryCount == 0, sums[.pinned]?.isCounted == true { sums[.pinned] = nil }
  }

  private mutating func change(_ group: Group, shard: Int, entryCount: Int, byteCount: Int) {
    guard let sum = sums[group], sum.counted & bit(shard) != 0 else { return }
    sums[group]!.entryCount += entryCount
    // A size that was unknown when its entry was counted may be known when the entry is removed.
    sums[group]!.byteCount = max(0, sum.byteCount + byteCount)
  }

  /// Notes that the head of a pinned record has another size in its copy.
  package mutating func changeHead(ofPinned hash: KeyHash, from units: Int, to copied: Int) {
    change(.pinned, shard: hash.shard, entryCount: 0, byteCount: (copied - units) * Unit.byteCount)
  }

  /// Notes that an entry of unknown size is gone. Its groups must be counted again.
  package mutating func forget(_ hash: KeyHash) {
    for group in [.style(hash.styleTag), Group.pinned] where sums[group] != nil { sums[group] = Sum() }
  }

  package mutating func removeAll() {
    sums[.pinned] = nil
    for group in sums.keys { sums[group] = Sum(counted: .max) }
  }

  package func isCounted(_ group: Group, shard: Int) -> Bool { (sums[group]?.counted ?? .max) & bit(shard) != 0 }

  /// Enters the entries of one shard, which was not counted before.
  package mutating func count(_ group: Group, shard: Int, entryCount: Int, byteCount: Int) {
    guard !isCounted(group, shard: shard) else { return }
    sums[group]!.entryCount += entryCount
    sums[group]!.byteCount += byteCount
    sums[group]!.counted |= bit(shard)
    if group == .pinned, sums[group]!.isCounted, sums[group]!.entryCount == 0 { sums[group] = nil }
  }

  private func bit(_ shard: Int) -> UInt64 { 1 << UInt64(shard) }
}
