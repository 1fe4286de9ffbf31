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

  /// Populates the pages of `range` and of `ahead` bytes more, in place of those known before. Returns false if
  /// they cannot be had. The old pages stay in memory for stores in progress.
  package func move(to range: Range<Int>, ahead: Int) -> Bool {
    let end = min(roundUp(range.upperBound + ahead, to: 4096), mapping.byteCount & ~4095)
    let wanted = range.lowerBound & ~4095..<max(end, range.lowerBound & ~4095)
    guard range.upperBound <= wanted.upperBound, mapping.populate(wanted) else { return false }
    let packed = UInt64(wanted.lowerBound >> 12) | UInt64(wanted.upperBound >> 12) << 32
    let old = PopulatedPages.bytes(pages.exchange(packed, ordering: .relaxed))
    if old.lowerBound < wanted.lowerBound {
      mapping.retreat(old.lowerBound..<min(old.upperBound, wanted.lowerBound))
    }
    return true
  }

  /// Call before a sync, which would otherwise write-protect the pages one by one.
  package func retreat() {
    mapping.retreat(PopulatedPages.bytes(pages.exchange(0, ordering: .relaxed)))
  }
}
