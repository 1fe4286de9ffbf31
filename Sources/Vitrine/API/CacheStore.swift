import Synchronization

/// A crash-safe, content-addressed cache in one folder.
///
/// Safe from any number of threads. Reads never wait for writers; `put` and `remove` wait for each other only while a
/// frame is written. Calls that wait for the disk say so. A store is open for writing once at a time, in this process or
/// any other; reading openings are snapshots and may be many.
///
/// ```swift
/// let store = try CacheStore.open(at: "/var/cache/pictures")
/// try store.put(bytes, for: "https://example.com/a.jpg")
/// store.get("https://example.com/a.jpg") { bytes in draw(bytes) }
/// ```
public final class CacheStore: Sendable {
  /// The version of this library.
  public static let version = "0.1.0"
  /// The format this library writes, and the newest it reads.
  public static let formatVersion: UInt32 = CacheFormat.version

  /// Where the store lies, as it was given.
  public let path: String
  /// As it was opened.
  let options: StoreOptions
  /// The core that it was opened with. Gets reach it without a reference count.
  let first: StoreCore
  /// The reader of the first core, without a reference count, which all readers would share.
  @inline(__always)
  private var reader: Unmanaged<Reader> { Unmanaged.passUnretained(first.reader) }
  /// Another core has taken its place.
  let hasSuccessor = Atomic<Bool>(false)
  let succession: Succession
  /// Held while a core is replaced or closed.
  let succeeding = Guarded(())
  /// Acknowledged changes went with a folder, and no call has said so yet.
  let hasLost = Atomic<Bool>(false)

  private init(path: String, options: StoreOptions, core: StoreCore) {
    self.path = path
    self.options = options
    first = core
    succession = Succession(core)
  }

  deinit { try? core.closer.close() }

  // MARK: Opening and closing

  /// Opens the store in the folder `path`, making it where there is none.
  ///
  /// Reads the index and the end of the log, never payloads: milliseconds, plus about 200 ns for each change since the
  /// last checkpoint when the store was not closed.
  public static func open(
    at path: String, options: StoreOptions = StoreOptions()
  ) throws(StoreError) -> CacheStore {
    try open(at: path, options: options, environment: .posix)
  }

  package static func open(
    at path: String, options: StoreOptions, environment: Environment
  ) throws(StoreError) -> CacheStore {
    let core = try StoreCore.open(at: path, options: options, environment: environment)
    return CacheStore(path: path, options: options, core: core)
  }

  /// Makes everything durable, writes a checkpoint and lets the store go. Closing twice is harmless; so is not closing,
  /// but for a longer next opening. Gets that are running finish. While more than 1 MiB of what a crash left is unchecked, the
  /// log may stand in for the checkpoint: closing does not wait for that check.
  ///
  /// A return without an error means that every acknowledged change survives loss of power. Throws `writeFailed` after a
  /// failed write or sync, also an earlier one in the background, and `storeRemoved` when the folder was removed or
  /// replaced. The store is closed in any case.
  public func close() throws(StoreError) {
    try succeeding.withLock { _ throws(StoreError) in try core.closer.close() }
    if hasLost.exchange(false, ordering: .acquiringAndReleasing) { throw .storeRemoved }
  }

  // MARK: Reading

  /// Lends the bytes of an entry to `body`, without a copy unless they are kept compressed.
  ///
  /// Nil when there is nothing to give: ``lookup(_:style:)`` says why. Only what `body` throws is thrown. The span is
  /// valid in `body`, where every call on this store is allowed. A few hundred nanoseconds, no lock but a shard's; the
  /// first read of an entry since opening also reads it through and checks it (see ``Verification``).
  ///
  /// With a `source`, an entry that was made from anything else is a miss, and goes if its source was named by its put
  /// (see ``SourceOption``); with none, every entry of the key will do.
  @inlinable
  public func get<R: ~Copyable, E: Error>(
    _ url: String, style: Style = .original, source: Source? = nil, _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R? {
    try get(url.utf8Span.span.bytes, style: style, source: source, body)
  }

  /// The same for a URL in bytes.
  @inlinable
  public func get<R: ~Copyable, E: Error>(
    _ url: borrowing RawSpan, style: Style = .original, source: Source? = nil, _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R? {
    let borrow = acquire(url, style, source)
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

  /// The same for a whole key.
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
    if reader._withUnsafeGuaranteedRef({ $0.giveBack(borrow) }) { return true }
    first.entryRemover.dropDamaged(borrow)
    return false
  }

  /// A copy of an entry's bytes.
  public func bytes(_ url: String, style: Style = .original, source: Source? = nil) -> [UInt8]? {
    get(url, style: style, source: source) { span in span.withUnsafeBytes { Array($0) } }
  }

  /// A copy of an entry's bytes.
  public func bytes(_ key: CacheKey, source: Source? = nil) -> [UInt8]? {
    get(key, source: source) { span in span.withUnsafeBytes { Array($0) } }
  }

  /// Looks up many keys, hiding the memory's latency: several times as fast a key as ``get(_:style:_:)`` on large
  /// stores. `body` is called once for each key in their order, with nil where there is nothing. `sources` names what
  /// they should be made from, key by key; one that is nil or beyond its end is given whatever it was made from.
  public func getMany<E: Error>(
    _ keys: [CacheKey], sources: [Source?] = [], _ body: (Int, RawSpan?) throws(E) -> Void
  ) throws(E) {
    try core.reader.borrowMany(keys, sources, body)
  }

  /// What there is under a key, without its bytes, or why there is nothing. Does not count as use.
  public func lookup(_ url: String, style: Style = .original, source: Source? = nil) -> LookupResult {
    url.utf8Span.span.bytes.withUnsafeBytes { url in read { $0.reader.lookup(url, style, source: source) } }
  }

  /// The same for a whole key.
  public func lookup(_ key: CacheKey, source: Source? = nil) -> LookupResult {
    key.url.withUnsafeBytes { url in read { $0.reader.lookup(url, key.style, source: source) } }
  }

  /// Whether there is an entry that has not expired. Its payload is not looked at, so after a crash this may say yes to
  /// an entry that the first read finds lost.
  public func contains(_ url: String, style: Style = .original, source: Source? = nil) -> Bool {
    url.utf8Span.span.bytes.withUnsafeBytes { url in read { $0.reader.contains(url, style, source: source) } }
  }

  /// The same for a whole key.
  public func contains(_ key: CacheKey, source: Source? = nil) -> Bool {
    key.url.withUnsafeBytes { url in read { $0.reader.contains(url, key.style, source: source) } }
  }

  /// Every blob that has this digest and has not expired: one entry each, that of the record which carries it. More than one only for bytes
  /// that collide.
  public func entries(digest: Digest) throws(StoreError) -> [EntryInfo] {
    let core = core
    if core.gate.isClosed { throw .closed }
    return core.walk.entries(digest: digest)
  }

  // MARK: Changing

  /// Stores a value, in place of what the key had. Equal bytes are kept once, however many keys have them. An original
  /// with another digest than before takes every entry of its URL with it that has its source by default.
  ///
  /// About the time of one `pwrite` of the bytes; a `synced` put waits for the disk, sharing one sync with others that
  /// wait. Throws `noSpace` when the budget or the disk is full, and then nothing has changed.
  public func put(
    _ bytes: borrowing RawSpan, for url: String, style: Style = .original, options: PutOptions = PutOptions()
  ) throws(StoreError) {
    try put(bytes, url.utf8Span.span.bytes, style, options)
  }

  /// The same for an array.
  public func put(
    _ bytes: [UInt8], for url: String, style: Style = .original, options: PutOptions = PutOptions()
  ) throws(StoreError) {
    try put(bytes.span.bytes, url.utf8Span.span.bytes, style, options)
  }

  /// The same for a whole key.
  public func put(
    _ bytes: borrowing RawSpan, for key: CacheKey, options: PutOptions = PutOptions()
  ) throws(StoreError) {
    try put(bytes, key.url.span.bytes, key.style, options)
  }

  /// The same for a whole key and an array.
  public func put(
    _ bytes: [UInt8], for key: CacheKey, options: PutOptions = PutOptions()
  ) throws(StoreError) {
    try put(bytes.span.bytes, key.url.span.bytes, key.style, options)
  }

  private func put(
    _ bytes: borrowing RawSpan, _ url: borrowing RawSpan, _ style: Style, _ options: PutOptions
  ) throws(StoreError) {
    try url.withUnsafeBytes { url throws(StoreError) in
      try bytes.withUnsafeBytes { bytes throws(StoreError) in
        try change { core in
          core.forgetter.forget([CacheKey(bytes: Array(url), style)], withStyles: true)
        } _: { core throws(StoreError) in
          try core.putter.put(bytes, url: url, style: style, options: options)
        }
      }
    }
  }

  /// Stores many values together: all of them or none, after any crash. One frame, one sync when `synced`.
  public func putMany(
    _ entries: [(key: CacheKey, bytes: [UInt8], options: PutOptions)], durability: Durability? = nil
  ) throws(StoreError) {
    var batch = WriteBatch()
    for entry in entries { batch.put(entry.bytes, for: entry.key, options: entry.options) }
    try write(batch, durability: durability)
  }

  /// Makes the changes of a batch together: all of them or none, after any crash. One frame and at most one sync,
  /// except that values above 256 KiB are synced one by one when `synced`, and that a batch larger than the log commits
  /// by a checkpoint, for which other writers wait.
  public func write(_ batch: WriteBatch, durability: Durability? = nil) throws(StoreError) {
    try change {
      $0.forgetter.forget(batch.putKeys, withStyles: true)
      $0.forgetter.forget(batch.removedKeys)
    } _: { core throws(StoreError) in
      try core.batches.write(batch, durability: durability)
    }
  }

  // MARK: Removing

  /// Removes one entry; answers whether there was one. Works on a full disk.
  ///
  /// A removal, of whatever form, also counts against the bodies and drawings of its keys that were begun before: their
  /// commit throws `aborted`. Those that are begun later are not touched, nor is any by eviction or expiry.
  ///
  /// Its bytes stay in the store's files until compaction reaches them. With `erases`, they are gone when the call returns, as
  /// ``compact(progress:)`` says: every dead record and every old frame of the log goes, not only those of this key, also where
  /// there was no entry. That costs a compaction of the whole store, makes the removal durable, and throws `system` (EBUSY)
  /// while unfinished bodies or drawings keep a segment from being copied; the entry is removed then. What readers and Blobs
  /// hold, also in other processes, stays on the disk without a name until they let it go. The device itself may keep the
  /// blocks of unlinked files.
  @discardableResult
  public func remove(
    _ url: String, style: Style = .original, durability: Durability? = nil, erases: Bool = false
  ) throws(StoreError) -> Bool {
    try remove(CacheKey(url, style), durability: durability, erases: erases)
  }

  /// The same for a whole key.
  @discardableResult
  public func remove(
    _ key: CacheKey, durability: Durability? = nil, erases: Bool = false
  ) throws(StoreError) -> Bool {
    try removeMany([key], durability: durability, erases: erases) > 0
  }

  /// Removes the entries of many keys together; answers how many there were. One frame and at most one sync. `erases` means
  /// what it means for one key.
  @discardableResult
  public func removeMany(
    _ keys: [CacheKey], durability: Durability? = nil, erases: Bool = false
  ) throws(StoreError) -> Int {
    try change {
      $0.forgetter.forget(keys)
    } _: { core throws(StoreError) in
      guard erases else { return try core.remover.remove(keys, durability: durability) }
      return try core.fullCompaction.erasing { () throws(StoreError) in
        try core.remover.remove(keys, durability: .synced)
      }
    }
  }

  /// Removes all styles of a URL, which are found without a scan; answers how many there were. Up to 1,024 styles go
  /// together: one frame; where the log cannot hold it, a checkpoint, for which other writers wait. Of more styles, the
  /// others go before in frames of at most 1,024: after a crash, some of them may have gone.
  /// `erases` means what it means for ``remove(_:style:durability:erases:)``.
  @discardableResult
  public func removeAllStyles(
    _ url: String, durability: Durability? = nil, erases: Bool = false
  ) throws(StoreError) -> Int {
    try removeAllStyles(bytes: Array(url.utf8), durability: durability, erases: erases)
  }

  /// The same for a URL in bytes.
  @discardableResult
  public func removeAllStyles(
    bytes url: [UInt8], durability: Durability? = nil, erases: Bool = false
  ) throws(StoreError) -> Int {
    try change {
      $0.forgetter.forgetStyles(url)
    } _: { core throws(StoreError) in
      guard erases else { return try core.remover.removeStyles(url, durability: durability) }
      return try core.fullCompaction.erasing { () throws(StoreError) in
        try core.remover.removeStyles(url, durability: .synced)
      }
    }
  }

  /// Removes every entry of a style, also those that have expired; answers how many there were. Looks at each entry's
  /// record once: O(entries).
  @discardableResult
  public func removeAll(style: Style, durability: Durability? = nil) throws(StoreError) -> Int {
    try removeAll(durability) { _, view, _ in
      style.bytes.withUnsafeBytes { $0.elementsEqual(view.style) }
    } orBody: { body, _ in
      body.target.key.style == style
    }
  }

  /// Removes every entry whose URL begins with `prefix`; as ``removeAll(style:durability:)``.
  @discardableResult
  public func removeAll(prefix: String, durability: Durability? = nil) throws(StoreError) -> Int {
    try removeAll(prefix: Array(prefix.utf8), durability: durability)
  }

  /// The same for a prefix in bytes.
  @discardableResult
  public func removeAll(prefix: [UInt8], durability: Durability? = nil) throws(StoreError) -> Int {
    try removeAll(durability) { _, view, _ in
      view.url.starts(with: prefix)
    } orBody: { body, _ in
      body.target.key.url.starts(with: prefix)
    }
  }

  /// Removes every entry that `predicate` picks; as ``removeAll(style:durability:)``, and copies each entry's metadata.
  /// The predicate is not asked about entries that have expired.
  ///
  /// The predicate is also asked about each body and drawing that is under way, as the entry that it would become: with a
  /// digest of zero, and the declared length or the number of bytes received. A body that it picks is aborted.
  @discardableResult
  public func removeAll(
    durability: Durability? = nil, where predicate: (EntryInfo) -> Bool
  ) throws(StoreError) -> Int {
    let now = core.context.environment.clock.wallMilliseconds()
    return try removeAll(durability, includesExpired: false) {
      predicate($0.reader.info($1, $2))
    } orBody: {
      predicate(EntryInfo($0, receivedByteCount: $1, at: now))
    }
  }

  /// Removes everything: one frame. The space comes back as soon as no get has it borrowed.
  public func removeAll(durability: Durability? = nil) throws(StoreError) {
    try change {
      $0.forgetter.forgetAll()
    } _: { core throws(StoreError) in
      try core.remover.removeAll(durability: durability)
    }
  }

  /// The calls that wait for the disk, as `async` functions.
  public var asynchronous: AsyncCacheStore { AsyncCacheStore(store: self) }
}
