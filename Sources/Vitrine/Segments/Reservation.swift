/// A range of an open segment: reserved, then filled, then committed by a frame that names it. An abandoned one is
/// dead space that nothing names.
///
/// Invariant: the segment and its window stay in their table until the reservation was filled and committed or
/// abandoned, so no reference is counted here.
package struct Reservation: @unchecked Sendable {
  package unowned(unsafe) let segment: Segment
  package unowned(unsafe) let window: FillWindow?
  package let offset: Int
  /// From the record's start.
  package let payloadOffset: Int
  package let endOffset: Int

  package var location: Location { Location(slot: segment.slot, offset: offset) }
}
