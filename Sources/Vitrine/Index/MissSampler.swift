import Synchronization

/// Follows the requests of a store's sampled keys (``MissSample``).
///
/// A get reads one word, the threshold, and compares it with the key's hash. The word changes a few dozen times in
/// the life of an opening and lies on a cache line of its own, so gets of keys that are not sampled share no memory
/// that is written. A get of a sampled key takes the lock of the sample, which no other get takes, and no other lock
/// is taken under it.
///
/// Invariant: `threshold` is initialized memory until deinit.
package final class MissSampler: @unchecked Sendable {
  private static let lineByteCount = 128
  private let threshold: UnsafeMutablePointer<Atomic<UInt64>>
  private let sample = Guarded(MissSample())

  init() {
    threshold = UnsafeMutableRawPointer.allocate(
      byteCount: MissSampler.lineByteCount, alignment: MissSampler.lineByteCount
    ).bindMemory(to: Atomic<UInt64>.self, capacity: 1)
    threshold.initialize(to: Atomic(0))
  }

  deinit {
    threshold.deinitialize(count: 1)
    UnsafeMutableRawPointer(threshold).deallocate()
  }

  /// Begins to follow keys. Until then, no key is sampled: readers of a store that another opening writes never begin.
  func begin(byteBudget: Int) {
    changing { sample in sample.farthestBytes = MissSampler.farthest(byteBudget) }
  }

  @inline(__always)
  func follows(_ hash: KeyHash) -> Bool {
    MissSample.mixed(hash) < threshold.pointee.load(ordering: .relaxed)
  }

  /// Counts a request of a key that the sampler follows.
  @inline(never)
  func noteRequest(_ hash: KeyHash, _ outcome: MissSample.Outcome, now: () -> Int64) {
    changing { sample in sample.noteRequest(MissSample.mixed(hash), outcome, now: now) }
  }

  /// Notes that a key that the sampler follows got a value. `due`: when it expires, in milliseconds since 1970.
  func notePut(_ hash: KeyHash, byteCount: Int, due: Int64?) {
    changing { sample in sample.notePut(MissSample.mixed(hash), byteCount: byteCount, due: due) }
  }

  func noteRemoval(_ hash: KeyHash) { changing { sample in sample.remove(MissSample.mixed(hash)) } }

  func noteRemovalOfAll() {
    if threshold.pointee.load(ordering: .relaxed) > 0 { changing { sample in sample.removeAll() } }
  }

  /// Calls `body` with the sample, which follows uses as far back as this budget asks for.
  func withSample<R>(byteBudget: Int, _ body: (MissSample) -> R) -> R {
    sample.withLock { sample in
      sample.farthestBytes = MissSampler.farthest(byteBudget)
      return body(sample)
    }
  }

  private func changing(_ body: (inout MissSample) -> Void) {
    sample.withLock { sample in
      body(&sample)
      if threshold.pointee.load(ordering: .relaxed) != sample.threshold {
        threshold.pointee.store(sample.threshold, ordering: .relaxed)
      }
    }
  }

  /// Twice the largest budget of the curve. Compressed and shared values may have more bytes than the budget.
  private static func farthest(_ byteBudget: Int) -> Int { byteBudget &* 16 }
}
