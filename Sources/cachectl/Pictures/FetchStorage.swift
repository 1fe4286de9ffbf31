import CacheCtlBase
import CacheCtlKit
import Vitrine
import VitrineImages

/// The storage of `fetch`. Lookups go to a read-only opening, changes to a ``BriefWriter``. Remembers which pictures
/// were to be stored, and which stored pictures were used.
struct FetchStorage: ImageStorage {
  private struct Notes {
    /// Keys of pictures that were to be stored, and of those that were stored.
    var wanted: Set<String> = []
    var stored: Set<String> = []
    /// The digest of each original that a lookup returned.
    var seen: [String: Digest] = [:]
    var used: Set<CacheKey> = []
    /// The keys with changes of this process, the number of these changes, and how many of them the reader shows.
    var changed: Set<String> = []
    var changeCount = 0
    var shownCount = 0
    /// The time of the latest refresh, in nanoseconds.
    var refreshedAt = Time.monotonicNanoseconds()
    var error: StoreError?
  }

  /// The time after which a change refreshes the reader. An old reader retains released segments beyond the budget.
  private static let refreshNanoseconds: UInt64 = 1_000_000_000

  private let reader: StoreStorage
  let writer: BriefWriter
  private let notes = Locked(Notes())

  init(_ reader: CacheStore, _ writer: BriefWriter) {
    self.reader = StoreStorage(reader)
    self.writer = writer
  }

  // MARK: Results

  /// The first error because of which a picture was not stored.
  var error: StoreError? { notes.withLock { $0.error } }

  /// The stored pictures that were used. The reader has not counted these uses.
  var usedKeys: Set<CacheKey> { notes.withLock { $0.used } }

  /// Whether the store has the picture in the requested style or as an original. True also if no picture of its key was
  /// to be stored. Call it after ``finish()``.
  func isKept(_ request: PictureRequest) -> Bool {
    let (isWanted, isStored) = notes.withLock { ($0.wanted.contains(request.key), $0.stored.contains(request.key)) }
    if !isWanted { return true }
    let styles = [.original, Style(request.style.name)].compactMap(\.self)
    return isStored && styles.contains { reader.store.contains(request.key, style: $0) }
  }

  /// Lets lookups see all changes. If that fails, no picture counts as stored.
  func finish() {
    do throws(StoreError) {
      _ = try reader.store.refresh()
    } catch {
      notes.withLock { notes in
        notes.stored = []
        notes.error = notes.error ?? error
      }
    }
  }

  // MARK: Lookups

  func original(for key: String) async throws -> StoredOriginal? {
    await refresh(key)
    guard let original = try await reader.original(for: key) else { return nil }
    notes.withLock { notes in
      if case .blob(let blob) = original.bytes { notes.seen[key] = blob.digest }
      notes.used.insert(CacheKey(key))
    }
    return original
  }

  func styled(_ style: ImageStyle, for key: String) async throws -> StoredStyled? {
    await refresh(key)
    guard let styled = try await reader.styled(style, for: key) else { return nil }
    noteUse(style, key)
    return styled
  }

  func styledAtHand(_ style: ImageStyle, for key: String) -> StoredStyled? {
    if notes.withLock({ $0.changed.contains(key) }) { return nil }
    guard let styled = reader.styledAtHand(style, for: key) else { return nil }
    noteUse(style, key)
    return styled
  }

  private func noteUse(_ style: ImageStyle, _ key: String) {
    guard let style = Style(style.name) else { return }
    notes.withLock { _ = $0.used.insert(CacheKey(key, style)) }
  }

  /// Moves the reader forward before a lookup of a key that this process has changed. Other keys may show an earlier
  /// state, as if the other process had stored them later.
  private func refresh(_ key: String) async {
    let (isChanged, count) = notes.withLock {
      ($0.changed.contains(key) && $0.shownCount < $0.changeCount, $0.changeCount)
    }
    if isChanged { await refresh(to: count) }
  }

  private func refresh(to count: Int) async {
    guard (try? await reader.store.asynchronous.refresh()) != nil else { return }
    notes.withLock { $0.shownCount = max($0.shownCount, count) }
  }

  // MARK: Changes

  func saveOriginal(_ bytes: [UInt8], metadata: [UInt8], for key: String) async throws {
    try await store(key) { try await $0.saveOriginal(bytes, metadata: metadata, for: key) }
  }

  func saveStyled(
    _ pictures: [StyledPicture], madeFrom original: Digest, for key: String
  ) async throws -> [StoredStyled] {
    try await store(key) { try await $0.saveStyled(pictures, madeFrom: original, for: key) }
  }

  func drawStyled(
    _ style: ImageStyle, layout: BitmapLayout, metadata: [UInt8], madeFrom original: Digest, for key: String,
    _ draw: @escaping @Sendable (inout MutableRawSpan) throws -> Void
  ) async throws -> StoredStyled? {
    try await store(key) {
      try await $0.drawStyled(style, layout: layout, metadata: metadata, madeFrom: original, for: key, draw)
    }
  }

  /// Does nothing if another process has replaced the original since the lookup: the metadata describes the earlier
  /// one.
  func setMetadata(_ metadata: [UInt8], ofOriginalFor key: String) async throws {
    let seen = notes.withLock { $0.seen[key] }
    try await change(key) { storage in
      if let seen, case .found(let entry) = storage.store.lookup(CacheKey(key)), entry.digest != seen { return }
      try await storage.setMetadata(metadata, ofOriginalFor: key)
    }
  }

  func setMetadata(
    _ metadata: [UInt8], of style: ImageStyle, madeFrom original: Digest, for key: String
  ) async throws {
    try await change(key) { try await $0.setMetadata(metadata, of: style, madeFrom: original, for: key) }
  }

  func noteOriginal(_ digest: Digest, for key: String) async throws {
    try await change(key) { try await $0.noteOriginal(digest, for: key) }
  }

  func remove(_ keys: [String]) async throws {
    for key in keys { try await change(key) { try await $0.remove([key]) } }
  }

  /// No command calls this.
  func retain(only keys: [String], prefix: String?) async throws {
    try await writer.change { try await $0.retain(only: keys, prefix: prefix) }
  }

  /// A change that stores a picture.
  private func store<R: Sendable>(
    _ key: String, _ body: @Sendable (StoreStorage) async throws -> R
  ) async throws -> R {
    notes.withLock { _ = $0.wanted.insert(key) }
    do {
      let result = try await change(key, body)
      notes.withLock { _ = $0.stored.insert(key) }
      return result
    } catch let error as StoreError {
      note(error)
      throw error
    }
  }

  private func change<R: Sendable>(
    _ key: String, _ body: @Sendable (StoreStorage) async throws -> R
  ) async throws -> R {
    let result = try await writer.change(body)
    let (isDue, count) = notes.withLock { notes in
      notes.changed.insert(key)
      notes.changeCount += 1
      let now = Time.monotonicNanoseconds()
      guard now > notes.refreshedAt + FetchStorage.refreshNanoseconds else { return (false, notes.changeCount) }
      notes.refreshedAt = now
      return (true, notes.changeCount)
    }
    if isDue { await refresh(to: count) }
    return result
  }

  private func note(_ error: StoreError) {
    switch error {
    // The picture does not fit into the budget, or another process removed it meanwhile.
    case .tooLarge, .aborted: return
    default: notes.withLock { $0.error = $0.error ?? error }
    }
  }
}
