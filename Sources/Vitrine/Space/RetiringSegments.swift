/// Retired segments whose bytes others may still hold.
struct RetiringSegments {
  private struct Leaving {
    weak var storage: SegmentStorage?
  }

  /// Segments in their slots: a reader may have them pinned.
  private(set) var segments: [Segment] = []
  /// Segments without a slot that a sync or a `Blob` may still hold.
  private var leaving: [Leaving] = []

  mutating func add(_ segment: Segment) { segments.append(segment) }

  /// Forgets the segments for which `isFree` returns true: they have left their slots.
  mutating func forget(_ isFree: (Segment) -> Bool) {
    segments.removeAll { segment in
      guard isFree(segment) else { return false }
      leaving.append(Leaving(storage: segment.storage))
      return true
    }
    leaving.removeAll { $0.storage == nil }
  }

  /// Whether some unlinked bytes are held only by syncs and other short operations.
  var leaveSoon: Bool { leaving.contains { ($0.storage?.leavingByteCount ?? 0) > 0 } }

  /// Whether another thread pins some unlinked bytes.
  func areLeaving(_ table: SegmentTable) -> Bool {
    segments.contains { table.isPinnedByOthers($0.slot) && ($0.storage?.leavingByteCount ?? 0) > 0 }
  }

  /// Whether another thread pins one of them.
  func areBorrowed(_ table: SegmentTable) -> Bool { segments.contains { table.isPinnedByOthers($0.slot) } }
}
