import CacheCtlKit
import Vitrine

/// Sums over all entries of a store.
struct EntryTally {
  struct Sum {
    var entryCount = 0
    /// The bytes of the values, as gets return them.
    var byteCount = 0
  }

  private(set) var styles: [String: Sum] = [:]
  private(set) var encodings: [String: Sum] = [:]
  private(set) var sizes = SizeHistogram()
  private(set) var recency = AgeHistogram()
  private let now = Time.wallMilliseconds()

  mutating func add(_ entry: EntryInfo) {
    add(entry, to: &styles[entry.key.style.name, default: Sum()])
    add(entry, to: &encodings["\(entry.encoding)", default: Sum()])
    sizes.add(entry.byteCount)
    recency.add(ageMilliseconds: entry.lastUsedMilliseconds.map(age), byteCount: entry.byteCount)
  }

  private func age(_ moment: Int64) -> Int64 {
    let (age, overflow) = now.subtractingReportingOverflow(moment)
    return overflow ? .max : age
  }

  private func add(_ entry: EntryInfo, to sum: inout Sum) {
    sum.entryCount += 1
    sum.byteCount += entry.byteCount
  }
}

extension [String: EntryTally.Sum] {
  var byName: [(name: String, sum: EntryTally.Sum)] {
    map { (name: $0.key, sum: $0.value) }.sorted { $0.name < $1.name }
  }

  /// The sum with the most bytes first.
  var byByteCount: [(name: String, sum: EntryTally.Sum)] {
    byName.sorted { $0.sum.byteCount > $1.sum.byteCount }
  }
}
