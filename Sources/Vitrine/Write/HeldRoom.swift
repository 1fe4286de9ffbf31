/// The bytes of the disk that unfinished bodies hold. None of them can be reclaimed before the bodies end.
///
/// A body counts with the bytes admitted for it. A segment that is closed to others counts whole, once, as long as a
/// body has room in it. The sums are kept up to date, so reading them costs a look at the few open segments.
struct HeldRoom {
  private struct Holding {
    let segment: Segment
    var byteCount = 0
    var bodyCount = 0
    /// The bytes with which the segment counts since it was found closed; nil before that.
    var closedByteCount: Int?
  }

  /// Bytes of bodies without room in a segment.
  private var looseByteCount = 0
  /// The segments in which bodies have room, by slot.
  private var holdings: [Int: Holding] = [:]
  /// Slots of these segments that were open when they were last looked at.
  private var open: [Int] = []
  private var closedByteCount = 0

  /// Adds bytes that were admitted for a body without room in a segment. A negative count takes bytes back.
  mutating func add(_ byteCount: Int) { looseByteCount += byteCount }

  /// Notes that the bytes admitted for a body lie in a segment from now on.
  mutating func add(_ segment: Segment, _ byteCount: Int) {
    looseByteCount -= byteCount
    if holdings[segment.slot] == nil {
      holdings[segment.slot] = Holding(segment: segment)
      open.append(segment.slot)
    }
    holdings[segment.slot]?.byteCount += byteCount
    holdings[segment.slot]?.bodyCount += 1
  }

  /// Ends a body with room in a segment.
  mutating func end(_ segment: Segment, _ byteCount: Int) {
    guard var holding = holdings[segment.slot] else { return }
    holding.byteCount -= byteCount
    holding.bodyCount -= 1
    holdings[segment.slot] = holding.bodyCount > 0 ? holding : nil
    if holding.bodyCount > 0 { return }
    open.removeAll { $0 == segment.slot }
    closedByteCount -= holding.closedByteCount ?? 0
  }

  /// Notes that a segment was cut to its written part.
  mutating func noteLength(of segment: Segment, _ byteCount: Int) {
    guard let counted = holdings[segment.slot]?.closedByteCount else { return }
    holdings[segment.slot]?.closedByteCount = byteCount
    closedByteCount += byteCount - counted
  }

  /// Returns all held bytes, and the part that lies outside the open segments.
  mutating func byteCounts(_ segments: borrowing SegmentAccounts) -> (all: Int, outsideOpen: Int) {
    var byteCount = 0
    open.removeAll { slot in
      guard let holding = holdings[slot] else { return true }
      if segments[holding.segment].state == .open {
        byteCount += holding.byteCount
        return false
      }
      holdings[slot]?.closedByteCount = segments[holding.segment].byteCount
      closedByteCount += segments[holding.segment].byteCount
      return true
    }
    let outside = looseByteCount + closedByteCount
    return (outside + byteCount, outside)
  }
}
