/// Heads of records that a thread has read before it takes the commit lock, where no segment is mapped: what it then looks
/// up again costs no read. A record stays what it is for as long as its segment is there, so a head counts for as long as
/// its slot is that segment's.
package final class HeadsAhead {
  private var heads: [Location: (segment: UInt64, view: RecordView)] = [:]
  private var byteCount = 0
  /// Bytes of heads that are kept; the others are read again.
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

extension Catalog {
  /// The header at a location where the commit lock is held: one that was read ahead, or else ``record(at:checks:)``.
  @inline(__always)
  package func lockedRecord(at location: Location, checks: Bool) -> RecordView? {
    if let heads, let view = heads.view(at: location, in: segments.id(location.slot)) { return view }
    return record(at: location, checks: checks)
  }
}
