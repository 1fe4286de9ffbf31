/// Segments by the slots that locations name. These operations take no lock of the store.
extension StoreProbe {
  /// Returns the segment in a slot; nil if the slot is empty.
  package func segment(inSlot slot: Int) -> Segment? { core.context.catalog.segments.segment(slot) }

  /// Returns the number of the segment in a slot. An empty slot keeps the number of its last segment.
  package func segmentNumber(inSlot slot: Int) -> UInt64 { core.context.catalog.segments.id(slot) }

  /// Returns the offset below which the records of the segment in a slot are vouched for.
  package func mark(inSlot slot: Int) -> Int { core.context.catalog.segments.vouchedUpTo(slot) }

  /// Returns whether the record at a location is vouched for.
  package func isVouched(_ location: Location) -> Bool { core.context.catalog.segments.isVouched(location) }

  /// Returns whether the segment in a slot is mapped.
  package func isMapped(slot: Int) -> Bool { core.context.catalog.segments.isMapped(slot) }

  /// The bytes of segments that Blobs hold, and of unlinked segments.
  package var storage: StorageProbe { StorageProbe(account: core.context.catalog.segments.account) }
}

/// Bytes of segment files that readers hold. Stays valid after the store is closed and released.
package struct StorageProbe: Sendable {
  fileprivate let account: StorageAccount

  /// Bytes of unlinked files that a reader still uses.
  package var unlinkedByteCount: Int { account.unlinkedByteCount }
  /// Bytes of the segments that Blobs hold, unlinked or not, each segment once.
  package var pinnedByteCount: Int { account.pinnedByteCount }
}
