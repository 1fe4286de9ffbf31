import Synchronization

/// A crash-safe, content-addressed cache in one folder.
///
/// Thread-safe. Reads never wait for writers. A `put` or `remove` waits for another one only while its frame is
/// written. Calls that wait for the disk say so. At any time one opening, in any process, may have the store open for
/// writing. Any number may have it open read-only; each of those sees a snapshot. Every change throws `closed`,
/// `readOnly`, `storeRemoved` if the folder was removed or replaced, `writeFailed` after a failed write or sync until
/// the store is reopened, and `system` if the system lacks descriptors or memory.
///
/// ```swift
/// let store = try CacheStore.open(at: "/var/cache/pictures")
/// try store.put(bytes, for: "https://example.com/a.jpg")
/// store.get("https://example.com/a.jpg") { bytes in draw(bytes) }
/// ```
public final class CacheStore: Sendable {
  /// The version of this library.
  public static let version = "0.1.0"
  /// The format version that this library writes, and the newest version that it reads.
  public static let formatVersion: UInt32 = CacheFormat.version

  /// The path given to the opening.
  public let path: String
  /// The options given to the opening.
  let options: StoreOptions
  /// The core made by the opening. Gets reach it without a reference count.
  let first: StoreCore
  /// The first core's reader, used without a reference count because all reading threads would share that count.
  @inline(__always)
  private var reader: Unmanaged<Reader> { Unmanaged.passUnretained(first.reads.reader) }
  /// Whether another core has replaced the first one.
  let hasSuccessor = Atomic<Bool>(false)
  let succession: Succession
  /// Held while a core is replaced, closed or suspended.
  let succeeding = Guarded(Standing.open)
  /// Whether acknowledged changes were lost with a removed folder and no call has reported it yet.
  let hasLost = Atomic<Bool>(false)

  private init(path: String, options: StoreOptions, core: StoreCore) {
    self.path = path
    self.options = options
    first = core
    succession = Succession(core)
  }

  deinit {
    try? core.upkeep.closer.close()
    core.context.events.finish()
  }

  // MARK: Opening and closing
  /// Opens the store in the folder `path`, and creates the store if there is none.
  ///
  /// Reads the index and the end of the log, no payloads. Takes milliseconds, plus about 200 ns for each change since
  /// the last checkpoint if the store was not closed. Throws `noSuchStore`, `notAStore`, `unsupportedFormat`,
  /// `unreadable`, `locked` if another opening has the store, `invalidArgument` for an option out of range, `noSpace`,
  /// and `system` for other errors of the system.
  public static func open(
    at path: String, options: StoreOptions = StoreOptions()
  ) throws(StoreError) -> CacheStore {
    try open(at: path, options: options, environment: .posix)
  }

  package static func open(
    at path: String, options: StoreOptions, environment: Environment
  ) throws(StoreError) -> CacheStore {
    var options = options
    do throws(StoreError) {
      let core = try StoreCore.open(at: path, options: options, environment: environment)
      return CacheStore(path: path, options: options, core: core)
    } catch {
      guard case .locked = error, options.whenLocked == .openReadOnly, !options.isReadOnly else { throw error }
    }
    options.isReadOnly = true
    return try open(at: path, options: options, environment: environment)
  }

  /// Makes all changes durable, writes a checkpoint and closes the store.
  ///
  /// Takes the time of the last syncs and of a checkpoint. Closing twice is harmless. Without closing, only the next
  /// opening takes longer. Running gets finish. If more than 1 MiB of records from before a crash are still unchecked,
  /// closing does not wait for their check. It may then leave out the checkpoint, and the next opening replays the log.
  ///
  /// If no error is thrown, every acknowledged change is durable. Throws `writeFailed` after a failed write or sync,
  /// also an earlier one in the background, and `storeRemoved` if the folder was removed or replaced. The store is
  /// closed in any case.
  public func close() throws(StoreError) {
    try succeeding.withLock { standing throws(StoreError) in
      defer { (standing, _) = (.closed, core.context.events.finish()) }
      try core.upkeep.closer.close()
      try standing.requireDurable()
    }
    if hasLost.exchange(false, ordering: .acquiringAndReleasing) { throw .storeRemoved }
  }

  // MARK: Reading

  /// Calls `body` with the bytes of an entry. Bytes that are stored compressed are decompressed first, and with
  /// ``ReadMode/copied`` all bytes are copied out of the file first. Otherwise there is no copy.
  ///
  /// Returns nil on a miss; ``lookup(_:style:source:)`` says why. A file that cannot be opened now is a miss too.
  /// Throws only the errors of `body`, in which the span is valid. `body` may call this store. Takes a few hundred
  /// nanoseconds and short locks in memory. The first read since opening checks the whole value (``Verification``).
  ///
  /// With a `source`, an entry made from another source is a miss, and is dropped if its put named its source (see
  /// ``SourceOption``). Without one, any entry of the key is returned.
  @inlinable
  public func get<R: ~Copyable, E: Error>(
    _ url: String, style: Style = .original, source: Source? = nil, _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R? {
    try get(url.utf8Span.span.bytes, style: style, source: source, body)
  }

  /// Calls `body` with the bytes of an entry, for a URL in bytes. Throws only the errors of `body`.
  @inlinable
  public func get<R: ~Copyable, E: Error>(
    _ url: borrowing RawSpan, style: Style = .original, source: Source? = nil, _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R? {
    try lend(acquire(url, style, source), body)
  }

  /// Calls `body` with the bytes of a borrow, and ends the borrow.
  @inlinable
  @inline(__always)
  func lend<R: ~Copyable, E: Error>(_ borrow: Borrow, _ body: (RawSpan) throws(E) -> R) throws(E) -> R? {
    guard borrow.isFound else { return nil }
    let result: R
    do throws(E) {
      result = try body(borrow.bytes.bytes)
    } catch {
      release(borrow)
      throw error
    }
    if release(borrow) { return result }
    return nil
  }

  /// Calls `body` with the bytes of a key's entry. Throws only the errors of `body`.
  @inlinable
  public func get<R: ~Copyable, E: Error>(
    _ key: CacheKey, source: Source? = nil, _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R? {
    try get(key.url.span.bytes, style: key.style, source: source, body)
  }

  @usableFromInline
  func acquire(_ url: borrowing RawSpan, _ style: Style, _ source: Source?) -> Borrow {
    url.withUnsafeBytes { url in
      isReplaced
        ? acquireLater(url, style, source)
        : reader._withUnsafeGuaranteedRef { $0.borrow(url, style, source: source) }
    }
  }

  @usableFromInline
  @discardableResult
  func release(_ borrow: Borrow) -> Bool {
    if isReplaced { return releaseLater(borrow) }
    if reader._withUnsafeGuaranteedRef({ $0.endBorrow(borrow) }) { return true }
    first.checkpoints.entryRemover.dropDamaged(borrow)
    return false
  }

  /// Looks up many keys, and overlaps their memory accesses. On large stores this takes less time for each key than
  /// `get(_:style:source:_:)`; `cachectl bench` measures both. Calls `body` once for each key, in order, with nil on a
  /// miss. `sources[i]` is the source that the entry of `keys[i]` must be made from; if it is nil or `sources` is
  /// shorter, any source matches. Thread-safe. Throws only the errors of `body`, which end the call.
  public func getMany<E: Error>(
    _ keys: [CacheKey], sources: [Source?] = [], _ body: (Int, RawSpan?) throws(E) -> Void
  ) throws(E) {
    try core.reads.reader.borrowMany(keys, sources, body)
  }

  /// Returns the entry of a key without its bytes, or the reason for a miss. Does not count as a use. Costs a get and
  /// the read of a head. The first lookup since opening reads and checks the whole value.
  public func lookup(_ url: String, style: Style = .original, source: Source? = nil) -> LookupResult {
    url.utf8Span.span.bytes.withUnsafeBytes { url in read { $0.reads.reader.lookup(url, style, source: source) } }
  }

  /// Returns the entry of a whole key without its bytes, or the reason for a miss.
  public func lookup(_ key: CacheKey, source: Source? = nil) -> LookupResult {
    key.url.withUnsafeBytes { url in read { $0.reads.reader.lookup(url, key.style, source: source) } }
  }

  /// Whether there is an unexpired entry. Costs a lookup of the index and the read of a head. Reads no payload, and
  /// checks a head once, so a get may find an entry lost after a crash, or damaged.
  public func contains(_ url: String, style: Style = .original, source: Source? = nil) -> Bool {
    url.utf8Span.span.bytes.withUnsafeBytes { url in read { $0.reads.reader.contains(url, style, source: source) } }
  }

  /// Whether there is an unexpired entry of a whole key.
  public func contains(_ key: CacheKey, source: Source? = nil) -> Bool {
    key.url.withUnsafeBytes { url in read { $0.reads.reader.contains(url, key.style, source: source) } }
  }

  // MARK: Changing

  /// Stores a value under a key, replacing the old value. Equal bytes are stored once, however many keys have them. If
  /// an original's digest changes, all entries of its URL whose source defaults to the original are removed.
  ///
  /// Takes about the time of one `pwrite` of the bytes. A `synced` put waits for the disk and shares one sync with
  /// others that wait. Throws `noSpace` if the budget or the disk is full; then nothing has changed. Throws `tooLarge`
  /// above 1 GiB or the size that the budget can hold, `invalidArgument` for a URL or metadata above 65,536 bytes or
  /// for options that contradict each other or the bytes, and the errors of every change (``CacheStore``).
  public func put(
    _ bytes: borrowing RawSpan, for url: String, style: Style = .original, options: PutOptions = PutOptions()
  ) throws(StoreError) {
    try put(bytes, url.utf8Span.span.bytes, style, options)
  }

  /// Stores a value given as an array. Costs as much as a put of a span, and throws the same errors.
  public func put(
    _ bytes: [UInt8], for url: String, style: Style = .original, options: PutOptions = PutOptions()
  ) throws(StoreError) {
    try put(bytes.span.bytes, url.utf8Span.span.bytes, style, options)
  }

  /// Stores a value under a whole key. Costs as much as a put under a URL, and throws the same errors.
  public func put(
    _ bytes: borrowing RawSpan, for key: CacheKey, options: PutOptions = PutOptions()
  ) throws(StoreError) {
    try put(bytes, key.url.span.bytes, key.style, options)
  }

  /// Stores a value given as an array under a whole key. Costs as much as a put of a span, and throws the same errors.
  public func put(
    _ bytes: [UInt8], for key: CacheKey, options: PutOptions = PutOptions()
  ) throws(StoreError) {
    try put(bytes.span.bytes, key.url.span.bytes, key.style, options)
  }

  private func put(
    _ bytes: borrowing RawSpan, _ url: borrowing RawSpan, _ style: Style, _ options: PutOptions
  ) throws(StoreError) {
    _ = try url.withUnsafeBytes { url throws(StoreError) in
      try bytes.withUnsafeBytes { bytes throws(StoreError) in
        try change { core in
          core.writes.forgetter.forget([CacheKey(bytes: Array(url), style)], withStyles: true)
        } _: { core throws(StoreError) in
          try core.writes.putter.put(bytes, url: url, style: style, options: options)
        }
      }
    }
  }

  /// Stores many values together: after any crash, all of them or none. Writes one frame, with one sync if `synced`.
  /// Throws the errors of ``write(_:durability:)``.
  public func putMany(
    _ entries: [(key: CacheKey, bytes: [UInt8], options: PutOptions)], durability: Durability? = nil
  ) throws(StoreError) {
    var batch = WriteBatch()
    for entry in entries { batch.put(entry.bytes, for: entry.key, options: entry.options) }
    try write(batch, durability: durability)
  }

  /// Makes the changes of a batch together: after any crash, all of them or none. Writes one frame with at most one
  /// sync, with two exceptions. If `synced`, values above 256 KiB, or less in a store with a small log, are synced one
  /// by one. A batch larger than the log commits by a checkpoint, for which other writers wait. Throws the errors of a
  /// put; then nothing has changed. `tooLarge` also concerns the sum of the values.
  public func write(_ batch: WriteBatch, durability: Durability? = nil) throws(StoreError) {
    try change {
      $0.writes.forgetter.forget(batch.putKeys, withStyles: true)
      $0.writes.forgetter.forget(batch.removedKeys)
    } _: { core throws(StoreError) in
      try core.writes.batches.write(batch, durability: durability)
    }
  }

  // MARK: Removing

  /// Removes one entry. Returns whether there was one. Works on a full disk.
  ///
  /// Every form of removal also aborts the unfinished bodies and drawings of its keys: their commit throws `aborted`.
  /// Bodies and drawings begun later are not affected. Eviction and expiry abort none.
  ///
  /// The bytes stay in the store's files until compaction reaches them. With `erases`, they are gone when the call
  /// returns, as after ``compact(progress:)``. That erases every dead record and every old frame of the log, not only
  /// those of this key, even if there was no entry. It costs a compaction of the whole store and makes the removal
  /// durable. It throws `system` (EBUSY) if unfinished bodies or drawings, or a lack of room for copies, keep a segment
  /// from being copied; the entry is removed all the same. Files that readers and Blobs hold, also in other processes,
  /// stay on the disk without a name until they are released. The device itself may keep the blocks of unlinked files.
  /// Throws the errors of every change (``CacheStore``).
  @discardableResult
  public func remove(
    _ url: String, style: Style = .original, durability: Durability? = nil, erases: Bool = false
  ) throws(StoreError) -> Bool {
    try remove(CacheKey(url, style), durability: durability, erases: erases)
  }

  /// Removes the entry of a whole key. Throws the errors of ``remove(_:style:durability:erases:)``.
  @discardableResult
  public func remove(
    _ key: CacheKey, durability: Durability? = nil, erases: Bool = false
  ) throws(StoreError) -> Bool {
    try removeMany([key], durability: durability, erases: erases) > 0
  }

  /// Removes the entries of many keys together. Returns the number of entries removed. Writes one frame with at most
  /// one sync. For `erases`, and for the errors that the call throws, see ``remove(_:style:durability:erases:)``.
  @discardableResult
  public func removeMany(
    _ keys: [CacheKey], durability: Durability? = nil, erases: Bool = false
  ) throws(StoreError) -> Int {
    try change {
      $0.writes.forgetter.forget(keys)
    } _: { core throws(StoreError) in
      guard erases else { return try core.writes.remover.remove(keys, durability: durability) }
      return try core.upkeep.fullCompaction.erasing { () throws(StoreError) in
        try core.writes.remover.remove(keys, durability: .synced)
      }
    }
  }

  /// Removes all styles of a URL, without a scan. Returns the number of entries removed.
  ///
  /// Up to 1,024 styles are removed by one frame, or by a checkpoint if the log cannot hold the frame; other writers
  /// wait for that checkpoint. Styles beyond 1,024 are removed earlier, in frames of at most 1,024, so a crash may
  /// leave only some of them removed. For `erases`, and for the errors that the call throws, see
  /// ``remove(_:style:durability:erases:)``.
  @discardableResult
  public func removeAllStyles(
    _ url: String, durability: Durability? = nil, erases: Bool = false
  ) throws(StoreError) -> Int {
    try removeAllStyles(bytes: Array(url.utf8), durability: durability, erases: erases)
  }

  /// Removes all styles of a URL given in bytes. Throws the errors of ``remove(_:style:durability:erases:)``.
  @discardableResult
  public func removeAllStyles(
    bytes url: [UInt8], durability: Durability? = nil, erases: Bool = false
  ) throws(StoreError) -> Int {
    try change {
      $0.writes.forgetter.forgetStyles(url)
    } _: { core throws(StoreError) in
      guard erases else { return try core.writes.remover.removeStyles(url, durability: durability) }
      return try core.upkeep.fullCompaction.erasing { () throws(StoreError) in
        try core.writes.remover.removeStyles(url, durability: .synced)
      }
    }
  }

  /// Removes every entry of a style, expired ones included. Returns the number of entries removed. Reads each entry's
  /// record once: O(entries). Throws the errors of every change (``CacheStore``). A frame holds at most 10,000
  /// removals, so some entries may be removed before an error.
  @discardableResult
  public func removeAll(style: Style, durability: Durability? = nil) throws(StoreError) -> Int {
    try removeAll(durability) { _, view, _ in
      style.bytes.withUnsafeBytes { $0.elementsEqual(view.style) }
    } orBody: { body, _ in
      body.target.key.style == style
    }
  }

  /// Removes every entry whose URL begins with `prefix`, like ``removeAll(style:durability:)``. Throws the same errors.
  @discardableResult
  public func removeAll(prefix: String, durability: Durability? = nil) throws(StoreError) -> Int {
    try removeAll(prefix: Array(prefix.utf8), durability: durability)
  }

  /// Removes every entry whose URL begins with a prefix given in bytes. Throws the same errors.
  @discardableResult
  public func removeAll(prefix: [UInt8], durability: Durability? = nil) throws(StoreError) -> Int {
    try removeAll(durability) { _, view, _ in
      view.url.starts(with: prefix)
    } orBody: { body, _ in
      body.target.key.url.starts(with: prefix)
    }
  }

  /// Removes every unexpired entry for which `predicate` returns true, like ``removeAll(style:durability:)``. Also
  /// copies each entry's metadata.
  ///
  /// The predicate is also called for each unfinished body and drawing, with the entry that it would become. That entry
  /// has a digest of zero, and the declared length or the number of bytes received. If it returns true, the body is
  /// aborted. Throws the errors of ``removeAll(style:durability:)``.
  @discardableResult
  public func removeAll(
    durability: Durability? = nil, where predicate: (EntryInfo) -> Bool
  ) throws(StoreError) -> Int {
    let now = core.context.environment.clock.wallMilliseconds()
    return try removeAll(durability, includesExpired: false) {
      predicate($0.reads.reader.info($1, $2))
    } orBody: {
      predicate(EntryInfo($0, receivedByteCount: $1, at: now))
    }
  }

  /// Removes every entry, by one frame. The space is free as soon as no get and no Blob uses it. Throws the errors of
  /// every change (``CacheStore``).
  public func removeAll(durability: Durability? = nil) throws(StoreError) {
    try change {
      $0.writes.forgetter.forgetAll()
    } _: { core throws(StoreError) in
      try core.writes.remover.removeAll(durability: durability)
    }
  }

  /// The calls that wait for the disk, as `async` functions.
  public var asynchronous: AsyncCacheStore { AsyncCacheStore(store: self) }
}
