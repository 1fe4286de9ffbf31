import Synchronization

/// The file of a segment and the memory that shows it. The catalog holds it while the segment is there, and every Blob
/// with bytes in it for as long as it likes: the last one that lets go unmaps it and settles the account, on whatever
/// thread, also after the store was closed. Borrowed reads count no references: they pin the segment's slot instead.
package final class SegmentStorage: @unchecked Sendable {
  /// Shows the file. Nil for a store that never touches mapped segments, and for an empty file.
  private var shared: Mapping?
  /// Shown instead of it once a read-only opening has brought something to its place.
  private let own = AtomicLazyReference<Mapping>()
  /// Bytes of the file that may be read.
  package let byteCount: Int
  private let account: StorageAccount
  private let directory: any Directory
  private let name: String
  package let access: FileAccess
  private var kept: (any File)?
  /// What its file took when it lost its name.
  private let unlinkedByteCount = Atomic<Int>(0)
  private let current = Guarded(Current())

  private struct Current { weak var hold: SegmentHold? }

  /// `keepsFile`: else it is opened by its name whenever it is needed.
  package init(
    file: any File, name: String, in directory: any Directory, access: FileAccess, keepsFile: Bool, mapping: Mapping?,
    byteCount: Int, account: StorageAccount
  ) {
    shared = mapping
    self.byteCount = byteCount
    self.account = account
    self.directory = directory
    self.name = name
    self.access = access
    kept = keepsFile ? file : nil
    mapping?.guardPages(isWritable: false)
  }

  // MARK: The file

  package func openFile() throws(SystemError) -> any File {
    if let kept { return kept }
    return try directory.openFile(name, access)
  }

  /// What a check reads: what the mapping shows. That is the file, unless memory of this process's own is shown, or the
  /// file cannot be opened, because its name has gone or no descriptor is left: then the mapping is read as one.
  package func readable() throws(SystemError) -> any File {
    if let own = own.load() { return MappedFile(own, isPrivate: true) }
    return try sharedFile()
  }

  /// The file as the writer has it, where ``readable()`` is something else.
  package var original: (any File)? { isPrivate ? try? sharedFile() : nil }

  private func sharedFile() throws(SystemError) -> any File {
    do throws(SystemError) {
      return try openFile()
    } catch {
      guard let shared else { throw error }
      return MappedFile(shared, isPrivate: false)
    }
  }

  // MARK: The memory

  /// Nil as long as nothing is mapped.
  package var mapping: Mapping? { own.load() ?? shared }

  /// What is shown is this process's own: what is written there is in memory only.
  package var isPrivate: Bool { own.load() != nil }

  /// Makes what is shown this process's own, unless it is. What was shown before stays as long as this does, since
  /// somebody may be reading there. Where no segment is mapped, the memory is a copy of the whole file.
  package func mapPrivately() throws(SystemError) {
    if isPrivate { return }
    let file = try sharedFile()
    let mapping =
      shared == nil ? try file.copied(byteCount: byteCount) : try file.mapPrivately(byteCount: byteCount)
    mapping.guardPages(isWritable: false)
    _ = own.storeIfNil(mapping)
  }

  /// The mapping that some bytes lie in.
  fileprivate func mapping(of bytes: UnsafeRawBufferPointer) -> Mapping? {
    guard let start = bytes.baseAddress else { return nil }
    if let own = own.load(), own.offset(of: start) != nil { return own }
    return shared?.offset(of: start) == nil ? nil : shared
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
    guard shared != nil else { return nil }
    return current.withLock { current in
      if let hold = current.hold { return hold }
      guard let file = try? sharedFile(), account.enterPinned(byteCount, limit: limit) else { return nil }
      let hold = SegmentHold(storage: self, file: file, account: account)
      current.hold = hold
      return hold
    }
  }

  deinit {
    // The disk has the room back only after these.
    shared = nil
    kept = nil
    account.enterUnlinked(-unlinkedByteCount.load(ordering: .relaxed))
  }
}

/// One segment, held by all Blobs with bytes in it and counted once.
package final class SegmentHold: Sendable {
  package let storage: SegmentStorage
  /// Open, since its name may go.
  private let file: any File
  private let account: StorageAccount

  fileprivate init(storage: SegmentStorage, file: any File, account: StorageAccount) {
    self.storage = storage
    self.file = file
    self.account = account
  }

  /// Where some bytes of the segment's mapping are to be read again, through calls that raise no signal.
  package func source(of bytes: UnsafeRawBufferPointer) -> (file: any File, range: Range<Int>)? {
    guard let start = bytes.baseAddress, let mapping = storage.mapping(of: bytes),
      let offset = mapping.offset(of: start)
    else { return nil }
    let range = offset..<offset + bytes.count
    return (storage.isOwn(mapping) ? MappedFile(mapping, isPrivate: true) : file, range)
  }

  deinit { account.leavePinned(storage.byteCount) }
}
