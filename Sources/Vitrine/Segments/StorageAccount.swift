import Synchronization

/// The disk space of segment files that the catalog alone does not control: unlinked files still in use, and files
/// that Blobs hold. Outlives the store as long as a Blob does; any thread, no lock.
package final class StorageAccount: Sendable {
  private let unlinked = Atomic<Int>(0)
  private let pinned = Atomic<Int>(0)

  package init() {}

  /// Bytes of unlinked files that a reader still uses.
  package var unlinkedByteCount: Int { unlinked.load(ordering: .relaxed) }
  /// Bytes of the segments that Blobs hold, unlinked or not, each segment once.
  package var pinnedByteCount: Int { pinned.load(ordering: .relaxed) }

  func enterUnlinked(_ byteCount: Int) { unlinked.wrappingAdd(byteCount, ordering: .relaxed) }

  /// Returns false if that would raise the bytes held by Blobs above `limit`.
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
