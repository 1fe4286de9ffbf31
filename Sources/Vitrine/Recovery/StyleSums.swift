/// The entries and bytes of each style that has a budget, by the tag of the style.
///
/// The sums follow from the changes of the index, so they are exact as long as each key was counted once. A style that
/// gets a budget later is counted shard by shard: changes of keys in a shard count from the moment at which that shard
/// was counted.
package struct StyleSums: Equatable, Sendable {
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

  private var sums: [UInt16: Sum] = [:]

  package init() {}

  /// Takes over the saved sums of styles that were counted.
  package init(saved: [(tag: UInt16, sum: Sum)]) {
    for (tag, sum) in saved {
      sums[tag] = sum
      sums[tag]!.counted = .max
    }
  }

  /// Whether no style has a budget.
  @inline(__always) package var isEmpty: Bool { sums.isEmpty }

  /// The sums of all styles that were counted, for a checkpoint.
  package var saved: [(tag: UInt16, sum: Sum)] {
    sums.filter(\.value.isCounted).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Tags of styles that were not counted to the end.
  package var uncounted: [UInt16] { sums.filter { !$0.value.isCounted }.keys.sorted() }

  /// Returns the sum of a style; nil if it has no budget, or is not counted yet.
  package subscript(_ tag: UInt16) -> Sum? { sums[tag].flatMap { $0.isCounted ? $0 : nil } }

  /// Counts these styles from now on, and no others. A new one must be counted, unless the store `isEmpty`.
  package mutating func track(_ tags: [UInt16], isEmpty: Bool) {
    let before = sums
    sums = [:]
    for tag in tags { sums[tag] = before[tag] ?? Sum(counted: isEmpty ? .max : 0) }
  }

  @inline(__always)
  package mutating func add(_ hash: KeyHash, byteCount: Int) {
    if !sums.isEmpty { change(hash, entryCount: 1, byteCount: byteCount) }
  }

  @inline(__always)
  package mutating func remove(_ hash: KeyHash, byteCount: Int) {
    if !sums.isEmpty { change(hash, entryCount: -1, byteCount: -byteCount) }
  }

  private mutating func change(_ hash: KeyHash, entryCount: Int, byteCount: Int) {
    guard let sum = sums[hash.styleTag], sum.counted & bit(hash.shard) != 0 else { return }
    sums[hash.styleTag]!.entryCount += entryCount
    sums[hash.styleTag]!.byteCount += byteCount
    // The size of an entry with a damaged record is unknown when the entry is removed.
    if sum.isCounted, sum.entryCount + entryCount == 0 { sums[hash.styleTag]!.byteCount = 0 }
  }

  /// Notes that an entry of unknown size is gone. Its style must be counted again.
  package mutating func forget(_ hash: KeyHash) {
    if sums[hash.styleTag] != nil { sums[hash.styleTag] = Sum() }
  }

  package mutating func removeAll() {
    for tag in sums.keys { sums[tag] = Sum(counted: .max) }
  }

  package func isCounted(_ tag: UInt16, shard: Int) -> Bool { (sums[tag]?.counted ?? .max) & bit(shard) != 0 }

  /// Enters the entries of one shard, which was not counted before.
  package mutating func count(_ tag: UInt16, shard: Int, entryCount: Int, byteCount: Int) {
    guard !isCounted(tag, shard: shard) else { return }
    sums[tag]!.entryCount += entryCount
    sums[tag]!.byteCount += byteCount
    sums[tag]!.counted |= bit(shard)
  }

  private func bit(_ shard: Int) -> UInt64 { 1 << UInt64(shard) }
}
