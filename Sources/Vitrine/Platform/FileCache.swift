import CVitrineSystem
import Synchronization

/// Bounds the descriptors that stores keep open for their segments.
///
/// All stores of one environment share a cache. It keeps the most recently used files open. Their number is a quarter
/// of the soft limit of descriptors, at most 256, less a reserve for the other files of each store, and at least 8.
/// Files in use stay open beyond that: those of segments that take records, and one for each call in progress. Any
/// thread.
package final class FileCache: Sendable {
  package static let mostDescriptors = 256
  /// Descriptors of a store besides those of its segments: folders, log, checkpoints, `LOCK`, `COUNTERS`.
  package static let reservedPerStore = 32
  private static let leastDescriptors = 8

  private let softLimit: @Sendable () -> Int
  private let state = Guarded(State())
  /// The number of files opened so far, by which files date their uses. A use writes only to the memory of its file.
  fileprivate let openings = Atomic<UInt64>(0)

  private struct State {
    var files: [ObjectIdentifier: WeakFile] = [:]
    var storeCount = 0
  }

  private struct WeakFile { weak var file: CachedFile? }

  /// `softLimit` is called whenever a file is opened, since a program may change its limit.
  package init(softLimit: @escaping @Sendable () -> Int = { .max }) { self.softLimit = softLimit }

  /// A cache under the limits of this process.
  package static func ofProcess() -> FileCache { FileCache { Int(vitrine_descriptor_limit()) } }

  /// The number of files open now.
  package var openCount: Int { state.withLock { $0.files.count } }

  package func storeOpened() { state.withLock { $0.storeCount += 1 } }
  package func storeClosed() { state.withLock { $0.storeCount -= 1 } }

  /// Enters a newly opened file. Beyond the limit, the least recently used files are closed, several at once.
  fileprivate func admit(_ file: CachedFile) {
    openings.wrappingAdd(1, ordering: .relaxed)
    file.noteUse()
    // These references outlive the lock: the deinit of a file takes it.
    var idle: [CachedFile] = []
    var excess = 0
    state.withLock { state in
      state.files[ObjectIdentifier(file)] = WeakFile(file: file)
      let limit = limit(storeCount: state.storeCount)
      guard state.files.count > limit else { return }
      idle = state.files.values.compactMap { $0.file }
      excess = state.files.count - limit + limit / 8
    }
    if excess == 0 { return }
    let victims = idle.filter { $0 !== file && !$0.isKept }.sorted { $0.lastUse < $1.lastUse }.prefix(excess)
    for victim in victims {
      // Removed before it closes: another thread may open and enter it again right after.
      forget(ObjectIdentifier(victim))
      if !victim.closeUnlessKept() { state.withLock { $0.files[ObjectIdentifier(victim)] = WeakFile(file: victim) } }
    }
  }

  private func limit(storeCount: Int) -> Int {
    let quarter = min(softLimit() / 4, FileCache.mostDescriptors)
    return max(quarter - FileCache.reservedPerStore * max(1, storeCount), FileCache.leastDescriptors)
  }

  fileprivate func forget(_ file: ObjectIdentifier) { state.withLock { _ = $0.files.removeValue(forKey: file) } }
}

/// A file that is open while it is in use, and as long as the cache has room for it. After that it is opened again
/// by its name, which fails if the name was removed. Any thread.
package final class CachedFile: Sendable {
  private struct State {
    var file: (any File)?
    /// A sync before closing has failed: then no later sync may succeed.
    var failure: SystemError?
  }

  private let directory: any Directory
  private let name: String
  private let access: FileAccess
  private let cache: FileCache
  private let state: Guarded<State>
  private let use = Atomic<UInt64>(0)
  private let kept: Atomic<Bool>
  private let unsynced = Atomic<Bool>(false)

  /// `isKept`: the file stays open until ``setKept(_:)`` changes that.
  package init(
    _ file: any File, name: String, in directory: any Directory, access: FileAccess, cache: FileCache, isKept: Bool
  ) {
    self.directory = directory
    self.name = name
    self.access = access
    self.cache = cache
    kept = Atomic(isKept)
    state = Guarded(State(file: file))
    cache.admit(self)
  }

  deinit { cache.forget(ObjectIdentifier(self)) }

  fileprivate var lastUse: UInt64 { use.load(ordering: .relaxed) }
  fileprivate var isKept: Bool { kept.load(ordering: .relaxed) }
  fileprivate func noteUse() { use.store(cache.openings.load(ordering: .relaxed), ordering: .relaxed) }

  /// Returns the open file, for use at once: the caller must not keep it.
  package func open() throws(SystemError) -> any File {
    let (found, failure) = state.withLock { ($0.file, $0.failure) }
    if let failure { throw failure }
    if let found {
      noteUse()
      return found
    }
    let opened = try directory.openFile(name, access)
    let file = state.withLock { state in
      if state.file == nil { state.file = opened }
      return state.file ?? opened
    }
    cache.admit(self)
    return file
  }

  /// Sets whether the file stays open however many others are used.
  package func setKept(_ isKept: Bool) {
    kept.store(isKept, ordering: .relaxed)
  }

  /// Sets whether the file is synced before it closes. The system reports a failed write to the files that are
  /// open, and forgets it once no file or mapping refers to the written pages.
  package func syncBeforeClosing(_ isUnsynced: Bool) { unsynced.store(isUnsynced, ordering: .relaxed) }

  /// Returns false if the file has to stay open.
  fileprivate func closeUnlessKept() -> Bool {
    let closed: (isClosed: Bool, file: (any File)?) = state.withLock { state in
      if isKept { return (false, nil) }
      if unsynced.load(ordering: .relaxed), let file = state.file {
        do throws(SystemError) { try file.sync() } catch { state.failure = error }
      }
      defer { state.file = nil }
      return (true, state.file)
    }
    return closed.isClosed
  }

  /// Closes the file for good.
  package func close() {
    let closed = state.withLock { state in
      defer { state.file = nil }
      return state.file
    }
    _ = closed
    cache.forget(ObjectIdentifier(self))
  }
}
