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

  private var sums: [Group: Sum] = [:]

  package init() {}

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
  package mutating func add(_ hash: KeyHash, byteCount: Int, isPinned: Bool) {
    if sums.isEmpty && !isPinned { return }
    if isPinned, sums[.pinned] == nil { sums[.pinned] = Sum(counted: .max) }
    change(hash, entryCount: 1, byteCount: byteCount, isPinned: isPinned)
  }

  @inline(__always)
  package mutating func remove(_ hash: KeyHash, byteCount: Int, isPinned: Bool) {
    if sums.isEmpty { return }
    change(hash, entryCount: -1, byteCount: -byteCount, isPinned: isPinned)
  }

  private mutating func change(_ hash: KeyHash, entryCount: Int, byteCount: Int, isPinned: Bool) {
    change(.style(hash.styleTag), shard: hash.shard, entryCount: entryCount, byteCount: byteCount)
    guard isPinned else { return }
    change(.pinned, shard: hash.shard, entryCount: entryCount, byteCount: byteCount)
    if sums[.pinned]?.entryCount == 0, sums[.pinned]?.isCounted == true { sums[.pinned] = nil }
  }

  private mutating func change(_ group: Group, shard: Int, entryCount: Int, byteCount: Int) {
    guard let sum = sums[group], sum.counted & bit(shard) != 0 else { return }
    sums[group]!.entryCount += entryCount
    sums[group]!.byteCount += byteCount
    // The size of an entry with a damaged record is unknown when the entry is removed.
    if sum.isCounted, sum.entryCount + entryCount == 0 { sums[group]!.byteCount = 0 }
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
