import CacheCtlBase
import CacheCtlKit
import Vitrine

/// Opens the store of `fetch`: for reading at first, and for writing while it stores.
struct FetchStores: Sendable {
  private let path: String
  private let reads: ReadMode
  private let lock: LockWait

  init(_ arguments: Arguments) throws {
    path = try Stores.path(arguments)
    reads = try arguments.reads(.reads) ?? .mapped
    lock = LockWait(milliseconds: try arguments.waitMilliseconds())
  }

  /// Opens the store for reading. Makes it if it is missing, and saves the budgets and the policy of `changes`. Only
  /// these two need the lock.
  func reader(saving changes: StoreOptions, _ hasChanges: Bool) throws -> CacheStore {
    // A reader of a store that another process is making right now would not see it once it is made.
    if !hasChanges, let store = try? reader(), store.statistics().lastOpen.kind != .created { return store }
    var options = changes
    options.reads = reads
    // This opening reports errors of the store, and recovers it after a crash.
    try lock.run { try CacheStore.open(at: path, options: options) }.close()
    return try reader()
  }

  /// Returns a writer that waits for the lock, or fails at once if it is taken.
  func writer(waits: Bool) -> BriefWriter {
    BriefWriter(waits ? lock : LockWait(milliseconds: 0)) { try open() }
  }

  /// Counts uses for eviction. If the lock is taken, the writer that has it counts them later.
  func countUses(of keys: Set<CacheKey>) {
    if keys.isEmpty { return }
    guard let store = (try? open()) ?? (try? reader(notesUses: true)) else { return }
    for key in keys { _ = store.get(key) { _ in true } }
    try? store.close()
  }

  /// Opens for writing. A store that was removed during the command is not made again.
  private func open() throws -> CacheStore {
    try CacheStore.open(at: path, options: StoreOptions(reads: reads, createsIfMissing: false))
  }

  private func reader(notesUses: Bool = false) throws -> CacheStore {
    try CacheStore.open(
      at: path,
      options: StoreOptions(reads: reads, isReadOnly: true, notesUses: notesUses, createsIfMissing: false))
  }
}
