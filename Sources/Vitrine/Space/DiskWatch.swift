/// Compares the free bytes of the disk with the minimum that the store leaves to other programs.
final class DiskWatch: StorePart {
  let context: StoreContext
  private let state = Guarded(State())

  private struct State {
    /// The size of the folder after a trim that did not reach its goal; nil if there was none. Only a larger folder is
    /// trimmed again.
    var leastByteCount: Int?
    /// Freed bytes that the file system does not report as free yet.
    var hiddenByteCount = 0
    /// The monotonic time in nanoseconds until which these count as free.
    var hiddenUntil: UInt64 = 0
  }

  init(_ context: StoreContext) { self.context = context }

  /// Nanoseconds that a reader has to release a removed file, and a file system to free its blocks.
  private static let patience: UInt64 = 10_000_000_000

  /// Returns the number of bytes that the disk lacks for the minimum if the store takes `byteCount` more; 0 or less if
  /// it lacks none. Also 0 if there is no minimum, or if the file system does not report its free bytes. Costs one
  /// system call.
  func missing(_ byteCount: Int) -> Int {
    let minimum = commitLock.withLock { held in held.state.current.minimumFree }
    guard minimum > 0, let available = try? folders.root.availableByteCount() else { return 0 }
    let now = environment.clock.monotonicNanoseconds()
    return minimum + byteCount - available - state.withLock { now < $0.hiddenUntil ? $0.hiddenByteCount : 0 }
  }

  /// Frees disk space by `body`. Bytes that the folder has lost and the disk has not gained count as free for a while.
  /// Another process may hold the removed files, and the same bytes must not be freed twice.
  func giving<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    let (folder, available) = (folderByteCount, try? folders.root.availableByteCount())
    let result = try body()
    if let available, let left = try? folders.root.availableByteCount() {
      let hidden = max(0, folder - folderByteCount - max(0, left - available))
      let now = environment.clock.monotonicNanoseconds()
      state.withLock { state in
        if now >= state.hiddenUntil { state.hiddenByteCount = 0 }
        state.hiddenByteCount += hidden
        if hidden > 0 { state.hiddenUntil = now + DiskWatch.patience }
      }
    }
    return result
  }

  /// The bytes of the folder, by the ledger.
  var folderByteCount: Int { commitLock.withLock { held in held.state.ledger.total } }

  /// Returns whether trimming a folder of `byteCount` bytes may free disk space.
  func mayGive(_ byteCount: Int) -> Bool { state.withLock { byteCount > $0.leastByteCount ?? -1 } }

  /// Notes the size of a folder that cannot be trimmed further; nil if the next trim may free disk space.
  func noteLeast(_ byteCount: Int?) { state.withLock { $0.leastByteCount = byteCount } }
}
