import Synchronization

/// The range of a writable mapping with pages known to be populated, ready for stores.
///
/// Stores touch only such pages: lack of space or a bad disk is an error when they are populated, and would be a
/// signal later. Any thread.
package final class PopulatedPages: Sendable {
  package let mapping: Mapping
  /// Page numbers: the first page in the lower 32 bits, the end in the upper 32 bits.
  private let pages = Atomic<UInt64>(0)

  package init(_ mapping: Mapping) { self.mapping = mapping }

  private static func bytes(_ pages: UInt64) -> Range<Int> {
    Int(pages & 0xFFFF_FFFF) << 12..<Int(pages >> 32) << 12
  }

  package func covers(_ range: Range<Int>) -> Bool {
    let known = PopulatedPages.bytes(pages.load(ordering: .relaxed))
    return known.lowerBound <= range.lowerBound && range.upperBound <= known.upperBound
  }

  /// Whether fewer than `least` known bytes follow a range that is covered, and the mapping has more.
  @inline(__always)
  package func areFew(after range: Range<Int>, least: Int) -> Bool {
    let end = PopulatedPages.bytes(pages.load(ordering: .relaxed)).upperBound
    return end - range.upperBound < least && end < limit
  }

  /// Populates the pages of `range` and of `ahead` bytes more, in place of those known before. Returns false if
  /// they cannot be had. The old pages stay in memory for stores in progress.
  package func move(to range: Range<Int>, ahead: Int) -> Bool {
    let end = min(roundUp(range.upperBound + ahead, to: 4096), limit)
    let wanted = range.lowerBound & ~4095..<max(end, range.lowerBound & ~4095)
    guard range.upperBound <= wanted.upperBound, mapping.populate(wanted) else { return false }
    know(wanted)
    return true
  }

  /// The bytes that pages can cover.
  private var limit: Int { mapping.byteCount & ~4095 }

  /// The next pages to populate for stores from `place` on, until `ahead` bytes behind it are known; nil if they are.
  package func missing(from place: Int, ahead: Int) -> Range<Int>? {
    let known = PopulatedPages.bytes(pages.load(ordering: .relaxed))
    let first = place & ~4095
    let start = known.lowerBound <= first && first <= known.upperBound ? known.upperBound : first
    let end = min(roundUp(place + ahead, to: 4096), limit)
    return start < end ? start..<end : nil
  }

  /// The least bytes of used pages that are released together, because each release interrupts the other cores.
  private static let leastUsed = 512 << 10

  /// Notes that missing pages are populated. `first`: the first byte that stores still need.
  package func add(_ populated: Range<Int>, from first: Int) {
    let known = PopulatedPages.bytes(pages.load(ordering: .relaxed))
    guard populated.lowerBound == known.upperBound else { return know(populated) }
    let unused = min(first & ~4095, known.upperBound)
    let isMuchUsed = unused - known.lowerBound >= PopulatedPages.leastUsed
    know((isMuchUsed ? unused : known.lowerBound)..<populated.upperBound)
  }

  /// Replaces the known pages by these, and releases the earlier pages that lie before them.
  private func know(_ wanted: Range<Int>) {
    let packed = UInt64(wanted.lowerBound >> 12) | UInt64(wanted.upperBound >> 12) << 32
    let old = PopulatedPages.bytes(pages.exchange(packed, ordering: .relaxed))
    if old.lowerBound < wanted.lowerBound {
      mapping.retreat(old.lowerBound..<min(old.upperBound, wanted.lowerBound), keepsLast: true)
    }
  }

  /// Call before a sync, which would otherwise write-protect the pages one by one.
  package func retreat() {
    mapping.retreat(PopulatedPages.bytes(pages.exchange(0, ordering: .relaxed)), keepsLast: false)
  }
}
