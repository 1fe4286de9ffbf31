import Synchronization

/// Compares the free bytes of the disk with the minimum that the store leaves to other programs.
final class DiskWatch: StorePart {
  let context: StoreContext
  /// The size of the folder at which nothing more could be given back. A larger store tries again.
  private let leastByteCount = Atomic<Int>(-1)

  init(_ context: StoreContext) { self.context = context }

  /// The bytes by which the disk falls short of the minimum once the store takes `byteCount` more; 0 or less if it does
  /// not, if there is no minimum, and if the file system does not tell. Costs one system call.
  func missing(_ byteCount: Int) -> Int {
    let minimum = commitLock.withLock { held in held.state.current.minimumFree }
    guard minimum > 0, let available = try? folders.root.availableByteCount() else { return 0 }
    return minimum + byteCount - available
  }

  /// Whether a store of `byteCount` bytes may have something to give back.
  func mayGive(_ byteCount: Int) -> Bool { byteCount > leastByteCount.load(ordering: .relaxed) }

  /// Notes that nothing more could be given back from a store of `byteCount` bytes; nil if it could.
  func noteLeast(_ byteCount: Int?) { leastByteCount.store(byteCount ?? -1, ordering: .relaxed) }
}
