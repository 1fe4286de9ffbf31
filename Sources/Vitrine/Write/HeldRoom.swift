/// The bytes of the disk that unfinished bodies hold, none of which can be reclaimed before they end.
///
/// A body counts with what was admitted for it; a segment that is closed to others counts whole, once, as long as a body
/// has room in it. The sums are kept up to date, so that asking for them costs a look at the few open segments. Guarded by
/// the store's commit lock.
struct HeldRoom {
  private struct Lender {
    let segment: Segment
    var byteCount = 0
    var bodyCount = 0
    /// The bytes that it counts with, since it was found closed.
    var closedByteCount: Int?
  }

  /// Of bodies without room in a segment.
  private var looseByteCount = 0
  /// By slot: the segments in which bodies have room.
  private var lenders: [Int: Lender] = [:]
  /// Those of them that were open when they were last looked at.
  private var open: [Int] = []
  private var closedByteCount = 0

  /// A body without room was admitted so many more bytes, or fewer.
  mutating func add(_ byteCount: Int) { looseByteCount += byteCount }

  /// The bytes that were admitted for a body lie in a segment from now on.
  mutating func lend(_ segment: Segment, _ byteCount: Int) {
    looseByteCount -= byteCount
    if lenders[segment.slot] == nil {
      lenders[segment.slot] = Lender(segment: segment)
      open.append(segment.slot)
    }
    lenders[segment.slot]?.byteCount += byteCount
    lenders[segment.slot]?.bodyCount += 1
  }

  /// A body with room in a segment has ended.
  mutating func end(_ segment: Segment, _ byteCount: Int) {
    guard var lender = lenders[segment.slot] else { return }
    lender.byteCount -= byteCount
    lender.bodyCount -= 1
    lenders[segment.slot] = lender.bodyCount > 0 ? lender : nil
    if lender.bodyCount > 0 { return }
    open.removeAll { $0 == segment.slot }
    closedByteCount -= lender.closedByteCount ?? 0
  }

  /// A segment was cut to its written part.
  mutating func noteLength(of segment: Segment) {
    guard let counted = lenders[segment.slot]?.closedByteCount else { return }
    lenders[segment.slot]?.closedByteCount = segment.byteCount
    closedByteCount += segment.byteCount - counted
  }

  /// All of it, and the part that lies outside the segments that are open.
  mutating func byteCounts() -> (all: Int, outsideOpen: Int) {
    var byteCount = 0
    open.removeAll { slot in
      guard let lender = lenders[slot] else { return true }
      if lender.segment.state == .open {
        byteCount += lender.byteCount
        return false
      }
      lenders[slot]?.closedByteCount = lender.segment.byteCount
      closedByteCount += lender.segment.byteCount
      return true
    }
    let outside = looseByteCount + closedByteCount
    return (outside + byteCount, outside)
  }
}
