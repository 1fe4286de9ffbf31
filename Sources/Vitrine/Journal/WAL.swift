import Synchronization

/// The durability of the write-ahead log. Any thread makes frames durable while the ``LogWriter`` appends others, and
/// concurrent calls share one sync (group commit).
package final class WAL: Sendable {
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

  private let syncs = SharedSync()
  private let state = Guarded(State())

  private struct State {
    /// Files with frames that may not be durable, oldest first.
    var unsynced: [Unsynced] = []
    /// The first sync that failed.
    var failure: SystemError?
  }

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
    state.withLock { $0.unsynced.append(Unsynced(file: file, use: use)) }
  }

  /// Notes a complete frame. `sequence` is the number of the next one.
  func note(appendedBelow sequence: UInt64, byteCount: Int) {
    written.wrappingAdd(byteCount, ordering: .relaxed)
    appended.store(sequence, ordering: .releasing)
  }

  /// Notes that numbers were used up by changes which a durable checkpoint holds.
  func note(skippedBelow sequence: UInt64) {
    appended.store(sequence, ordering: .releasing)
    durable.max(sequence, ordering: .releasing)
  }

  // MARK: Durability (any thread)

  /// One more than the newest complete frame.
  package var appendedSequence: UInt64 { appended.load(ordering: .acquiring) }
  package var durableSequence: UInt64 { durable.load(ordering: .acquiring) }

  /// Enters the files of replayed frames, which may not be durable: they are synced before any newer frame counts
  /// as durable.
  func adoptUnsynced(_ files: [(file: LogFile, use: UInt64)]) {
    let files = files.map { Unsynced(file: $0.file, use: $0.use) }.sorted { $0.use < $1.use }
    state.withLock { $0.unsynced.insert(contentsOf: files, at: 0) }
  }

  /// Returns when all frames below `sequence` are durable. Concurrent callers share a sync. A failed sync fails this
  /// call and every later one whose frames are not durable.
  package func makeDurable(below sequence: UInt64) throws(SystemError) {
    if durable.load(ordering: .acquiring) >= sequence, sequence > 0 { return }
    try syncs.sync(unless: { state.withLock { $0.failure == nil } && durableSequence >= sequence }, syncFiles)
    assert(durableSequence >= sequence, "only appended frames are awaited")
  }

  /// Syncs the file that takes frames, with its header, and all files before it. The system reports a failed write to
  /// one sync only. So every sync of a file with frames is made here: a thread that waits for its frame does not miss a
  /// failure that another thread's sync has met.
  package func sync() throws(SystemError) { try syncs.sync(syncFiles) }

  /// Syncs the files. One thread at a time (``SharedSync``).
  private func syncFiles() throws(SystemError) {
    // A file enters the list before its first frame, under the same lock: a frame below the number lies in a file of
    // this list.
    let (target, files, earlier) = state.withLock { state in
      let target = appendedSequence
      let files = state.unsynced
      return (target, files, state.failure)
    }
    if let earlier { throw earlier }
    for file in files {
      do throws(SystemError) {
        try file.file.sync()
      } catch {
        state.withLock { $0.failure = error }
        throw error
      }
    }
    // The newest file may be written to again; the older ones are complete.
    state.withLock { state in
      state.unsynced.removeAll { file in files.dropLast().contains { $0.use == file.use } }
    }
    durable.max(target, ordering: .releasing)
  }
}
