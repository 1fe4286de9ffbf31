import Synchronization

/// The durability of the write-ahead log. Any thread makes frames durable while the ``LogWriter`` appends others, and
/// concurrent calls share one sync (group commit).
///
/// Invariant: the fields below `monitor` are touched only with it locked. The fields above it are atomic.
package final class WAL: @unchecked Sendable {
  /// One more than the number of the last complete frame.
  private let appended: Atomic<UInt64>
  /// All frames below this number are durable.
  private let durable: Atomic<UInt64>
  /// Bytes of frames written since opening.
  private let written = Atomic<Int>(0)
  private let smallestFile: Atomic<Int>
  private let hasEnded = Atomic<Bool>(false)
  /// The bytes for frames in the smallest file, so a frame of this length fits into any empty file. Grows and shrinks
  /// with the files.
  package var capacity: Int { smallestFile.load(ordering: .relaxed) }

  private let monitor = Monitor()
  // The monitor guards the following.
  private var isSyncing = false
  /// Syncs that were begun, and the last one that ended.
  private var begun = 0
  private var ended = 0
  /// Files with frames that may not be durable, oldest first.
  private var unsynced: [Unsynced] = []
  private var failure: SystemError?

  private struct Unsynced {
    let file: LogFile
    let use: UInt64
  }

  init(capacity: Int, nextSequence: UInt64, durableSequence: UInt64) {
    smallestFile = Atomic(capacity)
    // Everything before this opening is complete; only a part may be known to be durable.
    appended = Atomic(nextSequence)
    durable = Atomic(durableSequence)
  }

  package var writtenByteCount: Int { written.load(ordering: .relaxed) }

  /// Refuses all later frames: the store is closed, its folder is gone, or a write has failed. Any thread.
  package func end() { hasEnded.store(true, ordering: .releasing) }

  /// Throws if the log has ended.
  @inline(__always)
  func requireOpen() throws(SystemError) {
    if hasEnded.load(ordering: .acquiring) { throw WAL.refusal }
  }

  /// The error of a log that takes no frames.
  package static let refusal = SystemError(
    code: SystemError.badDescriptor, operation: "append to the log", path: "wal")

  // MARK: Appending (only the writer)

  func set(capacity: Int) { smallestFile.store(capacity, ordering: .relaxed) }

  /// Notes a file that takes frames from now on.
  func begin(_ file: LogFile, use: UInt64) {
    monitor.lock()
    unsynced.append(Unsynced(file: file, use: use))
    monitor.unlock()
  }

  /// Notes a complete frame. `sequence` is the number of the next one.
  func note(appendedBelow sequence: UInt64, byteCount: Int) {
    written.wrappingAdd(byteCount, ordering: .relaxed)
    appended.store(sequence, ordering: .releasing)
  }

  /// Notes that numbers were used up by changes which a durable checkpoint holds.
  func note(skippedBelow sequence: UInt64) {
    appended.store(sequence, ordering: .releasing)
    monitor.lock()
    durable.store(sequence, ordering: .releasing)
    monitor.unlock()
  }

  // MARK: Durability (any thread)

  /// One more than the newest complete frame.
  package var appendedSequence: UInt64 { appended.load(ordering: .acquiring) }
  package var durableSequence: UInt64 { durable.load(ordering: .acquiring) }

  /// Enters the files of replayed frames, which may not be durable: they are synced before any newer frame counts
  /// as durable.
  func adoptUnsynced(_ files: [(file: LogFile, use: UInt64)]) {
    monitor.lock()
    unsynced.insert(contentsOf: files.map { Unsynced(file: $0.file, use: $0.use) }.sorted { $0.use < $1.use }, at: 0)
    monitor.unlock()
  }

  /// Returns when all frames below `sequence` are durable. Concurrent callers share a sync. A sync that failed fails
  /// this call and every later one.
  package func makeDurable(below sequence: UInt64) throws(SystemError) {
    if durable.load(ordering: .acquiring) >= sequence, sequence > 0 { return }
    monitor.lock()
    defer { monitor.unlock() }
    try sync { durable.load(ordering: .relaxed) >= sequence }
  }

  /// Syncs the file that takes frames, with its header, and all files before it. The system reports a failed write to one
  /// sync only. So every sync of a file with frames is made here: a thread that waits for its frame does not miss a
  /// failure that another thread's sync has met.
  package func sync() throws(SystemError) {
    monitor.lock()
    defer { monitor.unlock() }
    let next = begun + 1
    try sync { ended >= next }
  }

  /// Syncs the files until `isEnough`. The caller holds the monitor, which is released during a sync.
  private func sync(until isEnough: () -> Bool) throws(SystemError) {
    while true {
      if let failure { throw failure }
      if isEnough() { return }
      if isSyncing {
        monitor.wait()
        continue
      }
      isSyncing = true
      begun += 1
      // The number first, the files after: a frame below the number lies in a file of this list.
      let target = appended.load(ordering: .acquiring)
      let files = unsynced
      monitor.unlock()
      var failed: SystemError?
      for file in files where failed == nil {
        do throws(SystemError) { try file.file.sync() } catch { failed = error }
      }
      monitor.lock()
      isSyncing = false
      ended = begun
      if let failed {
        failure = failed
      } else {
        // The newest file may be written to again; the older ones are complete.
        unsynced.removeAll { file in files.dropLast().contains { $0.use == file.use } }
        if target > durable.load(ordering: .relaxed) { durable.store(target, ordering: .releasing) }
      }
      monitor.signalAll()
    }
  }
}
