import Synchronization

/// Wakes the background task, and tells it when a checkpoint is wanted.
final class UpkeepSignal: StorePart {
  let context: StoreContext
  let background = Guarded<(any BackgroundTask)?>(nil)
  let wantsCheckpoint = Atomic<Bool>(false)

  init(_ context: StoreContext) {
    self.context = context
  }

  func wake() { background.withLock { $0 }?.wake() }
}
