import Foundation
import Vitrine
import VitrineFoundation

/// A cache with the calls and rules of Android's `DiskLruCache`: an entry has a fixed number of values, which change
/// together, by edits.
///
/// The values of an entry are the styles `value-0`, `value-1` and so on of its key in a `CacheStore`. A commit
/// is one batch: after any crash, all of its values are in the store or none. If the store evicts one value of an
/// entry, the entry is gone. Thread-safe.
public final class VitrineJournaledCache: Sendable {
  private struct State {
    /// The key of each edit in progress, with the number of the edit.
    var edits: [String: UInt64] = [:]
    var nextNumber: UInt64 = 0
    var isClosed = false
  }

  /// The folder of the cache.
  public let path: String
  /// The version of the program that the cache was opened with.
  public let appVersion: Int
  /// Number of values of each entry.
  public let valueCount: Int
  /// The store with the values.
  let store: CacheStore
  private let styles: [Style]
  /// Held during a commit and the making of a snapshot, so that a snapshot has the values of one moment.
  private let state = Guarded(State())

  /// Opens the cache in a folder, and creates it if there is none.
  ///
  /// - Parameters:
  ///   - path: The folder. Its parent must exist.
  ///   - appVersion: A version of the program. If the cache was made with another one, the opening removes all entries.
  ///   - valueCount: Number of values of each entry, 1 to 1,000. If the cache was made with another one, the opening
  ///     removes all entries.
  ///   - maxSize: The largest size of the folder, in bytes, at least 1 MiB.
  ///
  /// A store that is too damaged to open is replaced by an empty one. Takes as long as the opening of a store. Throws
  /// the errors of `CacheStore.open(at:options:)`, as `StoreError`.
  public init(path: String, appVersion: Int, valueCount: Int, maxSize: Int) throws {
    guard (1...1000).contains(valueCount) else {
      throw StoreError.invalidArgument("an entry has 1 to 1000 values, not \(valueCount)")
    }
    self.path = path
    self.appVersion = appVersion
    self.valueCount = valueCount
    styles = (0..<valueCount).compactMap { Style("value-\($0)") }
    store = try CacheStore.open(
      at: path, options: StoreOptions(byteBudget: maxSize, policy: .lru, whenUnusable: .recreate))
    try removeEntriesOfOtherVersions()
  }

  /// The versions are the metadata of an entry whose key is a zero byte. No key of a caller has that byte.
  private func removeEntriesOfOtherVersions() throws(StoreError) {
    let key = CacheKey(bytes: [0])
    let versions = Array("1 \(appVersion) \(valueCount)".utf8)
    if case .found(let entry) = store.lookup(key), entry.metadata == versions { return }
    try store.removeAll()
    try store.put([UInt8](), for: key, options: PutOptions(metadata: versions, isPinned: true))
  }

  // MARK: Entries

  /// Returns the values of an entry as they are now, or nil if there is no entry. An edit in progress does not show.
  ///
  /// Counts as a use of the entry. Takes a few microseconds, and waits for a commit in progress. Throws
  /// ``JournaledCacheError/invalidKey(_:)`` and ``JournaledCacheError/closed``.
  public func snapshot(_ key: String) throws(JournaledCacheError) -> Snapshot? {
    try check(key)
    return try state.withLock { state throws(JournaledCacheError) in
      if state.isClosed { throw .closed }
      var blobs: [Blob] = []
      for style in styles {
        guard let blob = store.blob(CacheKey(key, style)) else { return nil }
        blobs.append(blob)
      }
      return Snapshot(cache: self, key: key, blobs: blobs)
    }
  }

  /// Begins an edit of an entry, which need not exist. Returns nil if another edit of the key is in progress. O(1).
  /// Throws ``JournaledCacheError/invalidKey(_:)`` and ``JournaledCacheError/closed``.
  public func edit(_ key: String) throws(JournaledCacheError) -> Editor? { try edit(key, only: nil) }

  /// Begins an edit only if the values of the entry are those of `commits`.
  func edit(_ key: String, only commits: [[UInt8]]?) throws(JournaledCacheError) -> Editor? {
    try check(key)
    return try state.withLock { state throws(JournaledCacheError) in
      if state.isClosed { throw .closed }
      if let commits, self.commits(of: key) != commits { return nil }
      guard state.edits[key] == nil else { return nil }
      state.nextNumber += 1
      state.edits[key] = state.nextNumber
      return Editor(cache: self, key: key, number: state.nextNumber)
    }
  }

  /// Removes an entry. Returns false if there is none, or if an edit of the key is in progress. Snapshots stay
  /// readable. Throws ``JournaledCacheError`` as ``snapshot(_:)``, and the errors of a removal as `StoreError`.
  @discardableResult
  public func remove(_ key: String) throws -> Bool {
    try check(key)
    return try state.withLock { state in
      if state.isClosed { throw JournaledCacheError.closed }
      if state.edits[key] != nil { return false }
      let keys = styles.map { CacheKey(key, $0) }
      // If a value was evicted, the entry is gone, and the rest of its values are removed.
      let isThere = keys.allSatisfy { store.contains($0) }
      return try store.removeMany(keys) > 0 && isThere
    }
  }

  // MARK: The cache

  /// Bytes of all values. O(segments).
  public var size: Int { store.statistics().logicalByteCount }

  /// The largest size of the folder, in bytes.
  public var maxSize: Int { store.byteBudget }

  /// Changes the largest size of the folder, in bytes, and evicts entries until it holds. Throws the errors of
  /// `CacheStore.setBudgets(byteBudget:entryBudget:minimumFreeBytes:)`.
  public func setMaxSize(_ byteCount: Int) throws(StoreError) { try store.setBudgets(byteBudget: byteCount) }

  /// Whether ``close()`` or ``delete()`` was called.
  public var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Makes all commits and removals durable. Waits for the disk. Throws the errors of `CacheStore.flush()`.
  public func flush() throws(StoreError) { try store.flush() }

  /// Aborts all edits, makes all commits and removals durable, and closes the cache. Closing twice is harmless.
  /// Snapshots stay readable. Throws the errors of `CacheStore.close()`.
  public func close() throws(StoreError) {
    state.withLock { state in
      state.isClosed = true
      state.edits = [:]
    }
    try store.close()
  }

  /// Closes the cache and deletes its folder with all values. Throws the errors of the removal as `StoreError`, and
  /// those of the deletion of the folder.
  public func delete() throws {
    if !isClosed { try store.removeAll() }
    try close()
    try FileManager.default.removeItem(atPath: path)
  }

  // MARK: Edits

  private func check(_ key: String) throws(JournaledCacheError) {
    let isValid = key.utf8.allSatisfy { byte in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }
    guard isValid, (1...120).contains(key.utf8.count) else { throw .invalidKey(key) }
  }

  /// The commits that the values of an entry came with; nil if the entry is not complete.
  private func commits(of key: String) -> [[UInt8]]? {
    var commits: [[UInt8]] = []
    for style in styles {
      guard case .found(let entry) = store.lookup(CacheKey(key, style)) else { return nil }
      commits.append(entry.metadata)
    }
    return commits
  }

  /// Returns a committed value, or nil if there is none.
  func value(_ key: String, _ index: Int) -> Data? { store.data(CacheKey(key, styles[index])) }

  /// Ends an edit without a change.
  func end(_ key: String, _ number: UInt64) {
    state.withLock { state in
      if state.edits[key] == number { state.edits[key] = nil }
    }
  }

  /// Ends an edit and makes its changes, all or none.
  func commit(_ key: String, _ number: UInt64, _ values: [Int: Data]) throws {
    try state.withLock { state in
      guard state.edits[key] == number else { throw JournaledCacheError.editEnded }
      state.edits[key] = nil
      for (index, style) in styles.enumerated() where values[index] == nil {
        guard store.contains(CacheKey(key, style)) else { throw JournaledCacheError.missingValue(index: index) }
      }
      // Snapshots compare the commits of the values, so each commit has a number of its own.
      let commit = withUnsafeBytes(of: UInt64.random(in: .min ... .max)) { Array($0) }
      var batch = WriteBatch()
      for (index, data) in values {
        batch.put(data, for: CacheKey(key, styles[index]), options: PutOptions(metadata: commit, source: .none))
      }
      try store.write(batch)
    }
  }
}
