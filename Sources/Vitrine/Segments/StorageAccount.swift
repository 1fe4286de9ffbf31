import Synchronization

/// What segment files take that the catalog alone does not decide about: those without a name that are still in use,
/// and those that Blobs hold. Outlives the store as long as a Blob does; any thread, no lock.
package final class StorageAccount: Sendable {
  private let unlinked = Atomic<Int>(0)
  private let pinned = Atomic<Int>(0)

  package init() {}

  /// Bytes of files without a name that somebody still reads.
  package var unlinkedByteCount: Int { unlinked.load(ordering: .relaxed) }
  /// Bytes of the segments that Blobs hold, with or without a name, each segment once.
  package var pinnedByteCount: Int { pinned.load(ordering: .relaxed) }

  func enterUnlinked(_ byteCount: Int) { unlinked.wrappingAdd(byteCount, ordering: .relaxed) }

  /// False when that would make the sum of what Blobs hold more than `limit`.
  func enterPinned(_ byteCount: Int, limit: Int) -> Bool {
    var sum = pinnedByteCount
    while sum + byteCount <= limit {
      let (isDone, found) = pinned.compareExchange(
        expected: sum, desired: sum + byteCount, ordering: .relaxed)
      if isDone { return true }
      sum = found
    }
    return false
  }

  func leavePinned(_ byteCount: Int) { pinned.wrappingSubtract(byteCount, ordering: .relaxed) }
}
