import Synchronization

/// The file of a segment and the memory that shows it. The catalog holds it while the segment is there, and every Blob
/// with bytes in it for as long as it likes: the last one that lets go unmaps it and settles the account, on whatever
/// thread, also after the store was closed. Borrowed reads count no references: they pin the segment's slot instead.
package final class SegmentStorage: @unchecked Sendable {
  /// Shows the file. Nil for a store that never touches mapped segments, for an empty file, and for a segment outside the
  /// window of mapped ones.
  private let shared: Guarded<Mapping?>
  /// Shown instead of it once a read-only opening has brought something to its place.
  private let own = AtomicLazyReference<Mapping>()
  /// Bytes of the file that may be read.
  package let byteCount: Int
  private let account: StorageAccount
  package let access: FileAccess
  private let file: CachedFile
  /// What its file took when it lost its name.
  private let unlinkedByteCount = Atomic<Int>(0)
  private let current = Guarded(Current())

  private struct Current { weak var hold: SegmentHold? }

  package init(file: CachedFile, access: FileAccess, mapping: Mapping?, byteCount: Int, account: StorageAccount) {
    shared = Guarded(mapping)
    self.byteCount = byteCount
    self.account = account
    self.access = access
    self.file = file
    mapping?.guardPages(isWritable: false)
  }

  // MARK: The file

  /// The caller uses the file at once and does not keep it, since a kept file costs a descriptor.
  package func openFile() throws(SystemError) -> any File { try file.open() }

  /// Whether the file stays open. It is synced before it closes when `isUnsynced` and no mapping holds the system to
  /// telling a later sync that a write has failed.
  func keepFile(_ isKept: Bool, isUnsynced: Bool) {
    file.keep(isKept)
    file.syncBeforeClosing(isUnsynced && mapping == nil)
  }

  /// What a check reads: what the mapping shows. That is the file, unless memory of this process's own is shown, or the
  /// file cannot be opened, because its name has gone or no descriptor is left: then the mapping is read as one.
  package func readable() throws(SystemError) -> any File {
    if let own = own.load() { return MappedFile(own, isPrivate: true) }
    return try sharedFile()
  }

  /// The file as the writer has it, where ``readable()`` is something else.
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

  /// Nil as long as nothing is mapped.
  package var mapping: Mapping? { own.load() ?? shared.withLock { $0 } }

  /// Shows the file again. Under the commit lock.
  func map(_ mapping: Mapping) {
    mapping.guardPages(isWritable: false)
    shared.withLock { $0 = mapping }
  }

  /// What shows the file, if that may go: no Blob holds it, and no memory of this process's own stands in its place. To be
  /// released without the commit lock. Under the commit lock; no reader has the segment pinned or can pin it for its memory.
  func unmap() -> Mapping? {
    if isPrivate || current.withLock({ $0.hold != nil }) { return nil }
    return shared.withLock { shared in
      defer { shared = nil }
      return shared
    }
  }

  /// What is shown is this process's own: what is written there is in memory only.
  package var isPrivate: Bool { own.load() != nil }

  /// Makes what is shown this process's own, unless it is. What was shown before stays as long as this does, since
  /// somebody may be reading there. Where no segment is mapped, the memory is a copy of the whole file.
  package func mapPrivately() throws(SystemError) {
    if isPrivate { return }
    let file = try sharedFile()
    let isMapped = shared.withLock { $0 != nil }
    let mapping =
      !isMapped ? try file.copied(byteCount: byteCount) : try file.mapPrivately(byteCount: byteCount)
    mapping.guardPages(isWritable: false)
    _ = own.storeIfNil(mapping)
  }

  /// The mapping that some bytes lie in.
  fileprivate func mapping(of bytes: UnsafeRawBufferPointer) -> Mapping? {
    guard let start = bytes.baseAddress else { return nil }
    if let own = own.load(), own.offset(of: start) != nil { return own }
    return shared.withLock { $0?.offset(of: start) == nil ? nil : $0 }
  }

  fileprivate func isOwn(_ mapping: Mapping) -> Bool { own.load() === mapping }

  /// Whether zeros stand in place of some page under bytes of the mapping (``BusErrors``).
  package func isDamaged(_ bytes: UnsafeRawBufferPointer) -> Bool {
    BusErrors.haveHappened && mapping(of: bytes)?.isDamaged(bytes) ?? false
  }

  /// Whether they do in place of any page.
  var hasDamagedPages: Bool {
    mapping.map { $0.isDamaged(UnsafeRawBufferPointer(start: $0.start, count: $0.byteCount)) } ?? false
  }

  // MARK: Those who hold it

  /// Bytes of the disk that come back soon: its name has gone, and only somebody at work holds it, no Blob.
  package var leavingByteCount: Int {
    current.withLock { $0.hold == nil ? unlinkedByteCount.load(ordering: .relaxed) : 0 }
  }

  /// Its name has gone; its `byteCount` bytes of the disk go with it.
  package func noteUnlinked(_ byteCount: Int) {
    unlinkedByteCount.store(byteCount, ordering: .relaxed)
    account.enterUnlinked(byteCount)
  }

  /// What Blobs with bytes in this segment share. Nil when holding it would take the sum of all that Blobs hold past
  /// `limit`, or when the file is not mapped. The caller has it pinned.
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
    // The disk has the room back only after these.
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

  /// Where some bytes of the segment's mapping are to be read again, through calls that raise no signal: the file, or
  /// the mapping when the file is closed and has lost its name.
  package func source(of bytes: UnsafeRawBufferPointer) -> (file: any File, range: Range<Int>)? {
    guard let start = bytes.baseAddress, let mapping = storage.mapping(of: bytes),
      let offset = mapping.offset(of: start),
      let file = storage.isOwn(mapping) ? MappedFile(mapping, isPrivate: true) : try? storage.sharedFile()
    else { return nil }
    return (file, offset..<offset + bytes.count)
  }

  deinit { account.leavePinned(storage.byteCount) }
}
