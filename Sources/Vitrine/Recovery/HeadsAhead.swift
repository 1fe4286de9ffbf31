/// Heads of records that a thread has read before it takes the commit lock, if no segment is mapped: looking them
/// up under the lock then costs no read. A record never changes while its segment exists, so a head is valid as
/// long as its slot belongs to that segment.
package final class HeadsAhead {
  private var heads: [Location: (segment: UInt64, view: RecordView)] = [:]
  private var byteCount = 0
  /// The bytes of heads that are kept; other heads are read again.
  private static let limit = 16 << 20

  package init() {}

  func note(_ view: RecordView, at location: Location, in segment: UInt64) {
    guard let copy = view.copy?.trimmed(to: view.header.endOfHead), byteCount < HeadsAhead.limit else { return }
    byteCount += view.header.endOfHead
    heads[location] = (segment, RecordView(header: view.header, copy: copy))
  }

  func view(at location: Location, in segment: UInt64) -> RecordView? {
    guard let head = heads[location], head.segment == segment else { return nil }
    return head.view
  }
}
