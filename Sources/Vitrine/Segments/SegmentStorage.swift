import Synchronization

/// The file of a segment and its mapping. The catalog holds it as long as the segment exists, and every Blob with
/// bytes in it as long as the Blob lives. The release of the last reference unmaps the file and settles the account, on
/// any thread, also after the store was closed. Borrowed reads count no references: they pin the segment's slot
/// instead.
package final class SegmentStorage: Sendable {
  /// The mapping of the file. Nil for a store that never maps segments, for an empty file, and for a segment
  /// outside the window of mapped ones.
  private let shared: Guarded<Mapping?>
  /// Replaces the shared mapping once a read-only opening has restored a record in memory.
  private let own = AtomicLazyReference<Mapping>()
  /// The readable bytes of the file.
  package let byteCount: Int
  private let account: StorageAccount
  package let access: FileAccess
  private let file: CachedFile
  /// The window through which records are written; nil where the file system or the options do not allow it.
  package let window: FillWindow?
  /// The size of its file when it was unlinked.
  private let unlinkedByteCount = Atomic<Int>(0)
  private let current = Guarded(Current())

  private struct Current { weak var hold: SegmentHold? }

  package init(
    file: CachedFile, access: FileAccess, mapping: Mapping?, window: FillWindow? = nil, byteCount: Int,
    account: StorageAccount
  ) {
    shared = Guarded(mapping)
    self.byteCount = byteCount
    self.account = account
    self.access = access
    self.file = file
    self.window = window
    mapping?.guardPages(isWritable: false)
  }

  // MARK: The file

  /// Opens the file for use at once. The caller does not keep it, since an open file costs a descriptor.
  package func openFile() throws(SystemError) -> any File { try file.open() }

  /// Sets whether the file stays open. If the file `isUnsynced` and not mapped, it is synced before it closes. Without
  /// an open file or a mapping, the system may forget a failed write before a later sync.
  func keepFile(_ isKept: Bool, isUnsynced: Bool) {
    file.setKept(isKept)
    file.syncBeforeClosing(isUnsynced && mapping == nil)
  }

  /// Returns a file for checks, with the bytes that the mapping shows: private memory if that replaces the file, else
  /// the file itself. If the file cannot be opened, because it was unlinked or no descriptor is left, the mapping is
  /// read as a file. Throws if there is no mapping either.
  package func readable() throws(SystemError) -> any File {
    if let own = own.load() { return MappedFile(own, isPrivate: true) }
    return try sharedFile()
  }

  /// The writer's file, if ``readable()`` is something else.
  package var original: (any File)? { isPrivate ? try? sharedFile() : nil }

  fileprivate func sharedFile() throws(SystemError) -> any File {
    do throws(SystemError) {
      return try openFile()
    } catch {
      guard let shared = shared.withLock({ $0 }) else { throw error }
      return MappedFile(shared, isPrivate: false)
    }
  }

  // MARK: The memory

  /// The current mapping; nil if the file is not mapped.
  package var mapping: Mapping? { own.load() ?? shared.withLock { $0 } }

  /// Maps the file again.
  func map(_ mapping: Mapping, _ accounts: borrowing SegmentAccounts) {
    mapping.guardPages(isWritable: false)
    shared.withLock { $0 = mapping }
  }

  /// Removes the mapping of the file and returns it. The caller releases the mapping after the commit lock. Returns nil
  /// if a Blob holds the mapping, if private memory replaces it, or if there is none. Requires that no reader has the
  /// memory pinned or can pin it.
  func unmap(_ accounts: borrowing SegmentAccounts) -> Mapping? {
    if isPrivate || current.withLock({ $0.hold != nil }) { return nil }
    return shared.withLock { shared in
      defer { shared = nil }
      return shared
    }
  }

  /// Whether private memory replaces the file. Writes then change this memory and not the file.
  package var isPrivate: Bool { own.load() != nil }

  /// Replaces the mapping by a private one, unless it is private already. The old mapping stays as long as this
  /// object, since a reader may use it. If this segment is not mapped, the private memory is a copy of the whole file.
  package func mapPrivately() throws(SystemError) {
    if isPrivate { return }
    let file = try sharedFile()
    let isMapped = shared.withLock { $0 != nil }
    let mapping =
      !isMapped ? try file.copied(byteCount: byteCount) : try file.mapPrivately(byteCount: byteCount)
    mapping.guardPages(isWritable: false)
    _ = own.storeIfNil(mapping)
  }

  /// Returns the mapping that contains the bytes.
  fileprivate func mapping(of bytes: UnsafeRawBufferPointer) -> Mapping? {
    guard let start = bytes.baseAddress else { return nil }
    if let own = own.load(), own.offset(of: start) != nil { return own }
    return shared.withLock { $0?.offset(of: start) == nil ? nil : $0 }
  }

  /// Returns the offset in the file at which mapped bytes begin; nil if private memory has replaced them.
  package func fileOffset(of bytes: UnsafeRawBufferPointer) -> Int? {
    guard !isPrivate, let start = bytes.baseAddress else { return nil }
    return shared.withLock { $0?.offset(of: start) }
  }

  fileprivate func isOwn(_ mapping: Mapping) -> Bool { own.load() === mapping }

  /// Returns whether zeros replace a page under bytes of the mapping (``BusErrors``).
  package func isDamaged(_ bytes: UnsafeRawBufferPointer) -> Bool {
    BusErrors.haveHappened && mapping(of: bytes)?.isDamaged(bytes) ?? false
  }

  /// Whether zeros replace any page of the mapping.
  var hasDamagedPages: Bool {
    mapping.map { $0.isDamaged(UnsafeRawBufferPointer(start: $0.start, count: $0.byteCount)) } ?? false
  }

  // MARK: Holders

  /// Bytes of disk space that are freed soon: the file is unlinked, and no Blob holds it, only a call in progress.
  package var leavingByteCount: Int {
    current.withLock { $0.hold == nil ? unlinkedByteCount.load(ordering: .relaxed) : 0 }
  }

  /// Notes that the file is unlinked; its `byteCount` bytes of disk space are freed with it.
  package func noteUnlinked(_ byteCount: Int) {
    unlinkedByteCount.store(byteCount, ordering: .relaxed)
    account.enterUnlinked(byteCount)
  }

  /// Returns the hold that Blobs in this segment share. Nil if it would raise the bytes held by all Blobs above
  /// `limit`, or if the file is not mapped. The caller has the segment pinned.
  package func hold(limit: Int) -> SegmentHold? {
    guard shared.withLock({ $0 != nil }) else { return nil }
    return current.withLock { current in
      if let hold = current.hold { return hold }
      guard account.enterPinned(byteCount, limit: limit) else { return nil }
      let hold = SegmentHold(storage: self, account: account)
      current.hold = hold
      return hold
    }
  }

  deinit {
    // The disk space is free only after the mapping and the file are closed.
    shared.withLock { $0 = nil }
    file.close()
    account.enterUnlinked(-unlinkedByteCount.load(ordering: .relaxed))
  }
}

/// One segment, held by all Blobs with bytes in it and counted once.
package final class SegmentHold: Sendable {
  package let storage: SegmentStorage
  private let account: StorageAccount

  fileprivate init(storage: SegmentStorage, account: StorageAccount) {
    self.storage = storage
    self.account = account
  }

  /// Returns the file and range that read the same bytes again, through calls that raise no signal: the file
  /// itself, or the mapping if the file is closed and unlinked.
  package func source(of bytes: UnsafeRawBufferPointer) -> (file: any File, range: Range<Int>)? {
    guard let start = bytes.baseAddress, let mapping = storage.mapping(of: bytes),
      let offset = mapping.offset(of: start),
      let file = storage.isOwn(mapping) ? MappedFile(mapping, isPrivate: true) : try? storage.sharedFile()
    else { return nil }
    return (file, offset..<offset + bytes.count)
  }

  deinit { account.leavePinned(storage.byteCount) }
}
