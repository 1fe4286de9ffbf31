import Synchronization

/// Compares the free bytes of the disk with the minimum that the store leaves to other programs.
final class DiskWatch: StorePart {
  let context: StoreContext
  /// The size of the folder after a trim that did not free enough; -1 if there was none. Only a larger folder is trimmed
  /// again.
  private let leastByteCount = Atomic<Int>(-1)

  init(_ context: StoreContext) { self.context = context }

  /// Returns how many bytes the disk lacks for the minimum if the store takes `byteCount` more; 0 or less if it lacks
  /// none. Also 0 if there is no minimum, or if the file system does not report its free bytes. Costs one system call.
  func missing(_ byteCount: Int) -> Int {
    let minimum = commitLock.withLock { held in held.state.current.minimumFree }
    guard minimum > 0, let available = try? folders.root.availableByteCount() else { return 0 }
    return minimum + byteCount - available
  }

  /// Returns whether trimming a folder of `byteCount` bytes may free disk space.
  func mayGive(_ byteCount: Int) -> Bool { byteCount > leastByteCount.load(ordering: .relaxed) }

  /// Notes the size of a folder that cannot be trimmed further; nil if the next trim may free disk space.
  func noteLeast(_ byteCount: Int?) { leastByteCount.store(byteCount ?? -1, ordering: .relaxed) }
}
