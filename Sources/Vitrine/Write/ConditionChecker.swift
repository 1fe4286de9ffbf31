/// The entry that a key must still have when a change is committed: the place of its record, or no entry.
struct ExpectedEntry: Equatable {
  private let location: Location?
  /// The number of the segment. The slot of a retired segment may hold another segment later; within one segment, no
  /// place is used twice.
  private let segment: UInt64

  init(_ location: Location?, _ segments: SegmentTable) {
    self.location = location
    segment = location.map { segments.id($0.slot) } ?? 0
  }
}

/// Compares the entry of a key with the condition of a put. The commit repeats the put if the entry has changed since.
final class ConditionChecker: StorePart {
  let context: StoreContext
  private let lifetimes: Lifetimes
  private let reader: Reader

  init(_ context: StoreContext, lifetimes: Lifetimes, reader: Reader) {
    self.context = context
    self.lifetimes = lifetimes
    self.reader = reader
  }

  /// Returns the entry that the key has now, which the put may replace; nil if it does not meet the condition. Throws
  /// `closed`, and `system` if the entry's file cannot be opened now, or if a damaged head cannot be dropped.
  func entry(of key: OperationKey, meeting condition: PutCondition) throws(StoreError) -> ExpectedEntry? {
    // Checked as by a first read, because a damaged entry counts as absent.
    guard let (slot, pin, _) = try reader.pinForChange(key.url, key.style, key.hash) else {
      return condition.isMet(by: nil) ? ExpectedEntry(nil, catalog.segments) : nil
    }
    defer { pin.release() }
    var digest: Digest?
    if let header = catalog.record(at: slot.location, checks: false)?.header,
      !lifetimes.hasExpired(header.lifetime, slot)
    {
      digest = header.digest
    }
    return condition.isMet(by: digest) ? ExpectedEntry(slot.location, catalog.segments) : nil
  }
}

extension PutCondition {
  /// Whether an unexpired entry with this digest, or none, meets the condition.
  func isMet(by digest: Digest?) -> Bool {
    switch self {
    case .absent: digest == nil
    case .present: digest != nil
    case .digest(let wanted): digest == wanted
    }
  }
}
